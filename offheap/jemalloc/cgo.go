// SPDX-License-Identifier: Apache-2.0

//go:build jemalloc && cgo

package jemalloc

/*
#cgo !jemalloc_static LDFLAGS: -ljemalloc
#cgo jemalloc_static LDFLAGS: -l:libjemalloc_pic.a -lm -lpthread -ldl
#cgo noescape fh_alloc
#cgo nocallback fh_alloc
#cgo noescape fh_free
#cgo nocallback fh_free
#cgo noescape fh_realloc
#cgo nocallback fh_realloc
#cgo noescape fh_stats
#cgo nocallback fh_stats
#cgo noescape fh_bool
#cgo nocallback fh_bool
#cgo noescape fh_string
#cgo nocallback fh_string

// The je_ names stand for the real ones, whatever the prefix of the build.
#define JEMALLOC_NO_DEMANGLE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <jemalloc/jemalloc.h>

// A block and its usable size. One call from Go does all that has to be done for it: the crossing
// costs more than the work.
typedef struct { void *p; size_t size, old; } fh_block;

static int fh_flags(int lg_align, int zero) {
	return MALLOCX_LG_ALIGN(lg_align) | (zero ? MALLOCX_ZERO : 0);
}

static fh_block fh_alloc(size_t n, int lg_align, int zero) {
	fh_block b = { NULL, 0, 0 };
	int flags = fh_flags(lg_align, zero);
	b.size = je_nallocx(n, flags); // 0 if it is too much for any machine; mallocx does not like that.
	if (b.size != 0) b.p = je_mallocx(n, flags);
	return b;
}

static size_t fh_free(void *p) {
	size_t size = je_sallocx(p, 0);
	je_dallocx(p, 0);
	return size;
}

// MALLOCX_ZERO zeroes from the old usable size on; the caller sees to what lies below.
static fh_block fh_realloc(void *p, size_t n, int zero) {
	fh_block b = { NULL, 0, 0 };
	int flags = fh_flags(0, zero);
	b.size = je_nallocx(n, flags);
	if (b.size == 0) return b;
	b.old = je_sallocx(p, 0);
	b.p = je_rallocx(p, n, flags);
	return b;
}

typedef struct { size_t allocated, active, metadata, resident, mapped, retained; } fh_stat;

static int fh_size(const char *name, size_t *v) {
	size_t len = sizeof *v;
	return je_mallctl(name, v, &len, NULL, 0);
}

static int fh_stats(fh_stat *s) {
	uint64_t epoch = 1;
	size_t len = sizeof epoch;
	int err = je_mallctl("epoch", &epoch, &len, &epoch, len);
	if (!err) err = fh_size("stats.allocated", &s->allocated);
	if (!err) err = fh_size("stats.active", &s->active);
	if (!err) err = fh_size("stats.metadata", &s->metadata);
	if (!err) err = fh_size("stats.resident", &s->resident);
	if (!err) err = fh_size("stats.mapped", &s->mapped);
	if (!err) err = fh_size("stats.retained", &s->retained);
	return err;
}

static int fh_bool(const char *name, bool *v) {
	size_t len = sizeof *v;
	return je_mallctl(name, v, &len, NULL, 0);
}

static const char *fh_string(const char *name) {
	const char *v = NULL;
	size_t len = sizeof v;
	return je_mallctl(name, &v, &len, NULL, 0) ? NULL : v;
}

static int fh_purge(void) {
	char name[64];
	je_mallctl("thread.tcache.flush", NULL, NULL, NULL, 0); // Fails without a cache, which is fine.
	snprintf(name, sizeof name, "arena.%u.purge", (unsigned)MALLCTL_ARENAS_ALL);
	return je_mallctl(name, NULL, NULL, NULL, 0);
}

// Sets the decay of dirty and muzzy pages, in milliseconds, of new arenas and of those that exist.
// Those that do not exist yet answer with an error, which is fine.
static int fh_decay(ssize_t ms, ssize_t *old) {
	size_t len = sizeof *old;
	unsigned n = 0;
	int err = je_mallctl("arenas.dirty_decay_ms", old, &len, &ms, sizeof ms);
	if (!err) err = je_mallctl("arenas.muzzy_decay_ms", NULL, NULL, &ms, sizeof ms);
	len = sizeof n;
	if (!err) err = je_mallctl("arenas.narenas", &n, &len, NULL, 0);
	for (unsigned i = 0; !err && i < n; i++) {
		char name[64];
		snprintf(name, sizeof name, "arena.%u.dirty_decay_ms", i);
		je_mallctl(name, NULL, NULL, &ms, sizeof ms);
		snprintf(name, sizeof name, "arena.%u.muzzy_decay_ms", i);
		je_mallctl(name, NULL, NULL, &ms, sizeof ms);
	}
	return err;
}
*/
import "C"

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

// cAlloc returns n bytes, n > 0, at a multiple of 1<<lgAlign, and the bytes that they take. The
// pointer is nil if there is no memory.
func cAlloc(n uintptr, lgAlign int, zero bool) (unsafe.Pointer, int64) {
	b := C.fh_alloc(C.size_t(n), C.int(lgAlign), cBool(zero))
	return b.p, int64(b.size)
}

// cFree frees what cAlloc or cRealloc returned and returns the bytes that it took.
func cFree(p unsafe.Pointer) int64 { return int64(C.fh_free(p)) }

// cRealloc changes the size of p to n bytes, n > 0. It returns the bytes taken now and before. The
// pointer is nil if there is no memory; p is then as it was. Bytes from the old size on are zeroed.
func cRealloc(p unsafe.Pointer, n uintptr) (q unsafe.Pointer, size, old int64) {
	b := C.fh_realloc(p, C.size_t(n), cBool(true))
	return b.p, int64(b.size), int64(b.old)
}

// cBool is C's way to say yes or no.
func cBool(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// cName returns a string as C wants it, in Go memory: mallctl only reads it during the call.
func cName(name string) *C.char {
	b := append([]byte(name), 0)
	// SAFETY: a Go byte and a C char have one size, and b ends with a zero byte.
	return (*C.char)(unsafe.Pointer(&b[0]))
}

// cStats reads jemalloc's own account of the process.
func cStats() (s C.fh_stat, err error) {
	if code := C.fh_stats(&s); code != 0 {
		return s, fmt.Errorf("jemalloc: reading statistics: %w", syscall.Errno(code))
	}
	return s, nil
}

// cOption reads a mallctl value of type bool.
func cOption(name string) (v bool, err error) {
	var b C.bool
	if code := C.fh_bool(cName(name), &b); code != 0 {
		return false, fmt.Errorf("jemalloc: reading %s: %w", name, syscall.Errno(code))
	}
	return bool(b), nil
}

// cOptionText reads a mallctl value of type string, "" if there is none.
func cOptionText(name string) string { return C.GoString(C.fh_string(cName(name))) }

// cPurge gives unused pages back.
func cPurge() error {
	if code := C.fh_purge(); code != 0 {
		return fmt.Errorf("jemalloc: purging: %w", syscall.Errno(code))
	}
	return nil
}

// cDecay sets how long unused pages are kept and returns what held before.
func cDecay(d time.Duration) (old time.Duration, err error) {
	var was C.ssize_t
	if code := C.fh_decay(C.ssize_t(d.Milliseconds()), &was); code != 0 {
		return 0, fmt.Errorf("jemalloc: setting the decay to %v: %w", d, syscall.Errno(code))
	}
	return time.Duration(was) * time.Millisecond, nil
}
