// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
)

// A Counted is a block with several owners: when the last of them releases it, it is freed. The
// handle lies on the Go heap, the bytes do not. Its methods may be called from any goroutine.
//
// A Counted must not be copied; pass the pointer that [NewCounted] returned. Every call of a copy
// panics with a [*MisuseError], and so does every call of a zero Counted. A call of a nil Counted
// panics with Go's error for a nil pointer.
type Counted struct {
	_     noCopy
	state *countedState // Its handle is the Counted itself. A copy is another, and the zero Counted has no state.
}

// A countedState is the block and the number of its owners. They are not in the Counted, so that no
// older copy brings back an owner. Both are one allocation.
type countedState struct {
	handle Counted
	bytes  []byte
	refs   atomic.Int64
	freed  atomic.Pointer[stack] // Where the last owner released it; stored after refs.
}

// NewCounted returns n zero bytes with one owner. It panics as [Alloc] does.
func NewCounted(n int) *Counted {
	s := &countedState{bytes: Alloc(n)}
	s.handle.state = s
	s.refs.Store(1)
	return &s.handle
}

// open is the state of c. It panics if op must not use c.
func (c *Counted) open(op string) *countedState {
	s := c.state
	if s == nil {
		panic(handleMisuse("Counted."+op, "a Counted that NewCounted did not make", "call NewCounted and use the pointer that it returns"))
	}
	if &s.handle != c {
		panic(handleMisuse("Counted."+op, "a copied Counted", "a copy would free the block of its original; use the pointer that NewCounted returned everywhere"))
	}
	return s
}

// Bytes returns the block's bytes. They are valid until the caller calls Release.
func (c *Counted) Bytes() []byte {
	s := c.open("Bytes")
	if s.refs.Load() <= 0 {
		s.misuse("Bytes")
	}
	return s.bytes
}

// Retain adds an owner and returns c.
func (c *Counted) Retain() *Counted {
	s := c.open("Retain")
	for {
		n := s.refs.Load()
		if n <= 0 {
			s.misuse("Retain")
		}
		if s.refs.CompareAndSwap(n, n+1) {
			return c
		}
	}
}

// Release ends one ownership, and frees the block if it was the last. One Release too many panics;
// the message has the stacks of the Release that freed the block and of this one.
func (c *Counted) Release() {
	s := c.open("Release")
	for {
		n := s.refs.Load()
		if n <= 0 {
			s.misuse("Release")
		}
		if s.refs.CompareAndSwap(n, n-1) {
			if n == 1 {
				s.freed.Store(callers())
				Free(s.bytes)
			}
			return
		}
	}
}

func (s *countedState) misuse(op string) {
	at := s.freed.Load()
	for ; at == nil; at = s.freed.Load() { // The last Release is about to store it.
		runtime.Gosched()
	}
	detail := "the block was freed already; last Release:\n" + at.String() + "this " + op + ":\n" + callers().String()
	panic(&MisuseError{Op: "Counted." + op, Kind: "use after the last Release", Detail: detail})
}

// stack is where something happened.
type stack struct {
	pcs [16]uintptr
	n   int
}

// callers is the stack of the exported function's caller.
func callers() *stack {
	s := new(stack)
	s.n = runtime.Callers(3, s.pcs[:])
	return s
}

// String lists the frames, a function and a place each.
func (s *stack) String() string {
	var b strings.Builder
	frames := runtime.CallersFrames(s.pcs[:s.n])
	for {
		f, more := frames.Next()
		fmt.Fprintf(&b, "\t%s\n\t\t%s:%d\n", f.Function, f.File, f.Line)
		if !more {
			return b.String()
		}
	}
}
