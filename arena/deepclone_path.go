// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/freehold-go/freehold/internal/graph"
)

// Of a path with more blocks than pathHead and pathTail, the blocks between are counted.
const (
	pathHead = 8
	pathTail = 8
)

// path names the place at an offset in block i as Go code would: "order.items[3].mu". Of the values
// that begin there, stop is the type that is meant; nil is the innermost. A list may have millions
// of nodes, so path neither recurses nor builds the names of all.
func (c *cloner) path(i uint32, offset uintptr, stop reflect.Type) string {
	type step struct {
		block  uint32
		offset uintptr
		stop   reflect.Type
	}
	var tail []step // From the place on towards the root.
	var last [pathHead]step
	more := 0
	for {
		s := step{i, offset, stop}
		if len(tail) < pathTail {
			tail = append(tail, s)
		} else {
			last[more%pathHead] = s
			more++
		}
		if i == 0 {
			break
		}
		b := c.at(i)
		i, offset, stop = b.parent, b.at, nil
	}
	var path strings.Builder
	add := func(s step) { path.WriteString(c.step(s.block, s.offset, s.stop)) }
	for n := range min(more, pathHead) {
		add(last[(more-1-n)%pathHead])
	}
	if more > pathHead {
		fmt.Fprintf(&path, "… (%d more) …", more-pathHead)
	}
	for _, s := range slices.Backward(tail) {
		add(s)
	}
	return path.String()
}

// step is what block i and the place at an offset in it add to a path.
func (c *cloner) step(i uint32, offset uintptr, stop reflect.Type) string {
	b := c.at(i)
	if b.kind == isMap {
		return ""
	}
	index, field := offset/b.plan.size, offset%b.plan.size
	inner, _ := graph.FieldPath(b.plan.typ, field, stop)
	if i == 0 {
		way := rootName(b.plan.whole)
		if b.plan.whole.Kind() == reflect.Array {
			way += fmt.Sprintf("[%d]", index)
		}
		return way + inner
	}
	parent := c.at(b.parent)
	if b.kind == isScratch {
		return c.entry(b, index/b.plan.units) + inner
	}
	way := ""
	_, t := graph.FieldPath(parent.plan.typ, b.at%parent.plan.size, nil)
	switch {
	case t.Kind() == reflect.Interface && b.kind == isBox:
		way = ".(" + b.plan.whole.String() + ")"
	case t.Kind() == reflect.Interface:
		way = ".(*" + b.plan.whole.String() + ")"
	}
	if t.Kind() == reflect.Slice || b.plan.units > 1 {
		way += fmt.Sprintf("[%d]", index)
	}
	return way + inner
}

// entry names an entry of a map, of which b holds the keys or the elements.
func (c *cloner) entry(b *block, i uintptr) string {
	for _, m := range c.maps {
		if m.keys.UnsafePointer() == b.src {
			return " key " + keyName(m.keys.Index(int(i)))
		}
		if m.elems.UnsafePointer() == b.src {
			return "[" + keyName(m.keys.Index(int(i))) + "]"
		}
	}
	return "[?]"
}

// keyName calls no method of the key: a String method might use or free the arena in the midst of
// the clone.
func keyName(k reflect.Value) string {
	switch {
	case k.Kind() == reflect.String:
		return strconv.Quote(k.String())
	case k.Kind() == reflect.Bool:
		return strconv.FormatBool(k.Bool())
	case k.CanInt():
		return strconv.FormatInt(k.Int(), 10)
	case k.CanUint():
		return strconv.FormatUint(k.Uint(), 10)
	case k.CanFloat():
		return strconv.FormatFloat(k.Float(), 'g', -1, k.Type().Bits())
	case k.CanComplex():
		return strconv.FormatComplex(k.Complex(), 'g', -1, k.Type().Bits())
	}
	return "of type " + k.Type().String()
}

// rootName is what a path begins with.
func rootName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Name() == "" {
		return "v"
	}
	return t.Name()
}
