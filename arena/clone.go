// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"reflect"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// Clone copies the target of v, a pointer, a slice or a string, to the Go heap if it lies in an
// arena, so that it can outlive the arena. Otherwise it returns v unchanged. The copy is shallow:
// memory that the copied value points to stays where it is (see [Heap] for a full copy). A slice's
// copy has the slice's length as its capacity. Clone panics if T is of another kind.
func Clone[T any](v T) T {
	t := reflect.TypeFor[T]()
	rv := reflect.ValueOf(&v).Elem()
	if t.Kind() == reflect.Interface && !rv.IsNil() {
		rv = rv.Elem()
		t = rv.Type()
	}
	switch t.Kind() {
	case reflect.String:
		s := rv.String()
		if len(s) > 0 && inArena(unsafex.StringData(s)) {
			return as[T](reflect.ValueOf(string(append([]byte(nil), s...))).Convert(t))
		}
	case reflect.Slice:
		if rv.Cap() > 0 && inArena(rv.UnsafePointer()) {
			c := reflect.MakeSlice(t, rv.Len(), rv.Len())
			reflect.Copy(c, rv)
			return as[T](c)
		}
	case reflect.Pointer:
		if !rv.IsNil() && inArena(rv.UnsafePointer()) {
			c := reflect.New(t.Elem())
			c.Elem().Set(rv.Elem())
			return as[T](c.Convert(t))
		}
	default:
		panic(fmt.Errorf("arena: Clone of a %s: only pointers, slices and strings can be cloned", t))
	}
	return v
}

// as is the value in v, which is a T.
func as[T any](v reflect.Value) (t T) {
	reflect.ValueOf(&t).Elem().Set(v)
	return t
}

// inArena says whether p lies in a chunk that an arena has.
func inArena(p unsafex.Ptr) bool {
	owner, known := ownerOf(unsafex.PtrAddr(p))
	return known && owner != 0
}

// ownerOf is the ID of the arena that has the memory at addr, 0 if it was one's and is no longer.
// It is not known if it is in no chunk.
func ownerOf(addr uintptr) (id uint64, known bool) {
	if c := index.find(addr); c != nil {
		return c.ownerID(), true
	}
	return debugOwnerOf(addr)
}

// Owns reports whether v, a pointer, a slice or a string, leads to a value in a. It panics if v is
// of another kind.
func (a *Arena) Owns(v any) bool {
	rv := reflect.ValueOf(v)
	if a != nil {
		a.check("Owns")
	}
	var p unsafex.Ptr
	switch rv.Kind() {
	case reflect.String:
		p = unsafex.StringData(rv.String())
	case reflect.Slice, reflect.Pointer, reflect.UnsafePointer:
		p = rv.UnsafePointer()
	default:
		panic(fmt.Errorf("arena: Owns of a %T: only pointers, slices and strings lead to values", v))
	}
	if a == nil || p == nil {
		return false
	}
	in, lock := a.lock("Owns")
	defer lock.unlock()
	return in.owns(p)
}

// owns says whether p leads to a value in a.
func (a *Arena) owns(p unsafex.Ptr) bool {
	c := index.find(unsafex.PtrAddr(p))
	if c == nil {
		owner, _ := debugOwnerOf(unsafex.PtrAddr(p))
		return owner == a.id
	}
	return c.owner.Load() == a.rec && unsafex.PtrAddr(p)-unsafex.PtrAddr(c.base) < c.used
}
