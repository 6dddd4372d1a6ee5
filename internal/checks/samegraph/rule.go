// SPDX-License-Identifier: Apache-2.0

package samegraph

import (
	"reflect"
	"slices"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// A Rule says what a copy shares with the graph, and where the copy lies. The zero Rule shares
// nothing, and the copy may lie anywhere.
type Rule struct {
	// Globals are memory to which pointers are shared, except to the variable that a root of a
	// pointer type points to. Slices and strings of it are copied.
	Globals []Span
	// Holds says whether the unexported fields of a struct type keep their bits.
	Holds func(t reflect.Type) bool
	// Inside says whether all of the memory is such as the copy may have.
	Inside func(s Span) bool
}

// A Span is a range of addresses.
type Span struct{ From, End uintptr }

func (s Span) has(p uintptr) bool { return p >= s.From && p < s.End }

func isIn(list []Span, p uintptr) bool {
	return slices.ContainsFunc(list, func(s Span) bool { return s.has(p) })
}

// SpanOf is the memory of the variable that v points to, or of all elements of the slice v up to
// its capacity, or of the string v.
func SpanOf(v any) Span {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Slice:
		return Span{r.Pointer(), r.Pointer() + uintptr(r.Cap())*r.Type().Elem().Size()}
	case reflect.String:
		from := unsafex.PtrAddr(unsafex.StringData(r.String()))
		return Span{from, from + uintptr(r.Len())}
	}
	return Span{r.Pointer(), r.Pointer() + r.Type().Elem().Size()}
}
