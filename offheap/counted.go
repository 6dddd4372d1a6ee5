package offheap

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
)

// A Counted is a block with several owners: when the last of them releases it, it is freed. The
// handle lies on the Go heap, the bytes do not. Its methods may be called from any goroutine.
type Counted struct {
	bytes []byte
	refs  atomic.Int64
	freed atomic.Pointer[stack] // Where the last owner released it.
}

// NewCounted returns n zero bytes with one owner. It panics as [Alloc] does.
func NewCounted(n int) *Counted {
	s, err := TryNewCounted(n)
	must(err)
	return s
}

// TryNewCounted is NewCounted with an error as [TryAlloc] returns it.
func TryNewCounted(n int) (*Counted, error) {
	b, err := TryAlloc(n)
	if err != nil {
		return nil, err
	}
	s := &Counted{bytes: b}
	s.refs.Store(1)
	return s, nil
}

// Bytes returns the block's bytes. They are valid until the caller calls Release.
func (s *Counted) Bytes() []byte {
	if s.refs.Load() <= 0 {
		s.misuse("Bytes")
	}
	return s.bytes
}

// Retain adds an owner and returns s.
func (s *Counted) Retain() *Counted {
	for {
		n := s.refs.Load()
		if n <= 0 {
			s.misuse("Retain")
		}
		if s.refs.CompareAndSwap(n, n+1) {
			return s
		}
	}
}

// Release ends one ownership, and frees the block if it was the last. One Release too many panics;
// the message has the stacks of the Release that freed the block and of this one.
func (s *Counted) Release() {
	for {
		n := s.refs.Load()
		if n <= 0 {
			s.misuse("Release")
		}
		if n == 1 && s.freed.Load() == nil {
			s.freed.CompareAndSwap(nil, callers())
		}
		if s.refs.CompareAndSwap(n, n-1) {
			if n == 1 {
				b := s.bytes
				s.bytes = nil
				Free(b)
			}
			return
		}
	}
}

func (s *Counted) misuse(op string) {
	detail := "the block was freed already"
	if at := s.freed.Load(); at != nil {
		detail += "; last Release:\n" + at.String() + "this " + op + ":\n" + callers().String()
	}
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
