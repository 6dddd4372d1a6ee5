// SPDX-License-Identifier: Apache-2.0

//go:build asan && linux && (amd64 || arm64)

package sanitize

/*
#cgo LDFLAGS: -Wl,--wrap=__asan_read_go -Wl,--wrap=__asan_write_go
#include "blocks.h"

// The interface of the sanitizer's runtime library, which -asan links. It is declared here because
// gcc and clang keep its headers apart.
void __asan_poison_memory_region(void const volatile *addr, size_t size);
void __asan_unpoison_memory_region(void const volatile *addr, size_t size);
void *__asan_region_is_poisoned(void *addr, size_t size);
void *__asan_get_report_address(void);
size_t __asan_get_report_access_size(void);
void __asan_report_error(void *pc, void *bp, void *sp, void *addr, int is_write, size_t access_size);
void __asan_set_error_report_callback(void (*callback)(const char *));
void __lsan_register_root_region(const void *addr, size_t size);

static void asan_fresh(uintptr_t addr, uintptr_t n) { __asan_unpoison_memory_region((void *)addr, n); }
static void asan_freed(uintptr_t addr, uintptr_t n) { __asan_poison_memory_region((void *)addr, n); }

static void asan_reserve(uintptr_t addr, uintptr_t n) {
	__asan_poison_memory_region((void *)addr, n);
	__lsan_register_root_region((void *)addr, n);
}

// explained says that what follows is known already.
static int explained;

// The linker puts these functions in the place of those with which Go code asks the sanitizer about
// each read and write: so our report comes first, and has the stack of the access, of which the
// sanitizer knows one frame.
void __wrap___asan_read_go(void *addr, uintptr_t n, void *sp, void *pc) {
	void *bad = __asan_region_is_poisoned(addr, n);
	if (bad != NULL) {
		freehold_explain((uintptr_t)bad, caller_frame(), 0);
		explained = 1;
		__asan_report_error(pc, NULL, sp, addr, 0, n);
	}
}

void __wrap___asan_write_go(void *addr, uintptr_t n, void *sp, void *pc) {
	void *bad = __asan_region_is_poisoned(addr, n);
	if (bad != NULL) {
		freehold_explain((uintptr_t)bad, caller_frame(), 0);
		explained = 1;
		__asan_report_error(pc, NULL, sp, addr, 1, n);
	}
}

// What C code did wrong is known when the sanitizer has reported it. The address is that of the
// first byte accessed; the first bad one may be a later one.
static void asan_reported(const char *text) {
	void *addr = __asan_get_report_address();
	void *bad = __asan_region_is_poisoned(addr, __asan_get_report_access_size());
	if (!explained) {
		freehold_explain((uintptr_t)(bad != NULL ? bad : addr), NULL, 0);
	}
}

static void asan_start(void) { __asan_set_error_report_callback(asan_reported); }
*/
import "C"

const kind = "asan"

func init() { C.asan_start() }

func fresh(addr, n uintptr, zeroed bool) { C.asan_fresh(C.uintptr_t(addr), C.uintptr_t(n)) }

func freed(addr, n uintptr) { C.asan_freed(C.uintptr_t(addr), C.uintptr_t(n)) }

func poison(addr, n uintptr) { C.asan_freed(C.uintptr_t(addr), C.uintptr_t(n)) }

func unpoison(addr, n uintptr) { C.asan_fresh(C.uintptr_t(addr), C.uintptr_t(n)) }

func reserve(addr, n uintptr) { C.asan_reserve(C.uintptr_t(addr), C.uintptr_t(n)) }
