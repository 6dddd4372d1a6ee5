// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"hash/maphash"
	"math/bits"
	"reflect"
	"slices"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// Keys of maps that take too long to hash or to compare.
//
// A clone hashes the keys of the maps that it fills. To hash an interface, Go hashes the value in it, and so
// on. Such a value is complete before an interface can hold it, so this ends. But a stale value lies in memory
// that has been written anew. There a value in an interface may contain itself, or hold the next one twice, a
// hundred times over, or be an array of very many values without size. Then the hash does not end, or overflows
// the stack, which ends the process. So a clone checks the keys with interfaces before it fills the maps:
//
//  1. hashWork goes through all that Go's hash of the key does, and counts the work. The bound is a constant and
//     a unit for each byte of the clone. A key that holds nothing twice never exceeds it.
//  2. It then hashes the key with Go's hash and another seed, and counts the keys with equal hashes. Go's hash
//     ignores the types of values in interfaces, so that stale keys may have one hash under every seed. Go's map
//     compares a new key with all those of its hash; this is work, too. The map has no room for more than 896
//     keys of one hash: it would split its table until the memory is exhausted.

// hashWork is how much work the hashes and comparisons of keys may be yet: each value counts, and each 64 bytes of a
// string or an array.
type hashWork struct {
	total int64 // For all keys.
	most  int64 // For one key.
	left  int64 // For this one.
	depth int   // Values that are open.
	deep  bool  // This one is nested too deep.

	elem    reflect.Type // Of the last array.
	byValue bool         // hashedByValue of elem.
	cost    int64        // hashCost of elem.
}

// A unit takes some 5 to 10 ns.
const (
	mostHashTotal = 1 << 30 // For all keys of a value, and mostHashEach more for each.
	mostHashEach  = 1 << 8
	mostHashDepth = 1 << (17 + 3*(^uint(0)>>63)) // With some 100 to 200 bytes of stack for each.
	mostOfOneHash = 896                          // A table of Go's map has 1024 slots and fills 7 of 8.
)

// mostHashWork is for one key, and a unit more for each byte of the clone. Tests that wait for it lower it.
var mostHashWork int64 = 1 << 24

// check checks the keys of a map. If one cannot be hashed, it returns the key's index and the reason.
func (w *hashWork) check(keys reflect.Value) (k int, why string) {
	var counts *hashCounts
	n := keys.Len()
	for k := range n {
		before := w.total
		if why := w.ends(keys.Index(k)); why != "" {
			return k, why
		}
		cost := before - w.total
		if n == 1 || cost <= mostHashEach/int64(n) { // To compare it with all others is no more than its share.
			continue
		}
		if counts == nil {
			counts = newHashCounts(keys)
		}
		same := counts.add(k)
		if same >= mostOfOneHash {
			return k, fmt.Sprintf("the hashes of more than %d keys are equal", mostOfOneHash)
		}
		if same > w.total/cost {
			return k, "it would take too long to compare it with the keys of equal hashes"
		}
		w.total -= same * cost
	}
	return 0, ""
}

// hashCounts counts the keys of a map by their hashes. Each hash has two counters, the lesser of which counts: few
// other hashes share one of them, and very few both.
type hashCounts struct {
	keys      reflect.Value
	seed      maphash.Seed
	key       any // Shows a key that is no interface.
	low, high []uint16
}

func newHashCounts(keys reflect.Value) *hashCounts {
	size := 1 << bits.Len(uint(keys.Len()))
	counters := make([]uint16, 2*size)
	return &hashCounts{keys, maphash.MakeSeed(), reflect.Zero(keys.Type().Elem()).Interface(), counters[:size], counters[size:]}
}

// add counts keys[k], and returns how many keys with its hash there were before.
func (c *hashCounts) add(k int) (before int64) {
	key := c.keys.Index(k)
	if key.Kind() == reflect.Interface {
		c.key = key.Interface()
	} else { // Its Interface would be a copy. It is larger than a pointer, so an interface holds its address (GC-8).
		*unsafex.As[unsafex.Ptr](unsafex.Add(unsafex.PtrOf(&c.key), unsafex.Size[uintptr]())) = key.Addr().UnsafePointer()
	}
	h := maphash.Comparable(c.seed, c.key) // Go's hash, unless the build tag purego is set.
	mask := uint64(len(c.low) - 1)
	low, high := &c.low[h&mask], &c.high[h>>32&mask]
	before = int64(min(*low, *high))
	*low, *high = *low+1, *high+1
	return before
}

// ends returns "" if the hash of the key v ends in reasonable time, or else the reason why not.
func (w *hashWork) ends(v reflect.Value) (why string) {
	most := min(w.most, w.total)
	w.left, w.depth, w.deep = most, 0, false
	w.walk(v)
	w.total -= most - w.left
	switch {
	case w.left > 0:
		return ""
	case w.deep:
		return fmt.Sprintf("it is nested more than %d deep", mostHashDepth)
	}
	return "it would take too long to hash: the keys hold the same values very many times"
}

// walk counts the work of the hash of v. If that is too much, it returns with left at most 0 at once.
func (w *hashWork) walk(v reflect.Value) {
	w.deep = w.deep || w.depth == mostHashDepth
	if w.left--; w.left <= 0 || w.deep {
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

// hashCost is the work of the hash of a t that does not depend on the value, in 64ths. Go hashes regular memory in one
// run, and all else field by field and element by element.
func hashCost(t reflect.Type) (cost int64) {
	const most, part = 1 << 60, 32
	switch {
	case isRegular(t):
		return int64(t.Size())
	case t.Kind() == reflect.Array:
		cost = hashCost(t.Elem())
		if cost != 0 && int64(t.Len()) > most/cost {
			return most
		}
		return cost * int64(t.Len())
	case t.Kind() == reflect.Struct:
		cost = part
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" {
				cost = min(cost+part+hashCost(f.Type), most)
			}
		}
		return cost
	}
	return part + int64(t.Size())
}

// isRegular says whether Go hashes and compares values of t by their bytes alone.
func isRegular(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128, reflect.String, reflect.Interface:
		return false
	case reflect.Array:
		return t.Len() == 0 || isRegular(t.Elem())
	case reflect.Struct:
		end := uintptr(0)
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Name == "_" || f.Offset != end || !isRegular(f.Type) { // A gap is padding.
				return false
			}
			end += f.Type.Size()
		}
		return end == t.Size()
	}
	return true
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
