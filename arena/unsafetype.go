// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"math/bits"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// An UnsafeType is a type that is known only at run time, looked up once. Decoders have one for each
// type that they fill, and allocate values with [Arena.UnsafeNew] and its kin. There is one
// UnsafeType for each type; any goroutine may use it.
type UnsafeType struct {
	desc *typeDesc
	size uintptr
	// key leads to the cursor that the fast paths cut from. It is noKey for types whose values need
	// more than a cut.
	key   uintptr
	cut   uintptr // The size, or 1 with noKey.
	small int     // The fast path makes slices of at most so many values.

	arrays atomic.Pointer[arrayTypes]
}

// noKey is the key of no type.
const noKey = 1

var unsafeTypes sync.Map // Of *UnsafeType, by reflect.Type.

// UnsafeTypeOf looks up t. It takes about a microsecond the first time and some 30 ns after that.
func UnsafeTypeOf(t reflect.Type) *UnsafeType {
	if t == nil {
		panic(fmt.Errorf("arena: UnsafeTypeOf of a nil reflect.Type"))
	}
	if u, ok := unsafeTypes.Load(t); ok {
		return u.(*UnsafeType)
	}
	checkGenuine("UnsafeTypeOf", t)
	d := describeType(t)
	u := &UnsafeType{desc: d, size: d.size, key: noKey, cut: 1}
	if d.flow != byteFlow && d.size != 0 {
		u.key, u.cut, u.small = d.key, d.size, int(smallSlice/d.size)
	}
	first, _ := unsafeTypes.LoadOrStore(t, u)
	return first.(*UnsafeType)
}

// Type is the type that was looked up.
func (t *UnsafeType) Type() reflect.Type { return t.desc.typ }

// String is the name of the type.
func (t *UnsafeType) String() string { return t.desc.typ.String() }

// An arrayType is the type of an array of a type's values.
type arrayType struct {
	typ   reflect.Type
	count int
}

// arrayTypes are the array types of one type by the class of their length. Package reflect never
// forgets a type that it made, so there are only so many.
type arrayTypes [arrayClasses]atomic.Pointer[arrayType]

// Lengths of arrays have classes: 1 to 16, and then eight to an octave. An array has at most mostArray
// bytes: the slack of a larger one would be more than what a slice's header takes.
const (
	arrayClasses = 8 * (17 - 3)
	mostArray    = 64 << 10
)

// countClass is the smallest class of n values, and the values that it has.
func countClass(n int) (class, count int) {
	shift := max(bits.Len(uint(n-1))-4, 0)
	top := (n - 1) >> shift
	return 8*shift + top, (top + 1) << shift
}

// array is the array type of the smallest class of at least n values.
func (t *UnsafeType) array(n int) *arrayType {
	all := t.arrays.Load()
	if all == nil {
		t.arrays.CompareAndSwap(nil, new(arrayTypes))
		all = t.arrays.Load()
	}
	class, count := countClass(n)
	a := all[class].Load()
	if a == nil {
		a = &arrayType{reflect.ArrayOf(count, t.desc.typ), count}
		all[class].Store(a)
	}
	return a
}

// onHeap is n zero values of the type in a row on the Go heap. They are one object, unless they are
// many, and then two.
func (t *UnsafeType) onHeap(n int) unsafe.Pointer {
	switch bytes := uintptr(n) * t.size; {
	case uintptr(n) > t.desc.most: // The bytes may overflow.
		return reflect.MakeSlice(t.desc.slice, n, n).UnsafePointer() // It panics, or ends the process.
	case bytes == 0:
		return unsafex.PtrOf(new(struct{}))
	case n == 1:
		return reflect.New(t.desc.typ).UnsafePointer()
	case !t.desc.scan:
		return unsafex.DataOf(make([]uint64, (bytes+7)/8))
	case bytes <= mostArray:
		return reflect.New(t.array(n).typ).UnsafePointer()
	}
	return reflect.MakeSlice(t.desc.slice, n, n).UnsafePointer()
}

// copyValues copies n values of the type. If they hold pointers, the collector sees each store.
func (t *UnsafeType) copyValues(to, from unsafe.Pointer, n int) {
	if n == 0 || t.size == 0 {
		return
	}
	if !t.desc.scan {
		bytes := n * int(t.size)
		copy(unsafex.SliceOf[byte](to, bytes, bytes), unsafex.SliceOf[byte](from, bytes, bytes))
		return
	}
	dst, src := sliceHeader{to, n, n}, sliceHeader{from, n, n} // reflect.SliceAt would put them on the heap.
	reflect.Copy(reflect.NewAt(t.desc.slice, unsafex.PtrOf(&dst)).Elem(), reflect.NewAt(t.desc.slice, unsafex.PtrOf(&src)).Elem())
}

// A sliceHeader is how a slice lies in memory (GC-8).
type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}
