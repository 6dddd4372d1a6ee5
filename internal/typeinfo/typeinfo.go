// SPDX-License-Identifier: Apache-2.0

// Package typeinfo has the facts that freehold needs about a type before it keeps values of it in
// memory that the collector does not scan: whether it holds Go pointers, and in which field, and
// whether it holds bools.
package typeinfo

import (
	"fmt"
	"reflect"
	"unsafe"
)

// Info is what [Describe] finds in a type.
type Info struct {
	Type reflect.Type
	// PointerPath names the first field through which a value holds a Go pointer, for example
	// "node.next: *node"; it is empty if there is none. Pointers inside a struct that carries the
	// marker do not count.
	PointerPath string
	// PointerType is the type of that field, or nil.
	PointerType reflect.Type
	// Bools says that a value holds a bool. Go code trusts a bool's byte to be 0 or 1 and indexes
	// with it unchecked, so that such a type must never share memory with another.
	Bools bool
	// SelfContained says that the type, or a part of it, carries the marker.
	SelfContained bool
}

// Key identifies T by the address of the type descriptor of *T. It costs one load. Two keys of
// one type may differ between plugins; equal keys always mean the same type.
func Key[T any]() uintptr {
	v := any((*T)(nil))
	// SAFETY: an empty interface is two words, the first of which points to the type (GC-1).
	// Type descriptors of generic instances live in read-only data, or, made by package reflect,
	// are kept alive by it for ever, so that an address is never reused.
	return *(*uintptr)(unsafe.Pointer(&v))
}

// KeyOf is Key for a type that is known at run time only.
func KeyOf(t reflect.Type) uintptr {
	v := reflect.Zero(reflect.PointerTo(t)).Interface()
	// SAFETY: as in Key; the interface holds a nil *T.
	return *(*uintptr)(unsafe.Pointer(&v))
}

// Nil is a nil *T in an interface, for the T of that key: a type assertion on it compares types for less
// than Key costs.
func Nil(key uintptr) any {
	words := [2]uintptr{key, 0}
	// SAFETY: as in Key, and the second word of an interface that holds a nil pointer is zero.
	return *(*any)(unsafe.Pointer(&words))
}

// Describe walks t. A struct with a field of type marker promises that its pointers lead only to
// memory outside the Go heap; a nil marker is on no type. It is meant to be called once a type.
func Describe(t, marker reflect.Type) Info {
	info := Info{Type: t}
	walk(t, marker, t.String(), &info)
	return info
}

func walk(t, marker reflect.Type, path string, info *Info) {
	switch t.Kind() {
	case reflect.Bool:
		info.Bools = true
	case reflect.Array:
		if t.Len() > 0 {
			walk(t.Elem(), marker, path+"[0]", info)
		}
	case reflect.Struct:
		walkStruct(t, marker, path, info)
	case reflect.Chan, reflect.Func, reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice,
		reflect.String, reflect.UnsafePointer:
		if info.PointerPath == "" {
			info.PointerPath = fmt.Sprintf("%s: %s", path, t)
			if path == t.String() {
				info.PointerPath = path + " itself"
			}
			info.PointerType = t
		}
	}
}

func walkStruct(t, marker reflect.Type, path string, info *Info) {
	part := Info{PointerPath: info.PointerPath, PointerType: info.PointerType}
	marked := false
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type == marker {
			marked = true
			continue
		}
		walk(f.Type, marker, path+"."+f.Name, &part)
	}
	if marked {
		info.SelfContained = true
	} else {
		info.PointerPath, info.PointerType = part.PointerPath, part.PointerType
	}
	info.Bools = info.Bools || part.Bools
	info.SelfContained = info.SelfContained || part.SelfContained
}
