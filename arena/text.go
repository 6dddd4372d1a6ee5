package arena

import (
	"github.com/freehold-go/freehold/internal/unsafex"
)

// String copies s, a string or bytes, to a. The result is valid as long as a's values are. No data
// that outlives them may keep it; map keys are an example (see [Clone]).
func String[S ~string | ~[]byte](a *Arena, s S) string {
	var p unsafex.Ptr
	if a != nil && len(s) != 0 && a.bytes.cursor != nil {
		p = a.bytes.take(uintptr(len(s)))
	}
	if p == nil {
		if p = text("String", a, len(s)); p == nil {
			return string(s)
		}
	}
	copy(unsafex.SliceOf[byte](p, len(s), len(s)), s)
	return unsafex.StringOf(p, len(s))
}

// Bytes copies s, a string or bytes, to a. The result's capacity is its length.
func Bytes[S ~string | ~[]byte](a *Arena, s S) []byte {
	var p unsafex.Ptr
	if a != nil && len(s) != 0 && a.bytes.cursor != nil {
		p = a.bytes.take(uintptr(len(s)))
	}
	if p == nil {
		p = text("Bytes", a, len(s))
	}
	if p == nil {
		return append(make([]byte, 0, len(s)), s...)
	}
	b := unsafex.SliceOf[byte](p, len(s), len(s))
	copy(b, s)
	return b
}

// Concat copies the parts, one behind the other, to one string in a.
func Concat(a *Arena, parts ...string) string {
	n := 0
	for _, s := range parts {
		if n += len(s); n < 0 {
			panic(outOfMemory("Concat: %d strings whose lengths overflow", len(parts)))
		}
	}
	p := text("Concat", a, n)
	var b []byte
	if p == nil {
		b = make([]byte, n)
	} else {
		b = unsafex.SliceOf[byte](p, n, n)
	}
	to := b
	for _, s := range parts {
		to = to[copy(to, s):]
	}
	if n == 0 {
		return ""
	}
	return unsafex.StringOf(unsafex.DataOf(b), n)
}

// text is n bytes for a copy, or nil if they must come from the Go heap or are none.
//
//go:noinline
func text(op string, a *Arena, n int) unsafex.Ptr {
	p, err := a.alloc(op, describe[byte](), n, false)
	must(err)
	return p
}
