// Package cmalloc calls C allocators: jemalloc, mimalloc and glibc's, in one process.
//
// Each is called by a name that only it has, because both libraries also define malloc and
// whichever the linker finds first wins that name. Blocks are freed by the allocator that made
// them, from any goroutine.
package cmalloc

/*
#cgo LDFLAGS: -ljemalloc -lmimalloc
#cgo nocallback mallocx
#cgo noescape mallocx
#cgo nocallback dallocx
#cgo noescape dallocx
#cgo nocallback mi_malloc
#cgo noescape mi_malloc
#cgo nocallback mi_calloc
#cgo noescape mi_calloc
#cgo nocallback mi_free
#cgo noescape mi_free
#cgo nocallback __libc_malloc
#cgo noescape __libc_malloc
#cgo nocallback __libc_calloc
#cgo noescape __libc_calloc
#cgo nocallback __libc_free
#cgo noescape __libc_free
#include <stddef.h>

void *mallocx(size_t size, int flags);
void dallocx(void *ptr, int flags);
void *mi_malloc(size_t size);
void *mi_calloc(size_t count, size_t size);
void mi_free(void *ptr);
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void __libc_free(void *ptr);
*/
import "C"

import "unsafe"

// jeZero is MALLOCX_ZERO of jemalloc.h.
const jeZero = 0x40

// JeMalloc is mallocx without flags: jemalloc, not zeroed.
func JeMalloc(n int) unsafe.Pointer { return C.mallocx(C.size_t(n), 0) }

// JeCalloc is mallocx with MALLOCX_ZERO: jemalloc, zeroed.
func JeCalloc(n int) unsafe.Pointer { return C.mallocx(C.size_t(n), jeZero) }

// JeFree frees what JeMalloc or JeCalloc returned.
func JeFree(p unsafe.Pointer) { C.dallocx(p, 0) }

// MiMalloc is mi_malloc: mimalloc, not zeroed.
func MiMalloc(n int) unsafe.Pointer { return C.mi_malloc(C.size_t(n)) }

// MiCalloc is mi_calloc: mimalloc, zeroed.
func MiCalloc(n int) unsafe.Pointer { return C.mi_calloc(1, C.size_t(n)) }

// MiFree frees what MiMalloc or MiCalloc returned.
func MiFree(p unsafe.Pointer) { C.mi_free(p) }

// Malloc is glibc's malloc, not zeroed.
func Malloc(n int) unsafe.Pointer { return C.__libc_malloc(C.size_t(n)) }

// Calloc is glibc's calloc, zeroed.
func Calloc(n int) unsafe.Pointer { return C.__libc_calloc(1, C.size_t(n)) }

// Free frees what Malloc or Calloc returned.
func Free(p unsafe.Pointer) { C.__libc_free(p) }
