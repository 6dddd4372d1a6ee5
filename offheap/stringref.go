// SPDX-License-Identifier: Apache-2.0

package offheap

import "github.com/freehold-go/freehold/internal/unsafex"

// A StringRef is a link to a string outside the Go heap: 16 bytes, in which the collector sees no
// pointer. It is the [SliceRef] to the string's bytes, with the same checks. The zero StringRef is
// the empty string, which takes no memory. Two StringRefs are equal by == if they lead to the same
// bytes; compare strings by [StringRef.String].
type StringRef struct{ bytes SliceRef[byte] }

// NewString copies s off the heap. The copy belongs to the caller until [DeleteString]. NewString
// panics as [Alloc] does. For a string in the account of a Purpose or from a Local, copy it to a
// block from there and call [StringRefOf].
func NewString(s string) StringRef {
	r, err := TryNewString(s)
	must(err)
	return r
}

// TryNewString is NewString with an error for what the world may refuse.
func TryNewString(s string) (StringRef, error) {
	b, err := TryAllocUninit(len(s))
	if err != nil {
		return StringRef{}, err
	}
	copy(b, s)
	return StringRefOf(b), nil
}

// StringRefOf returns the StringRef to the bytes of b, which must lie in a block of offheap. It
// copies nothing: the program must not change the bytes while it uses a string from
// [StringRef.String]. It panics as [SliceRefOf] does.
func StringRefOf(b []byte) StringRef { return StringRef{SliceRefOf(b)} }

// DeleteString frees the block that r leads to, from [NewString] or from a [StringRefOf] of a whole
// block or a prefix. It ignores the empty string. It panics as [Free] does.
func DeleteString(r StringRef) { Free(r.bytes.Slice()) }

// String returns the string without a copy. The string must not be used after the free of its
// block: its bytes would be those of a later block. strings.Clone makes a copy that lives on.
// String panics as [SliceRef.Slice] does.
func (r StringRef) String() string { return stringOf(r.bytes.Slice()) }

// Len is the length of the string in bytes. It reads no memory.
func (r StringRef) Len() int { return r.bytes.Len() }

func stringOf(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafex.StringOf(unsafex.DataOf(b), len(b))
}
