// SPDX-License-Identifier: Apache-2.0

//go:build !js && !wasip1 && !plan9

package offheap_test

import (
	"errors"
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

// A file grows while pointers into it are in use. At the end it gives back the disk space that it did
// not need.
func ExampleFile_Resize() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	f, err := offheap.CreateFile(filepath.Join(dir, "words"), 8<<10)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	add := func(s string) (offheap.StringRef, error) {
		r, err := offheap.NewStringInFile(f, s)
		if errors.Is(err, offheap.ErrLimit) {
			if err := f.Resize(f.Size()*2 + int64(len(s))); err != nil {
				return r, err // A full disk, for example.
			}
			r, err = offheap.NewStringInFile(f, s)
		}
		return r, err
	}
	first, err := add("first")
	if err != nil {
		fmt.Println(err)
		return
	}
	s := first.In(f)
	for range 1000 {
		if _, err := add("one of many words"); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(s, first.In(f), f.Size() > 8<<10)
	// Output: first first true
}
