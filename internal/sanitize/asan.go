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
void __lsan_unregister_root_region(const void *addr, size_t size);

static void asan_fresh(uintptr_t addr, uintptr_t n) { __asan_unpoison_memory_region((void *)addr, n); }
static void asan_freed(uintptr_t addr, uintptr_t n) { __asan_poison_memory_region((void *)addr, n); }

static void asan_reserve(uintptr_t addr, uintptr_t n) {
	__asan_poison_memory_region((void *)addr, n);
	__lsan_register_root_region((void *)addr, n);
}

// A range that is unmapped while poisoned stays poisoned: the next mapping there would inherit it.
static void asan_unreserve(uintptr_t addr, uintptr_t n) {
	__lsan_unregister_root_region((void *)addr, n);
	__asan_unpoison_memory_region((void *)addr, n);
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

const (
	// Enabled reports whether a sanitizer is compiled in that wants to hear of every block.
	Enabled = true
	// Kind names it: "asan", "msan", "valgrind", or "" for none.
	Kind = "asan"
)

func init() { C.asan_start() }

// Fresh says that the n bytes at addr were allocated. zeroed says that they are zero, so the caller
// may read them first.
func Fresh(addr, n uintptr, zeroed bool) { C.asan_fresh(C.uintptr_t(addr), C.uintptr_t(n)) }

// Freed says that the n bytes at addr were freed: no code may touch them until they are allocated
// again.
func Freed(addr, n uintptr) { C.asan_freed(C.uintptr_t(addr), C.uintptr_t(n)) }

// Poison forbids the n bytes at addr, such as a red zone, and Unpoison allows them again, for the
// allocator's own use.
func Poison(addr, n uintptr) { C.asan_freed(C.uintptr_t(addr), C.uintptr_t(n)) }

// Unpoison allows the n bytes at addr. Their contents count as written.
func Unpoison(addr, n uintptr) { C.asan_fresh(C.uintptr_t(addr), C.uintptr_t(n)) }

// Reserve says that blocks will be cut from the n bytes at addr, which no code may touch before.
// What the leak checker of C sees there, it takes for pointers in use.
func Reserve(addr, n uintptr) { C.asan_reserve(C.uintptr_t(addr), C.uintptr_t(n)) }

// Unreserve takes Reserve back for exactly its range, so that the memory can serve something else.
func Unreserve(addr, n uintptr) { C.asan_unreserve(C.uintptr_t(addr), C.uintptr_t(n)) }
