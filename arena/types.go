// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"math"
	"reflect"

	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// typeDesc is the description of a type, made once for each type.
type typeDesc struct {
	key   uintptr
	size  uintptr
	most  uintptr // As many values are no more than maxBytes; any number of those of size 0.
	align uintptr
	typ   reflect.Type
	slice reflect.Type // []T, which typed chunks are.
	scan  bool         // On the Go heap the collector must scan values.
	flow  flow         // Which chunks values of the type are cut from.

	path string // Off the heap it is refused: where it holds a Go pointer.
}

// A flow is a kind of data that shares chunks.
type flow uint8

const (
	// wordFlow: sizes are multiples of 8, without pointers and bools. What lies behind the bump
	// position is cleared ahead of it, a window at a time, so that it is in the cache when it is used.
	wordFlow flow = iota
	// byteFlow: any size, without pointers and bools. Functions that cut bytes clear those that
	// they do not overwrite.
	byteFlow
	// typedFlow: values of one type that holds pointers, which the collector scans, or bools, whose
	// bits Go code trusts (C1). What lies behind the bump position is zero.
	typedFlow
)

// types has the descriptions of all types.
var types typeinfo.Table[typeDesc]

func init() { types.Init((*typeDesc).fill) }

// describe is the description of T.
func describe[T any]() *typeDesc {
	key := typeinfo.Key[T]()
	if d, ok := types.Recent(key); ok {
		return d
	}
	return types.Find(key, reflect.TypeFor[T]())
}

// describeType is describe for a type that is known at run time only.
func describeType(t reflect.Type) *typeDesc { return types.Find(typeinfo.KeyOf(t), t) }

// checkGenuine panics if package reflect did not make t. A struct with an embedded reflect.Type
// implements the interface, too, but its methods may return any size and any fields.
func checkGenuine(op string, t reflect.Type) {
	if reflect.TypeOf(t) != reflect.TypeOf(reflect.TypeFor[int]()) {
		panic(fmt.Errorf("arena: %s of a %T, which implements reflect.Type outside of package reflect; use a reflect.Type that reflect.TypeOf or reflect.TypeFor returned", op, t))
	}
}

// fill makes d the description of t.
func (d *typeDesc) fill(key uintptr, t reflect.Type) {
	d.key, d.typ, d.slice, d.size, d.align = key, t, reflect.SliceOf(t), t.Size(), uintptr(t.Align())
	if d.most = math.MaxInt; d.size != 0 {
		d.most = maxBytes / d.size
	}
	// In Go memory the collector follows every pointer, also what a type promises to lead elsewhere.
	info := typeinfo.Describe(t, nil)
	d.scan = info.PointerPath != ""
	switch {
	case info.PointerPath != "" || info.Bools:
		d.flow = typedFlow
	case d.size%8 == 0:
		d.flow = wordFlow
	default:
		d.flow = byteFlow
	}
	d.path = typeinfo.Describe(t, reflect.TypeFor[offheap.UnsafeSelfContained]()).PointerPath
}

// maxBytes bounds one block: 64 GiB, or 512 MiB on 32-bit systems. What the Go heap cannot give
// ends the process without an error, so that the impossible must be refused before.
const maxBytes = 1 << (29 + 7*(^uint(0)>>63))

// smallSlice bounds the bytes of slices that are made the fast way.
const smallSlice = 1 << 20

// golden is 2^64 by the golden ratio. Products with it have hashes of the other factor in their
// upper bits.
const golden = 0x9E3779B97F4A7C15

// wordSize is the size of a pointer.
const wordSize = 4 << (^uintptr(0) >> 63)

// load reads the pointer at p.
func load(p unsafex.Ptr) unsafex.Ptr { return *unsafex.As[unsafex.Ptr](p) }

// put writes the pointer at p.
func put(p, v unsafex.Ptr) { *unsafex.As[unsafex.Ptr](p) = v }

// loadWord reads the i-th word behind p.
func loadWord(p unsafex.Ptr, i uintptr) uintptr {
	return *unsafex.As[uintptr](unsafex.Add(p, i*wordSize))
}

// putWord writes the i-th word behind p.
func putWord(p unsafex.Ptr, i, v uintptr) { *unsafex.As[uintptr](unsafex.Add(p, i*wordSize)) = v }
