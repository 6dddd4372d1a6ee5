// SPDX-License-Identifier: Apache-2.0

//go:build (asan || msan) && linux && (amd64 || arm64)

package sanitize

// #include <stdlib.h>
// #include "blocks.h"
import "C"

import "sync"

// texts are the C copies of the recorded texts: a program has few stacks and types, and they stay
// for good.
var texts struct {
	mu sync.Mutex
	of map[string]*C.char
}

func text(s string) *C.char {
	texts.mu.Lock()
	defer texts.mu.Unlock()
	c := texts.of[s]
	if c == nil {
		if texts.of == nil {
			texts.of = make(map[string]*C.char)
		}
		c = C.CString(s)
		texts.of[s] = c
	}
	return c
}

func record(addr, n uintptr, what string, goroutine int64, stack string) {
	C.freehold_record(C.uintptr_t(addr), C.uintptr_t(n), text(what), C.int64_t(goroutine), text(stack))
}

func recordFree(addr, n uintptr, op, by string, goroutine int64, stack string) {
	C.freehold_record_free(C.uintptr_t(addr), C.uintptr_t(n), text(op), text(by), C.int64_t(goroutine), text(stack))
}

func forget(addr, n uintptr) { C.freehold_forget(C.uintptr_t(addr), C.uintptr_t(n)) }
