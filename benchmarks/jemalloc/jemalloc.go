//go:build jemalloc && cgo

package jemalloc

/*
#cgo LDFLAGS: -ljemalloc
#cgo noescape fh_alloc
#cgo nocallback fh_alloc
#cgo noescape fh_free
#cgo nocallback fh_free

// The je_ names stand for the real ones, whatever the prefix of the build.
#define JEMALLOC_NO_DEMANGLE
#include <jemalloc/jemalloc.h>

// A block and its usable size. One call from Go does all that has to be done for it: the crossing
// costs more than the work.
typedef struct { void *p; size_t size; } fh_block;

static fh_block fh_alloc(size_t n, int zero) {
	fh_block b = { NULL, 0 };
	int flags = zero ? MALLOCX_ZERO : 0;
	b.size = je_nallocx(n, flags); // 0 if it is too much for any machine; mallocx does not like that.
	if (b.size != 0) b.p = je_mallocx(n, flags);
	return b;
}

static size_t fh_free(void *p) {
	size_t size = je_sallocx(p, 0);
	je_dallocx(p, 0);
	return size;
}
*/
import "C"

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

var inUse atomic.Int64

// InUse is the bytes of blocks that are not freed yet, at the sizes that jemalloc rounds to.
func InUse() int64 { return inUse.Load() }

// Alloc returns n zero bytes. It panics if there is no memory.
func Alloc(n int) []byte { return alloc(n, 1) }

// AllocUninit is Alloc without the zeroing.
func AllocUninit(n int) []byte { return alloc(n, 0) }

func alloc(n int, zero C.int) []byte {
	if n <= 0 {
		return make([]byte, n)
	}
	b := C.fh_alloc(C.size_t(n), zero)
	if b.p == nil {
		panic(fmt.Errorf("jemalloc: no memory for %d bytes", n))
	}
	inUse.Add(int64(b.size))
	return unsafe.Slice((*byte)(b.p), n)
}

// Free frees the block of b, a slice that Alloc or AllocUninit returned, or a prefix of it. It ignores
// a slice of capacity 0.
func Free(b []byte) {
	if cap(b) != 0 {
		inUse.Add(-int64(C.fh_free(unsafe.Pointer(unsafe.SliceData(b)))))
	}
}
