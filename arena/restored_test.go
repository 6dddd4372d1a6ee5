// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"reflect"
	"testing"
)

// manyBumps makes values of so many types that a map finds their bumps.
func manyBumps(a *Arena) {
	for i := range manyTypes + 1 {
		NewOf(a, reflect.ArrayOf(1+i, reflect.TypeFor[*int]()))
	}
}

// TestOverwrittenListOfTypes: the list of an arena's types is newer than an older copy that is written
// over the arena. Otherwise values of the type that it lacks would outlive Reset and Free.
func TestOverwrittenListOfTypes(t *testing.T) {
	chunked(t)
	for name, types := range map[string]func(*Arena){"few": func(*Arena) {}, "many": manyBumps} {
		a := NewArena()
		types(a)
		old := copyOf(a)
		typed := Of[node](a)
		reflect.ValueOf(a).Elem().Set(reflect.ValueOf(old).Elem())
		wantPanic(t, name+" types: New of a Typed", func() { typed.New() }, "arena: New on arena ", "older copy")
		wantPanic(t, name+" types: New", func() { New[node](a) }, "arena: New on arena ", "older copy")
		wantPanic(t, name+" types: Free", a.Free, "arena: Free on arena ", "older copy")
	}
}

// TestZeroedArena: an arena over which a zero one is written panics and says so, also in a Map.
func TestZeroedArena(t *testing.T) {
	a := NewArena()
	m := NewMap[string, int](a, 4)
	b := NewBuilder(a)
	reflect.ValueOf(a).Elem().SetZero()
	for name, f := range map[string]func(){
		"New":           func() { New[int](a) },
		"String":        func() { String(a, "text") },
		"Map.Set":       func() { m.Set("key", 1) },
		"Builder.Write": func() { _, _ = b.Write([]byte("text")) },
		"DeepClone":     func() { _, _ = DeepClone(a, []string{"text"}) },
	} {
		wantPanic(t, name, f, "arena: "+name+" on an Arena that no function of the package made")
	}
}
