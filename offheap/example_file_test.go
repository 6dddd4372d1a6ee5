//go:build !js && !wasip1 && !plan9

package offheap_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/freehold-go/freehold/offheap"
)

// Refs into a file stay valid when it is opened again, by this process or another.
func ExampleFile() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	type entry struct {
		next offheap.Ref[entry]
		n    int64
	}
	path := filepath.Join(dir, "entries")
	f, err := offheap.CreateFile(path, 1<<20)
	if err != nil {
		fmt.Println(err)
		return
	}
	for n := range int64(3) {
		r, err := offheap.NewInFile[entry](f)
		if err != nil {
			fmt.Println(err)
			return
		}
		*r.In(f) = entry{next: offheap.Root[entry](f), n: n}
		offheap.SetRoot(f, r)
	}
	if err := f.Close(); err != nil {
		fmt.Println(err)
		return
	}

	if f, err = offheap.OpenFile(path); err != nil {
		fmt.Println(err)
		return
	}
	for r := offheap.Root[entry](f); !r.IsNil(); r = r.In(f).next {
		fmt.Println(r.In(f).n)
	}
	if err := f.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 2
	// 1
	// 0
}
