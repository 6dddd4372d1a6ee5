// SPDX-License-Identifier: Apache-2.0

//go:build msan && linux && (amd64 || arm64)

package sanitize

/*
#cgo LDFLAGS: -Wl,--wrap=__msan_read_go
#include "blocks.h"

// The interface of the sanitizer's runtime library, which -msan links.
void __msan_allocated_memory(const volatile void *addr, size_t size);
void __msan_poison(const volatile void *addr, size_t size);
void __msan_unpoison(const volatile void *addr, size_t size);
intptr_t __msan_test_shadow(const volatile void *addr, size_t size);
void __msan_check_mem_is_initialized(const volatile void *addr, size_t size);

static void msan_fresh(uintptr_t addr, uintptr_t n) { __msan_allocated_memory((void *)addr, n); }
static void msan_freed(uintptr_t addr, uintptr_t n) { __msan_poison((void *)addr, n); }
static void msan_unpoison(uintptr_t addr, uintptr_t n) { __msan_unpoison((void *)addr, n); }

// The linker puts this function in the place of the one with which Go code asks the sanitizer about
// each read: the sanitizer knows no frame of Go, and has no call for the address that it reports.
void __wrap___msan_read_go(void *addr, uintptr_t n) {
	intptr_t bad = __msan_test_shadow(addr, n);
	if (bad >= 0) {
		freehold_explain((uintptr_t)addr + (uintptr_t)bad, caller_frame(), 1);
		__msan_check_mem_is_initialized(addr, n);
	}
}
*/
import "C"

const (
	// Enabled reports whether a sanitizer is compiled in that wants to hear of every block.
	Enabled = true
	// Kind names it: "asan", "msan", "valgrind", or "" for none.
	Kind = "msan"
)

// Fresh says that the n bytes at addr were allocated. zeroed says that they are zero, so the caller
// may read them first.
func Fresh(addr, n uintptr, zeroed bool) {
	if zeroed {
		C.msan_unpoison(C.uintptr_t(addr), C.uintptr_t(n))
	} else {
		C.msan_fresh(C.uintptr_t(addr), C.uintptr_t(n))
	}
}

// Freed says that the n bytes at addr were freed: no code may touch them until they are allocated
// again.
func Freed(addr, n uintptr) { C.msan_freed(C.uintptr_t(addr), C.uintptr_t(n)) }

// Poison forbids the n bytes at addr, such as a red zone, and Unpoison allows them again, for the
// allocator's own use.
func Poison(addr, n uintptr) { C.msan_freed(C.uintptr_t(addr), C.uintptr_t(n)) }

// Unpoison allows the n bytes at addr. Their contents count as written.
func Unpoison(addr, n uintptr) { C.msan_unpoison(C.uintptr_t(addr), C.uintptr_t(n)) }

// Reserve says that blocks will be cut from the n bytes at addr, which no code may touch before.
// What the leak checker of C sees there, it takes for pointers in use.
func Reserve(addr, n uintptr) { C.msan_freed(C.uintptr_t(addr), C.uintptr_t(n)) }

// Unreserve takes Reserve back for exactly its range, so that the memory can serve something else.
func Unreserve(addr, n uintptr) { C.msan_unpoison(C.uintptr_t(addr), C.uintptr_t(n)) }
