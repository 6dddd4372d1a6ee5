// SPDX-License-Identifier: Apache-2.0

//go:build jemalloc && cgo

package jemalloc

import (
	"fmt"
	"math/bits"
	"reflect"
	"sync"
	"unsafe"

	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/offheap"
)

// typeDesc describes a type.
type typeDesc struct {
	typ     reflect.Type
	size    uintptr
	lgAlign int
	bools   bool
	refused string // Why values of it must not live here, "" if they may.
}

// types maps typeinfo.Key to *typeDesc. A call into C costs more than this look-up.
var types sync.Map

// zeroSize is where values of no bytes lie.
var zeroSize uint64

// describe returns the description of T, and panics if its values must not live here.
func describe[T any](op string) *typeDesc {
	key := typeinfo.Key[T]()
	v, ok := types.Load(key)
	if !ok {
		v, _ = types.LoadOrStore(key, newDesc(reflect.TypeFor[T]()))
	}
	d := v.(*typeDesc)
	if d.refused != "" {
		panic(fmt.Errorf("jemalloc: %s of %s: %s", op, d.typ, d.refused))
	}
	return d
}

// newDesc makes the description of a type.
func newDesc(t reflect.Type) *typeDesc {
	info := typeinfo.Describe(t, reflect.TypeFor[offheap.UnsafeSelfContained]())
	d := &typeDesc{typ: t, size: t.Size(), lgAlign: bits.TrailingZeros(uint(t.Align())), bools: info.Bools}
	switch {
	case info.PointerPath != "":
		d.refused = "the type holds a Go pointer, which the collector would not see: " + info.PointerPath
	case info.SelfContained:
		d.refused = "self-contained types need blocks of their own, which package offheap has"
	}
	return d
}

// New returns a zero T; it is yours until [Delete]. It panics with the path of the field if T holds
// Go pointers or is self-contained, and as [Alloc] does if there is no memory.
func New[T any]() *T { return must(TryNew[T]()) }

// TryNew is New with an error for what the system refuses.
func TryNew[T any]() (*T, error) { return newOf[T]("New", true) }

// NewUninit is New without the zeroing. A T that holds a bool is zeroed all the same, because a bool
// must be 0 or 1.
func NewUninit[T any]() *T { return must(TryNewUninit[T]()) }

// TryNewUninit is NewUninit with an error for what the system refuses.
func TryNewUninit[T any]() (*T, error) { return newOf[T]("NewUninit", false) }

func newOf[T any](op string, zero bool) (*T, error) {
	s, err := makeSlice[T](op, 1, 1, zero)
	if err != nil {
		return nil, err
	}
	return unsafe.SliceData(s), nil
}

// Delete frees what New, TryNew or NewUninit returned. Delete(nil) does nothing. Anything else is
// undefined behaviour, as with [Free].
func Delete[T any](p *T) {
	if d := describe[T]("Delete"); p != nil && d.size != 0 {
		// SAFETY: the caller vouches for p.
		release(unsafe.Pointer(p), int(d.size))
	}
}

// MakeSlice returns a slice of zero values, as make([]T, length, capacity) does. It panics as [New]
// does, and as make does for a length that is negative or above the capacity.
func MakeSlice[T any](length, capacity int) []T { return must(TryMakeSlice[T](length, capacity)) }

// TryMakeSlice is MakeSlice with an error for what the system refuses.
func TryMakeSlice[T any](length, capacity int) ([]T, error) {
	return makeSlice[T]("MakeSlice", length, capacity, true)
}

// MakeSliceUninit is MakeSlice without the zeroing; see [NewUninit].
func MakeSliceUninit[T any](length, capacity int) []T {
	return must(TryMakeSliceUninit[T](length, capacity))
}

// TryMakeSliceUninit is MakeSliceUninit with an error for what the system refuses.
func TryMakeSliceUninit[T any](length, capacity int) ([]T, error) {
	return makeSlice[T]("MakeSliceUninit", length, capacity, false)
}

func makeSlice[T any](op string, length, capacity int, zero bool) ([]T, error) {
	d := describe[T](op)
	if length < 0 || length > capacity {
		panic(fmt.Errorf("jemalloc: %s of %s: length %d out of range [0, capacity %d]", op, d.typ, length, capacity))
	}
	if d.size == 0 || capacity == 0 {
		// SAFETY: no byte of the result is ever read; zeroSize has the largest alignment there is.
		return unsafe.Slice((*T)(unsafe.Pointer(&zeroSize)), capacity)[:length], nil
	}
	over, n := bits.Mul64(uint64(capacity), uint64(d.size))
	if over != 0 || n > uint64(^uint(0)>>1) {
		return nil, fmt.Errorf("%w: jemalloc: %s: %d values of %s exceed the address space",
			offheap.ErrOutOfMemory, op, capacity, d.typ)
	}
	p := allocate(uintptr(n), d.lgAlign, zero || d.bools)
	if p == nil {
		return nil, outOfMemory(op, int(n))
	}
	// SAFETY: allocate returned capacity values' bytes, aligned for T.
	return unsafe.Slice((*T)(p), capacity)[:length], nil
}

// FreeSlice frees what MakeSlice, MakeSliceUninit or Append returned, or a prefix of it. A slice of
// no bytes is ignored.
func FreeSlice[T any](s []T) {
	if d := describe[T]("FreeSlice"); d.size != 0 && cap(s) != 0 {
		// SAFETY: the caller vouches for s.
		release(unsafe.Pointer(unsafe.SliceData(s)), cap(s)*int(d.size))
	}
}

// Append is append for a slice that MakeSlice or Append returned, or one of capacity 0. If the slice
// must grow, its old block is freed once the elements are copied. It panics as [New] does.
func Append[T any](s []T, elems ...T) []T { return must(TryAppend(s, elems...)) }

// TryAppend is Append with an error for what the system refuses; s is untouched then.
func TryAppend[T any](s []T, elems ...T) ([]T, error) {
	d := describe[T]("Append")
	n := len(s) + len(elems)
	if d.size == 0 || n >= 0 && n <= cap(s) {
		return append(s, elems...), nil
	}
	if n < 0 {
		return nil, outOfMemory("Append", len(elems))
	}
	grown, err := makeSlice[T]("Append", n, max(n, cap(s)+cap(s)/2, cap(s)+8), false)
	if err != nil { // Room to grow is no reason to fail.
		grown, err = makeSlice[T]("Append", n, n, false)
	}
	if err != nil {
		return nil, err
	}
	clear(grown[copy(grown, s)+copy(grown[len(s):], elems) : cap(grown)])
	FreeSlice(s)
	return grown, nil
}
