// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// An UnsafeMap is a *[Map] whose types are known only at run time, as a decoder has it: a reflect.Value
// of any pointer to a Map holds one. Keys and values are passed by their addresses. The caller vouches
// that these are the addresses of a K and a V.
type UnsafeMap interface {
	// UnsafeTypes returns K and V. The pointer may be nil.
	UnsafeTypes() (key, value reflect.Type)
	// UnsafeStart makes a zero Map an empty one in a, as [NewMap] does, with an error for lack of memory. It panics if the Map is not zero.
	// The Map must lie on the Go heap: it tells a stale use as long as nothing else lies where it is.
	UnsafeStart(a *Arena) error
	// UnsafeGet is [Map.Get]: it stores the value of a key if there is one, and says so.
	UnsafeGet(key, value unsafe.Pointer) bool
	// UnsafeSet is [Map.Set] that returns an error if there is no memory.
	UnsafeSet(key, value unsafe.Pointer) error
	// Len is [Map.Len].
	Len() int
}

// UnsafeTypes is for an [UnsafeMap].
func (m *Map[K, V]) UnsafeTypes() (key, value reflect.Type) {
	return reflect.TypeFor[K](), reflect.TypeFor[V]()
}

// UnsafeStart is for an [UnsafeMap].
func (m *Map[K, V]) UnsafeStart(a *Arena) error {
	if m.self != nil {
		panic(fmt.Errorf("arena: Map.UnsafeStart of a %T that was made before", m))
	}
	m.self = m
	return m.start("Map.UnsafeStart", a, 0)
}

// UnsafeGet is for an [UnsafeMap].
func (m *Map[K, V]) UnsafeGet(key, value unsafe.Pointer) bool {
	// SAFETY: the caller vouches for the types of both variables.
	v, ok := m.Get(*unsafex.As[K](key))
	if ok {
		*unsafex.As[V](value) = v
	}
	return ok
}

// UnsafeSet is for an [UnsafeMap].
func (m *Map[K, V]) UnsafeSet(key, value unsafe.Pointer) error {
	// SAFETY: as in UnsafeGet.
	return m.set("Map.UnsafeSet", *unsafex.As[K](key), *unsafex.As[V](value))
}
