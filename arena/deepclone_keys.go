// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
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
//     four units for each byte of the clone. A key that holds nothing twice never exceeds it.
//  2. It then hashes the key with the map's hash function and another seed, and counts the keys with equal hashes.
//     Go's hash ignores the types of values in interfaces, so that stale keys may have one hash under every seed.
//     Go's map compares a new key with all those of its hash; this is work, too. A table of the map holds 896
//     keys. If so many have one hash, the map doubles its directory until the table holds no other key, which
//     may exhaust the memory. So a hash may have half as many: only three hashes with a long common prefix
//     make the directory large.

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
	mostHashByte  = 4
	mostHashDepth = 1 << (17 + 3*(^uint(0)>>63)) // With some 100 to 200 bytes of stack for each.
	mostOfOneHash = 448                          // A table of Go's map has 1024 slots and fills 7 of 8; half of that.
)

// mostHashWork is for one key, and mostHashByte more for each byte of the clone. Tests that wait for it lower it.
var mostHashWork int64 = 1 << 24

// check checks the keys of a map of type m. If one cannot be hashed, it returns the key's index and the reason.
func (w *hashWork) check(m reflect.Type, keys reflect.Value) (k int, why string) {
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
			counts = newHashCounts(m, keys)
		}
		same := counts.add(k)
		if same > w.total/cost {
			return k, "it would take too long to compare it with the keys of equal hashes"
		}
		w.total -= same * cost
	}
	if counts != nil {
		if k, found := counts.tooMany(); found {
			return k, fmt.Sprintf("the hashes of more than %d keys are equal", mostOfOneHash)
		}
	}
	return 0, ""
}

// hashCounts counts the keys of a map by their hashes. Each hash has two counters, the lesser of which counts: few
// other hashes share one of them, and very few both.
type hashCounts struct {
	hash      func(key unsafex.Ptr, seed uintptr) uintptr
	seed      uintptr
	first     unsafex.Ptr // The first key.
	size      uintptr     // Of a key.
	n         int
	low, high []uint16
	often     map[uintptr]int // The hashes with more keys than mostOfOneHash, if no other hash shares their counters.
}

func newHashCounts(m reflect.Type, keys reflect.Value) *hashCounts {
	n := keys.Len()
	counters := 1 << bits.Len(uint(n))
	both := make([]uint16, 2*counters)
	return &hashCounts{
		hash: hasherOf(m), seed: uintptr(rand.Uint64()),
		first: keys.UnsafePointer(), size: m.Key().Size(), n: n,
		low: both[:counters], high: both[counters:],
	}
}

func (c *hashCounts) of(k int) uintptr {
	return c.hash(unsafex.Add(c.first, uintptr(k)*c.size), c.seed)
}

// add counts the key k, and returns how many keys with its hash there were before, or more.
func (c *hashCounts) add(k int) (before int64) {
	h := c.of(k)
	mask := uint(len(c.low) - 1)
	low, high := &c.low[uint(h)&mask], &c.high[bits.RotateLeft(uint(h), bits.UintSize/2)&mask]
	same := min(*low, *high)
	*low += min(1, math.MaxUint16-*low)
	*high += min(1, math.MaxUint16-*high)
	if same >= mostOfOneHash {
		if c.often == nil {
			c.often = make(map[uintptr]int)
		}
		c.often[h] = 0
	}
	return int64(same)
}

// tooMany finds a key whose hash more than mostOfOneHash keys have. It compares whole hashes, so that no map is refused
// because hashes share counters by chance.
func (c *hashCounts) tooMany() (k int, found bool) {
	if c.often == nil {
		return 0, false
	}
	for k := range c.n {
		h := c.of(k)
		if same, ok := c.often[h]; ok {
			if same == mostOfOneHash {
				return k, true
			}
			c.often[h] = same + 1
		}
	}
	return 0, false
}

// A descriptor is the beginning of the runtime's descriptor of a type (GC-15).
type descriptor struct {
	_     [2]uintptr // The sizes of the value and of its part with pointers.
	_     uint32
	flags uint8
	_     [3]uint8
	_     [2]uintptr // The function that compares, and the pointers' places.
	_     [2]int32
}

// A mapDescriptor is the beginning of the descriptor of a map type (GC-15).
type mapDescriptor struct {
	descriptor
	_    [3]uintptr // The types of key, element, and group or bucket.
	hash func(key unsafex.Ptr, seed uintptr) uintptr
}

// hasherOf is the function that hashes the keys of maps of type m.
func hasherOf(m reflect.Type) func(key unsafex.Ptr, seed uintptr) uintptr {
	return unsafex.As[mapDescriptor](reflect.ValueOf(m).UnsafePointer()).hash
}

// isRegular says whether Go hashes values of t by their bytes alone, in one run (GC-15).
func isRegular(t reflect.Type) bool {
	const regular = 1 << 3
	return unsafex.As[descriptor](reflect.ValueOf(t).UnsafePointer()).flags&regular != 0
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
// run, and all else field by field and element by element, also where these have no size.
func hashCost(t reflect.Type) (cost int64) {
	const most, part = 1 << 60, 32
	switch {
	case isRegular(t):
		return int64(t.Size())
	case t.Kind() == reflect.Array:
		cost = max(hashCost(t.Elem()), part)
		if int64(t.Len()) > most/cost {
			return most
		}
		return min(part+cost*int64(t.Len()), most)
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
