// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"reflect"
)

// FieldPath names the place at an offset in a t, and says which type stands there: stop, or the
// innermost.
func FieldPath(t reflect.Type, offset uintptr, stop reflect.Type) (string, reflect.Type) {
	path := ""
	for t != stop || offset != 0 {
		switch t.Kind() {
		case reflect.Struct:
			f, ok := FieldAt(t, offset)
			if !ok {
				return path, t
			}
			path += "." + f.Name
			t, offset = f.Type, offset-f.Offset
		case reflect.Array:
			if t.Len() == 0 {
				return path, t
			}
			path += fmt.Sprintf("[%d]", offset/t.Elem().Size())
			t, offset = t.Elem(), offset%t.Elem().Size()
		default:
			return path, t
		}
	}
	return path, t
}

// Contains says whether n values of part in a row stand at an offset in a t.
func Contains(t reflect.Type, offset uintptr, part reflect.Type, n uintptr) bool {
	for {
		if offset == 0 && n == 1 && SameLayout(t, part) {
			return true
		}
		switch t.Kind() {
		case reflect.Struct:
			f, ok := FieldAt(t, offset)
			if !ok {
				return false
			}
			t, offset = f.Type, offset-f.Offset
		case reflect.Array:
			e := t.Elem()
			for e.Kind() == reflect.Array && e.Len() > 0 {
				e = e.Elem()
			}
			if SameLayout(e, part) && offset%part.Size() == 0 {
				return offset+n*part.Size() <= t.Size()
			}
			t, offset = t.Elem(), offset%t.Elem().Size()
		default:
			return false
		}
	}
}

// FieldAt is the field of a struct with the byte at offset.
func FieldAt(t reflect.Type, offset uintptr) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if f := t.Field(i); offset >= f.Offset && offset < f.Offset+f.Type.Size() {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// SameLayout says whether Go converts a pointer to the one to a pointer to the other.
func SameLayout(t, u reflect.Type) bool {
	return t == u || t.Size() == u.Size() && t.Kind() == u.Kind() && reflect.PointerTo(t).ConvertibleTo(reflect.PointerTo(u))
}
