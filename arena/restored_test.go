// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"reflect"
	"testing"
)

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
