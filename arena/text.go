// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"github.com/freehold-go/freehold/internal/unsafex"
)

// String copies s, a string or bytes, to a. The result is valid as long as a's values are. No data
// that outlives them may keep it; map keys are an example (see [Clone]).
func String[S ~string | ~[]byte](a *Arena, s S) string {
	var p unsafex.Ptr
	if a != nil && len(s) != 0 && a.text != nil {
		p = a.text.take(uintptr(len(s)))
	}
	if p == nil {
		t, err := text("String", a, view(s))
		must(err)
		return unsafex.StringOf(unsafex.DataOf(t), len(t))
	}
	copy(unsafex.SliceOf[byte](p, len(s), len(s)), s)
	return unsafex.StringOf(p, len(s))
}

// Bytes copies s, a string or bytes, to a. The result's capacity is its length.
func Bytes[S ~string | ~[]byte](a *Arena, s S) []byte {
	var p unsafex.Ptr
	if a != nil && len(s) != 0 && a.text != nil {
		p = a.text.take(uintptr(len(s)))
	}
	if p == nil {
		t, err := text("Bytes", a, view(s))
		must(err)
		return t
	}
	b := unsafex.SliceOf[byte](p, len(s), len(s))
	copy(b, s)
	return b
}

// Concat copies the parts, one behind the other, to one string in a.
func Concat(a *Arena, parts ...string) string {
	s, err := concat("Concat", a, parts)
	must(err)
	return s
}

func concat(op string, a *Arena, parts []string) (string, error) {
	n := 0
	for _, s := range parts {
		if n += len(s); n < 0 {
			return "", outOfMemory("%s: %d strings whose lengths overflow", op, len(parts))
		}
	}
	b, err := written(op, a, n, func(b []byte) {
		for _, s := range parts {
			b = b[copy(b, s):]
		}
	})
	return unsafex.StringOf(unsafex.DataOf(b), len(b)), err
}

// view is the bytes of s, which nothing may change. A string and a slice begin with the address of
// their data (GC-8).
func view[S ~string | ~[]byte](s S) []byte {
	return unsafex.SliceOf[byte](load(unsafex.PtrOf(&s)), len(s), len(s))
}

// text is a copy of s in a, or on the Go heap if a says so.
//
//go:noinline
func text(op string, a *Arena, s []byte) ([]byte, error) {
	return written(op, a, len(s), func(b []byte) { copy(b, s) })
}

// written is n bytes in a, or on the Go heap if a says so, which write overwrites before another
// goroutine can free them.
func written(op string, a *Arena, n int, write func([]byte)) (b []byte, err error) {
	if a != nil {
		in, lock := a.lock(op)
		defer lock.unlock()
		a = in
	}
	p, err := a.alloc(op, describe[byte](), n, false)
	if err != nil {
		return nil, err
	}
	if p == nil {
		b = make([]byte, n)
	} else {
		b = unsafex.SliceOf[byte](p, n, n)
	}
	write(b)
	return b, nil
}
