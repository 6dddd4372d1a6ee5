// SPDX-License-Identifier: Apache-2.0

package arena

import "reflect"

// Keys of maps that are hashed for ever.
//
// A clone hashes the keys of the maps that it fills. To hash an interface, Go hashes the value in it, and so
// on. Such a value is complete before an interface can hold it, so this ends, and soon: a program that put the
// key into a map has hashed it. But a stale value lies in memory that others have written anew. There a value
// in an interface may contain itself, or hold the next one twice, a hundred times over, or be an array of very
// many values without size. Then the hash does not end, or overflows the stack, which ends the process. So a key
// with interfaces is hashed only after hashWork has gone through it, as Go's hash does.

// hashWork is how much work the hash of a key may be yet: each value counts, and each 64 bytes of a string or an
// array.
type hashWork struct {
	left  int
	depth int // Interfaces that are open.
}

const (
	mostHashTotal = 1 << 28 // For all keys of a value, and mostHashEach more for each.
	mostHashEach  = 1 << 8
	mostHashWork  = 1 << 22                      // For a key of a few bytes: about 20 ms.
	mostHashDepth = 1 << (16 + 2*(^uint(0)>>63)) // With 100 to 400 bytes of stack for each.
)

// hashEnds says whether the hash of the key v ends in reasonable time. total is what all keys may take yet.
func hashEnds(v reflect.Value, total *int64) bool {
	most := int(min(int64(max(mostHashWork, int(v.Type().Size()))), *total))
	w := hashWork{left: most}
	w.walk(v)
	*total -= int64(most - w.left)
	return w.left > 0
}

func (w *hashWork) walk(v reflect.Value) {
	w.left--
	if w.left <= 0 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		w.left -= v.Len() / 64
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		if w.depth++; w.depth > mostHashDepth {
			w.left = 0
			return
		}
		w.walk(v.Elem())
		w.depth--
	case reflect.Array:
		if v.Len() == 0 {
			return
		}
		if e := v.Type().Elem(); !hashedByValue(e) {
			w.spend(v.Len(), hashCost(e))
			return
		}
		for i := 0; i < v.Len() && w.left > 0; i++ {
			w.walk(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.walk(v.Field(i))
		}
	}
}

// spend takes n times the cost off what is left.
func (w *hashWork) spend(n, cost int) {
	if cost != 0 && n > w.left*64/cost {
		w.left = 0
		return
	}
	w.left -= n * cost / 64
}

// hashedByValue says whether the work of a hash of a t depends on the value.
func hashedByValue(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Interface:
		return true
	case reflect.Array:
		return t.Len() > 0 && hashedByValue(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hashedByValue(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

// hashCost is the work of the hash of a t that does not depend on the value, in 64ths: its bytes, and more for the
// fields of a struct, which Go hashes one by one if they are no plain memory.
func hashCost(t reflect.Type) int {
	const most = 1 << 30
	switch t.Kind() {
	case reflect.Array:
		if cost := hashCost(t.Elem()); cost != 0 && t.Len() > most/cost {
			return most
		} else {
			return cost * t.Len()
		}
	case reflect.Struct:
		cost := 0
		for i := range t.NumField() {
			cost += 64 + hashCost(t.Field(i).Type)
		}
		return min(cost, most)
	}
	return int(t.Size())
}

// holdsInterface says whether values of t have interfaces among their parts.
func holdsInterface(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Array:
		return t.Len() > 0 && holdsInterface(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if holdsInterface(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}
