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

// TryString is [String] that returns an error if there is no memory, instead of panicking.
func TryString[S ~string | ~[]byte](a *Arena, s S) (string, error) {
	p, err := a.alloc("TryString", describe[byte](), len(s), false)
	if err != nil {
		return "", err
	}
	if p == nil {
		return string(s), nil
	}
	copy(unsafex.SliceOf[byte](p, len(s), len(s)), s)
	return unsafex.StringOf(p, len(s)), nil
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

// TryBytes is [Bytes] that returns an error if there is no memory, instead of panicking.
func TryBytes[S ~string | ~[]byte](a *Arena, s S) ([]byte, error) {
	b, err := bytesIn("TryBytes", a, len(s))
	copy(b, s)
	return b, err
}

// Concat copies the parts, one behind the other, to one string in a.
func Concat(a *Arena, parts ...string) string {
	s, err := concat("Concat", a, parts)
	must(err)
	return s
}

// TryConcat is [Concat] that returns an error if there is no memory, instead of panicking.
func TryConcat(a *Arena, parts ...string) (string, error) { return concat("TryConcat", a, parts) }

func concat(op string, a *Arena, parts []string) (string, error) {
	n := 0
	for _, s := range parts {
		if n += len(s); n < 0 {
			return "", outOfMemory("%s: %d strings whose lengths overflow", op, len(parts))
		}
	}
	b, err := bytesIn(op, a, n)
	if err != nil || n == 0 {
		return "", err
	}
	to := b
	for _, s := range parts {
		to = to[copy(to, s):]
	}
	return unsafex.StringOf(unsafex.DataOf(b), n), nil
}

// bytesIn is n bytes in a, or on the Go heap if a says so, which the caller overwrites.
func bytesIn(op string, a *Arena, n int) ([]byte, error) {
	p, err := a.alloc(op, describe[byte](), n, false)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return make([]byte, n), nil
	}
	return unsafex.SliceOf[byte](p, n, n), nil
}

// text is n bytes for a copy, or nil if they must come from the Go heap or are none.
//
//go:noinline
func text(op string, a *Arena, n int) unsafex.Ptr {
	p, err := a.alloc(op, describe[byte](), n, false)
	must(err)
	return p
}
