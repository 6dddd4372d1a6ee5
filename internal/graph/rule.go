// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"reflect"
	"strings"
)

// DeclaredIn is the package that may name the unexported fields of the struct type t, or "" if t
// has none. It differs from t.PkgPath for a type like "type mine time.Timer".
func DeclaredIn(t reflect.Type) string {
	for i := range t.NumField() {
		if pkg := t.Field(i).PkgPath; pkg != "" {
			return pkg
		}
	}
	return ""
}

// FieldsOf is the key of a struct type in KnownTypes and RefusedTypes: the package that may name
// its unexported fields, and all fields with their types.
func FieldsOf(t reflect.Type) string {
	var b strings.Builder
	b.WriteString(DeclaredIn(t))
	b.WriteString(": ")
	for i := range t.NumField() {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(t.Field(i).Name)
		b.WriteString(" ")
		b.WriteString(t.Field(i).Type.String())
	}
	return b.String()
}

// DeclaresClone says whether the struct type t has the method UnsafeCloneFields, which returns a t.
// A type that embeds t also has the method, but does not pass, because the result is not of its
// type.
func DeclaresClone(t reflect.Type) bool {
	m, ok := reflect.PointerTo(t).MethodByName("UnsafeCloneFields")
	return ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 1 && m.Type.Out(0) == t
}
