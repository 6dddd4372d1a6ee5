// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"reflect"
	"testing"
	"unsafe"

	"github.com/freehold-go/freehold/offheap"
)

// TestUnsafeMap: a Map is made and filled by code that does not know its types.
func TestUnsafeMap(t *testing.T) {
	for _, a := range []*Arena{nil, Cleanup(t, NewArena()), Cleanup(t, NewShared())} {
		v := reflect.New(reflect.TypeFor[Map[string, *int]]())
		m := v.Interface().(UnsafeMap)
		if key, value := reflect.Zero(v.Type()).Interface().(UnsafeMap).UnsafeTypes(); key != reflect.TypeFor[string]() || value != reflect.TypeFor[*int]() {
			t.Errorf("types %v, %v", key, value)
		}
		wantPanic(t, "a zero Map", func() { m.Len() }, "NewMap")
		if err := m.UnsafeStart(a); err != nil {
			t.Fatal(err)
		}
		wantPanic(t, "twice", func() { _ = m.UnsafeStart(a) }, "made before")
		key, value, got := "k", new(int), (*int)(nil)
		if err := m.UnsafeSet(unsafe.Pointer(&key), unsafe.Pointer(&value)); err != nil {
			t.Fatal(err)
		}
		if !m.UnsafeGet(unsafe.Pointer(&key), unsafe.Pointer(&got)) || got != value || m.Len() != 1 {
			t.Errorf("%p, want %p; %d entries", got, value, m.Len())
		}
		key = "other"
		if m.UnsafeGet(unsafe.Pointer(&key), unsafe.Pointer(&got)) || got != value {
			t.Error("a key that is not there changes the variable")
		}
		typed := v.Interface().(*Map[string, *int])
		if p, ok := typed.Get("k"); p != value || !ok {
			t.Errorf("%p %t", p, ok)
		}
		if a != nil {
			a.Reset(Keep)
			wantPanic(t, "after Reset", func() { m.UnsafeGet(unsafe.Pointer(&key), unsafe.Pointer(&got)) }, "reset")
		}
	}
	small := Cleanup(t, NewWith(Options{Limit: 16 << 10}))
	v := reflect.New(reflect.TypeFor[Map[int, [520]uint64]]()).Interface().(UnsafeMap)
	err := v.UnsafeStart(small)
	key, value := 1, [520]uint64{}
	for ; key < 10 && err == nil; key++ {
		err = v.UnsafeSet(unsafe.Pointer(&key), unsafe.Pointer(&value))
	}
	if !errors.Is(err, offheap.ErrLimit) {
		t.Errorf("%v, want an error of the limit", err)
	}
}
