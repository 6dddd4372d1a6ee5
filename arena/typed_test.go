// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"reflect"
	"testing"
)

// TestTypedKeepsItsType: Go converts a Typed to none of another type. The other's values would lie in
// the chunks of the first: integers where the collector and stale values have pointers.
func TestTypedKeepsItsType(t *testing.T) {
	if reflect.TypeFor[Typed[string]]().ConvertibleTo(reflect.TypeFor[Typed[[2]uintptr]]()) {
		t.Error("Typed[[2]uintptr](Of[string](a)) compiles")
	}
}
