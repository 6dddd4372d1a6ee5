package arena

import (
	"syscall"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// TestDeepCloneOutside has pointers to memory that is neither Go's nor freehold's, as C code
// allocates it. What lies there may be larger than its Go type, and C knows it by its address.
func TestDeepCloneOutside(t *testing.T) {
	memory, err := syscall.Mmap(-1, 0, 1<<16, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(memory)
	type header struct {
		length int64
		rest   [0]byte
	}
	type owner struct {
		first, second *header
		text          string
		bytes         []byte
		any           any
		ours          *int64
	}
	at := unsafex.DataOf(memory)
	memory[64] = 'x'
	v := &owner{first: unsafex.As[header](at), second: unsafex.As[header](unsafex.Add(at, 8)), bytes: memory[64:66],
		text: unsafex.StringOf(unsafex.Add(at, 64), 1), ours: offheap.New[int64]()}
	defer offheap.Delete(v.ours)
	v.any = v.first
	cloners(t, func(t *testing.T, clone func(*owner, ...CloneOptions) *owner) {
		c := clone(v)
		if c.first != v.first || c.second != v.second || c.any != v.any {
			t.Error("a pointer to memory of others leads elsewhere")
		}
		if &c.bytes[0] == &v.bytes[0] || c.bytes[0] != 'x' || unsafex.StringData(c.text) != unsafex.PtrOf(&c.bytes[0]) {
			t.Error("bytes were shared")
		}
		if c.ours == v.ours {
			t.Error("a block of package offheap was shared")
		}
	})
	if c := Heap(v.first); c == v.first {
		t.Error("what the root points to was shared")
	}
}
