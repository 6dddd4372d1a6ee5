// SPDX-License-Identifier: Apache-2.0

package typeinfo

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"strings"
)

// A Layout says how the values of a type, and of the types that its links lead to, lie in memory.
// Memory that outlives the process keeps the layout of its values, so that a later program finds out
// whether its types still fit. A Layout lists the size of each type, and the offset of each number and
// link in it. Names of fields and types do not count, so that they may change.
type Layout struct {
	Digest uint64 // Of Text. It is never 0.
	parts  []layoutPart
}

type layoutPart struct {
	text  string
	where string // The path of the field, for messages.
}

// LayoutOf walks t, whose values hold no Go pointers. linked returns the type that values of a type
// lead to, or nil if these are no links.
func LayoutOf(t reflect.Type, linked func(reflect.Type) reflect.Type) *Layout {
	w := layoutWalk{linked: linked, ids: make(map[reflect.Type]int)}
	w.number(t)
	for i := 0; i < len(w.types); i++ {
		t := w.types[i]
		w.add(t.String(), "type %d: %d bytes aligned to %d", i, t.Size(), t.Align())
		w.walk(t, 0, t.String())
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(w.Text())) // A hash takes everything.
	w.Digest = max(sum.Sum64(), 1)
	return &w.Layout
}

// Text has a line for each part, to be kept beside the values.
func (l *Layout) Text() string {
	var b strings.Builder
	for _, p := range l.parts {
		b.WriteString(p.text + "\n")
	}
	return b.String()
}

// Difference names the first field in which l differs from the layout with that Text, or returns ""
// if there is none.
func (l *Layout) Difference(text string) string {
	theirs := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, p := range l.parts {
		if i >= len(theirs) {
			return fmt.Sprintf("there is no field from %s on (%s here)", p.where, p.text)
		}
		if theirs[i] != p.text {
			return fmt.Sprintf("%s is %q here and %q there", p.where, p.text, theirs[i])
		}
	}
	if len(theirs) > len(l.parts) {
		return fmt.Sprintf("there is %q behind the last field", theirs[len(l.parts)])
	}
	return ""
}

// A layoutWalk collects the parts of a layout.
type layoutWalk struct {
	Layout
	linked func(reflect.Type) reflect.Type
	ids    map[reflect.Type]int // The numbers of types, in the order in which links lead to them.
	types  []reflect.Type
}

func (w *layoutWalk) number(t reflect.Type) int {
	id, ok := w.ids[t]
	if !ok {
		id = len(w.types)
		w.ids[t] = id
		w.types = append(w.types, t)
	}
	return id
}

func (w *layoutWalk) add(where, format string, args ...any) {
	w.parts = append(w.parts, layoutPart{fmt.Sprintf(format, args...), where})
}

// walk adds the parts of a t at that offset of its type.
func (w *layoutWalk) walk(t reflect.Type, off uintptr, where string) {
	if to := w.linked(t); to != nil {
		w.add(where, "link to type %d at %d", w.number(to), off)
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			w.walk(f.Type, off+f.Offset, where+"."+f.Name)
		}
	case reflect.Array:
		if t.Len() > 0 && t.Elem().Size() > 0 {
			w.add(where, "%d times at %d", t.Len(), off)
			w.walk(t.Elem(), off, where+"[0]")
		}
	default:
		w.add(where, "%s at %d", numberName(t), off)
	}
}

// numberName names a number by kind and size: an int is an int64 on a 64-bit processor.
func numberName(t reflect.Type) string {
	kind := strings.TrimRight(t.Kind().String(), "0123456789")
	if kind == "uintptr" {
		kind = "uint"
	}
	return fmt.Sprintf("%s%d", kind, t.Size()*8)
}
