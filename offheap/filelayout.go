// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"strings"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// ErrLayout says that the root of a mapped file was stored as a value of another layout than the
// program's type has. Another version of the program has stored it, or another program, or a
// program for a processor whose int has another size.
var ErrLayout = errors.New("offheap: the file holds values of another layout")

// A layout says how the values of a type, and of the types that its Refs lead to, lie in memory. It
// is a list of parts: the size of each type, and the offset of each number and Ref in it. Names of
// fields and types do not count, so that they may change.
type layout struct {
	parts  []layoutPart
	digest uint64 // Of the parts' texts.
}

type layoutPart struct {
	text  string // For the file.
	where string // For messages: the path of the field.
}

// layoutWalk collects the parts of a layout.
type layoutWalk struct {
	layout
	ids   map[reflect.Type]int // The numbers of types, in the order in which Refs lead to them.
	types []reflect.Type
}

// layout is the layout of d, made on first use. The type holds neither Go pointers nor bools.
func (d *typeDesc) layout() *layout {
	if l := d.lay.Load(); l != nil {
		return l
	}
	w := layoutWalk{ids: make(map[reflect.Type]int)}
	w.number(d.typ)
	for i := 0; i < len(w.types); i++ {
		t := w.types[i]
		w.add(t.String(), "type %d: %d bytes aligned to %d", i, t.Size(), t.Align())
		w.walk(t, 0, t.String())
	}
	sum := fnv.New64a()
	for _, p := range w.parts {
		_, _ = sum.Write([]byte(p.text + "\n")) // A hash takes everything.
	}
	w.digest = max(sum.Sum64(), 1) // 0 stands for none.
	d.lay.Store(&w.layout)
	return &w.layout
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
	if to, ok := refTarget(t); ok {
		w.add(where, "Ref to type %d at %d", w.number(to), off)
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

// refTarget is T if t is a Ref[T] or an AtomicRef[T], which have the same layout.
func refTarget(t reflect.Type) (reflect.Type, bool) {
	isRef := strings.HasPrefix(t.Name(), "Ref[") || strings.HasPrefix(t.Name(), "AtomicRef[")
	if t.Kind() != reflect.Struct || !isRef || t.PkgPath() != reflect.TypeFor[typeDesc]().PkgPath() {
		return nil, false
	}
	return t.Field(0).Type.Elem().Elem(), true // The field is a [0]*T.
}

// text is what the file keeps of the layout, to say later what differs.
func (l *layout) text() string {
	var b strings.Builder
	for _, p := range l.parts {
		b.WriteString(p.text + "\n")
	}
	return b.String()
}

// store writes the layout to the header, as that of the root that is set next.
func (h *fileHeader) store(l *layout) {
	h.root.Store(0) // A program that is killed in between leaves no root of the wrong layout.
	h.layoutLen.Store(uint32(copy(h.layoutText[:], l.text())))
	h.layout.Store(l.digest)
}

// difference says what the layout of the root in the file has in place of l.
func (h *fileHeader) difference(l *layout) string {
	n := int(min(h.layoutLen.Load(), uint32(len(h.layoutText))))
	if n == 0 {
		return "its header names none: it is damaged"
	}
	theirs := strings.Split(strings.TrimSuffix(string(unsafex.Bytes(unsafex.Addr(&h.layoutText), uintptr(n))), "\n"), "\n")
	for i, p := range l.parts {
		if i >= len(theirs) || i == len(theirs)-1 && n == len(h.layoutText) {
			return fmt.Sprintf("the file has no field from %s on (%s here)", p.where, p.text)
		}
		if theirs[i] != p.text {
			return fmt.Sprintf("%s is %q here and %q in the file", p.where, p.text, theirs[i])
		}
	}
	if len(theirs) > len(l.parts) {
		return fmt.Sprintf("the file has %q behind the last field", theirs[len(l.parts)])
	}
	return "the header is damaged"
}
