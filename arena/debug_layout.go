// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"reflect"
	"sync"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A layout says where in the values of a type the words are that cannot be overwritten with just
// any bytes, in the order in which they lie (GC-8). All else may be.
type layout struct {
	size  uintptr
	spots []spot
}

// A spot is such a word, or several.
type spot struct {
	off, size uintptr
	kind      spotKind
	elem      uintptr // The size of a slice's or string's elements.
	part      *layout // Of the elements of an array.
}

type spotKind uint8

const (
	spotPointers spotKind = iota // Of nothing but pointers: one word, or the two of an interface with methods.
	// spotAny is an interface without methods. Its type stays: Go compares types by address, and an
	// assertion to another type would make an error that faults only when it is printed.
	spotAny
	spotSlice  // Address, length and capacity.
	spotString // Address and length.
	spotBool   // Go code trusts it to be 0 or 1 (C1).
	spotArray
)

// layouts holds the layout of each *typeDesc whose values were freed.
var layouts sync.Map

func layoutOf(d *typeDesc) *layout {
	if l, ok := layouts.Load(d); ok {
		return l.(*layout)
	}
	l := newLayout(d.typ)
	layouts.Store(d, l)
	return l
}

func newLayout(t reflect.Type) *layout {
	l := &layout{size: t.Size()}
	l.add(t, 0)
	return l
}

// add adds the spots of a t that lies at an offset.
func (l *layout) add(t reflect.Type, off uintptr) {
	s := spot{off: off, size: t.Size()}
	switch t.Kind() {
	case reflect.Bool:
		s.kind = spotBool
	case reflect.String:
		s.kind, s.elem = spotString, 1
	case reflect.Slice:
		s.kind, s.elem = spotSlice, t.Elem().Size()
	case reflect.Interface:
		if s.kind = spotPointers; t.NumMethod() == 0 {
			s.kind = spotAny
		}
	case reflect.Chan, reflect.Func, reflect.Map, reflect.Pointer, reflect.UnsafePointer:
		s.kind = spotPointers
	case reflect.Array:
		s.kind, s.part = spotArray, newLayout(t.Elem())
		if t.Len() == 0 || len(s.part.spots) == 0 {
			return
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			l.add(f.Type, off+f.Offset)
		}
		return
	default:
		return
	}
	l.spots = append(l.spots, s)
}

// bury overwrites values in a row, n bytes from p on: pointers lead to the tomb, so that the first
// use of one faults, and all else becomes poison.
func (l *layout) bury(p unsafex.Ptr, n, tomb uintptr) {
	for at := uintptr(0); at+l.size <= n; at += l.size {
		done := uintptr(0)
		for i := range l.spots {
			s := &l.spots[i]
			unsafex.FillAt(unsafex.Add(p, at+done), s.off-done, debugmode.PoisonFreed)
			s.bury(unsafex.Add(p, at+s.off), tomb)
			done = s.off + s.size
		}
		if done < l.size { // Or the address might be another object's.
			unsafex.FillAt(unsafex.Add(p, at+done), l.size-done, debugmode.PoisonFreed)
		}
	}
}

// tombReach bounds the bytes that a slice or a string claims to have behind a tomb: so many are
// inaccessible there.
const tombReach = 2 << 10

func (s *spot) bury(p unsafex.Ptr, tomb uintptr) {
	switch s.kind {
	case spotPointers:
		for w := uintptr(0); w < s.size; w += wordSize {
			put(unsafex.Add(p, w), unsafex.Pointer(tomb))
		}
	case spotAny:
		put(unsafex.Add(p, wordSize), unsafex.Pointer(tomb))
	case spotSlice, spotString:
		s.buryText(p, tomb)
	case spotBool:
		*unsafex.As[bool](p) = true
	case spotArray:
		s.part.bury(p, s.size, tomb)
	}
}

// buryText overwrites a slice or a string. Its length is less than the inaccessible memory
// behind the tomb, so that no index leads elsewhere, and is not 0, so that a loop faults. If not even
// one element fits there, it is 0 all the same: Go does not touch the beginning of an element before it
// touches what lies far behind, as it does with the target of a pointer.
func (s *spot) buryText(p unsafex.Ptr, tomb uintptr) {
	length := unsafex.As[uintptr](unsafex.Add(p, wordSize))
	if s.elem != 0 {
		*length = min(max(*length, 1), max(1, tombReach/s.elem))
	}
	if tomb == 0 || s.elem > debugmode.TombReach {
		*length = 0
	}
	put(p, unsafex.Pointer(tomb))
	if s.kind == spotSlice {
		*unsafex.As[uintptr](unsafex.Add(p, 2*wordSize)) = *length
	}
}
