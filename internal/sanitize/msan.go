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

const kind = "msan"

func fresh(addr, n uintptr, zeroed bool) {
	if zeroed {
		C.msan_unpoison(C.uintptr_t(addr), C.uintptr_t(n))
	} else {
		C.msan_fresh(C.uintptr_t(addr), C.uintptr_t(n))
	}
}

func freed(addr, n uintptr) { C.msan_freed(C.uintptr_t(addr), C.uintptr_t(n)) }

func poison(addr, n uintptr) { C.msan_freed(C.uintptr_t(addr), C.uintptr_t(n)) }

func unpoison(addr, n uintptr) { C.msan_unpoison(C.uintptr_t(addr), C.uintptr_t(n)) }

func reserve(addr, n uintptr) { C.msan_freed(C.uintptr_t(addr), C.uintptr_t(n)) }
