// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"reflect"
	"slices"
)

// Keys of maps that are hashed for ever.
//
// A clone hashes the keys of the maps that it fills. To hash an interface, Go hashes the value in it, and so
// on. Such a value is complete before an interface can hold it, so this ends. But a stale value lies in memory
// that others have written anew. There a value in an interface may contain itself, or hold the next one twice, a
// hundred times over, or be an array of very many values without size. Then the hash does not end, or overflows
// the stack, which ends the process. So a key with interfaces is hashed only after hashWork has gone through all
// that Go's hash does.

// hashWork is how much work the hashes of keys may be yet: each value counts, and each 64 bytes of a string or an
// array.
type hashWork struct {
	total int64 // For all keys.
	left  int64 // For this one.
	depth int   // Values that are open.

	elem    reflect.Type // Of the last array.
	byValue bool         // hashedByValue of elem.
	cost    int64        // hashCost of elem.
}

// A unit takes some 5 to 10 ns.
const (
	mostHashTotal = 1 << 30 // For all keys of a value, and mostHashEach more for each.
	mostHashEach  = 1 << 8
	mostHashDepth = 1 << (17 + 3*(^uint(0)>>63)) // With some 100 to 200 bytes of stack for each.
)

// mostHashWork is for one key, unless its type is larger. Tests that wait for it lower it.
var mostHashWork int64 = 1 << 24

// ends says whether the hash of the key v ends in reasonable time.
func (w *hashWork) ends(v reflect.Value) bool {
	most := min(max(mostHashWork, int64(v.Type().Size())), w.total)
	w.left, w.depth = most, 0
	w.walk(v)
	w.total -= most - w.left
	return w.left > 0
}

func (w *hashWork) walk(v reflect.Value) {
	if w.left--; w.left <= 0 || w.depth == mostHashDepth {
		w.left = 0
		return
	}
	w.depth++
	switch v.Kind() {
	case reflect.String:
		w.left -= int64(v.Len()) / 64
	case reflect.Interface:
		if !v.IsNil() {
			w.walk(v.Elem())
		}
	case reflect.Array:
		w.walkArray(v)
	case reflect.Struct:
		for i := range v.NumField() {
			w.walk(v.Field(i))
		}
	}
	w.depth--
}

func (w *hashWork) walkArray(v reflect.Value) {
	if e := v.Type().Elem(); e != w.elem {
		w.elem, w.byValue, w.cost = e, hashedByValue(e), hashCost(e)
	}
	n := int64(v.Len())
	switch {
	case n == 0 || !w.byValue && w.cost == 0:
	case !w.byValue && n > w.left*64/w.cost:
		w.left = 0
	case !w.byValue:
		w.left -= n * w.cost / 64
	default:
		for i := 0; i < v.Len() && w.left > 0; i++ {
			w.walk(v.Index(i))
		}
	}
}

// hashCost is the work of the hash of a t that does not depend on the value, in 64ths: its bytes, and more for the
// fields of a struct, which Go hashes one by one if they are no plain memory.
func hashCost(t reflect.Type) (cost int64) {
	const most = 1 << 30
	switch t.Kind() {
	case reflect.Array:
		cost = hashCost(t.Elem())
		if cost != 0 && int64(t.Len()) > most/cost {
			return most
		}
		return cost * int64(t.Len())
	case reflect.Struct:
		for i := range t.NumField() {
			cost = min(cost+64+hashCost(t.Field(i).Type), most)
		}
		return cost
	}
	return min(int64(t.Size()), most)
}

// holdsInterface says whether values of t have interfaces among their parts.
func holdsInterface(t reflect.Type) bool { return hasPart(t, reflect.Interface) }

// hashedByValue says whether the work of a hash of a t depends on the value.
func hashedByValue(t reflect.Type) bool { return hasPart(t, reflect.String, reflect.Interface) }

// hasPart says whether values of t are of one of the kinds, or have such values among their parts.
func hasPart(t reflect.Type, kinds ...reflect.Kind) bool {
	if slices.Contains(kinds, t.Kind()) {
		return true
	}
	switch t.Kind() {
	case reflect.Array:
		return t.Len() > 0 && hasPart(t.Elem(), kinds...)
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPart(t.Field(i).Type, kinds...) {
				return true
			}
		}
	}
	return false
}
