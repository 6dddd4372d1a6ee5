// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"runtime"
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
//  2. It then hashes the key with the map's hash function and another seed, and counts the keys that Go's map
//     compares with each other; this is work, too.
//  3. Stale keys may have one hash under every seed. A table of the map holds 896 keys. If so many have one hash,
//     the map doubles its directory until the table holds no other key, which may exhaust the memory. So a hash
//     may have half as many: only three hashes with a long common prefix make the directory large.
//
// Why stale keys have equal hashes: Go's hash of an interface ignores the type of the value in it, without the processor's
// AES two empty strings in a row leave the hash as it was, and package reflect makes types whose hash ignores a field.
// Copies of pointers to values without size are equal, so they may make right keys equal, too.
//
// Maps of all types of keys are refused if a single comparison would take too long by the type alone.

// keyCheck is what is checked of the keys of a map.
type keyCheck uint8

const (
	unchecked keyCheck = iota
	counted            // Steps 2 and 3.
	walked             // All steps.
)

// A keyRule is what the type of a map's keys says.
type keyRule struct {
	check keyCheck
	cost  int64 // Of a comparison, in 64ths, but for what depends on the value.
}

func keyRuleOf(t reflect.Type) keyRule {
	var w hashWork
	r := keyRule{cost: w.costOf(t)}
	switch {
	case hasPart(t, reflect.Interface):
		r.check = walked
	case t.Kind() != reflect.String && hasPart(t, reflect.String) || hasBlank(t):
		r.check = counted
	}
	return r
}

// hashWork is how much work the hashes and comparisons of keys may be yet: each value counts, and each 64 bytes of a
// string or an array.
type hashWork struct {
	total int64 // For all keys.
	most  int64 // For one key.
	left  int64 // For this one.
	depth int   // Values that are open; see fieldsPerLevel.
	deep  bool  // This one is nested too deep.

	merged bool // Pointers to values without size have become one, so keys may have.

	elem  reflect.Type // Of the last array.
	last  typeWork     // Of elem.
	types map[reflect.Type]typeWork
}

// A typeWork is the work of the hash of a value of a type.
type typeWork struct {
	byValue bool  // It depends on the value.
	cost    int64 // The work that does not, in 64ths; see costOf.
}

// A unit takes some 5 to 10 ns.
const (
	mostHashTotal = 1 << 30 // For all keys of a value, and mostHashEach more for each.
	mostHashEach  = 1 << 8
	mostHashByte  = 4
	mostOfOneHash = tableKeys / 2
	tableKeys     = 896 // A table of Go's map has 1024 slots and fills 7 of 8.
	byChance      = 2   // Other keys in a counter; seldom more.
)

// mostHashDepth is how deep a key may be nested, with some 100 to 250 bytes of stack for each value. WebAssembly uses the
// stack of its host, often of 1 MB. A struct counts once more for each fieldsPerLevel fields: without optimization its comparison
// takes 32 bytes of stack for each.
var mostHashDepth = func() int {
	if runtime.GOARCH == "wasm" {
		return 1 << 11
	}
	return 1 << (17 + 3*(^uint(0)>>63))
}()

const fieldsPerLevel = 8

// mostHashWork is for one key, and mostHashByte more for each byte of the clone. Tests that wait for it lower it.
var mostHashWork int64 = 1 << 24

// check checks the keys of a map of type m. If one cannot be hashed, it returns the key's index and the reason.
func (w *hashWork) check(m reflect.Type, keys reflect.Value, rule keyRule) (k int, why string) {
	n, checks := keys.Len(), rule.check
	if n > 1 && rule.cost/64 > w.most {
		return 0, "it would take too long to compare it with another"
	}
	if checks == unchecked || checks == counted && n <= 8 { // A map of these has no table, and compares few keys.
		return 0, ""
	}
	var counts *hashCounts
	for k := range n {
		before := w.total
		if checks == walked {
			if why := w.ends(keys.Index(k)); why != "" {
				return k, why
			}
			if n == 1 || before-w.total <= mostHashEach/int64(n) { // To compare it with all others is no more than its share.
				continue
			}
		}
		if counts == nil {
			counts = newHashCounts(m, keys, w.merged)
		}
		compared := counts.add(k)
		if compared <= 0 {
			continue
		}
		if checks == counted {
			if why := w.ends(keys.Index(k)); why != "" {
				return k, why
			}
		}
		cost := before - w.total
		if compared > w.total/cost {
			return k, "it would take too long to compare it with the keys of like hashes"
		}
		if made, equal := counts.meet(k); equal {
			compared = min(compared, made)
		} else if counts.most > mostOfOneHash {
			return k, tooManyKeys
		}
		w.total -= compared * cost
	}
	if counts != nil {
		if k, found := counts.tooMany(); found {
			return k, tooManyKeys
		}
	}
	return 0, ""
}

var tooManyKeys = fmt.Sprintf("the hashes of more than %d keys are equal", mostOfOneHash)

// hashCounts counts with how many others Go's map compares each key: those of its table whose hashes have the same lower 7
// bits, if both lie in one group of 8, which the next 7 bits choose, or in groups that are searched in turn.
type hashCounts struct {
	hash  func(key unsafex.Ptr, seed uintptr) uintptr
	equal func(x, y unsafex.Ptr) bool // Nil if no keys have become equal.
	seed  uintptr
	first unsafex.Ptr // The first key.
	size  uintptr     // Of a key.
	n     int

	low      []uint16          // Keys by the lower 14 bits, or fewer if there are few groups.
	whole    []uint16          // Keys by the whole hash. By chance, a counter has one.
	distinct int64             // Counters of whole in use.
	like     map[uintptr][]int // The keys that meet has seen, by hash; of equal ones the first.
	most     int               // The most of these that a hash has.
}

func newHashCounts(m reflect.Type, keys reflect.Value, merged bool) *hashCounts {
	n := keys.Len()
	groups := min(bits.Len(uint(n)/7), 7) // Their number's logarithm: 7 of 8 slots of a table are used.
	c := &hashCounts{
		hash: hasherOf(m), seed: uintptr(rand.Uint64()),
		first: keys.UnsafePointer(), size: m.Key().Size(), n: n,
		low: make([]uint16, 1<<(7+groups)), whole: make([]uint16, 1<<bits.Len(uint(n))),
	}
	if merged {
		c.equal = descriptorOf(m.Key()).equal
	}
	return c
}

func (c *hashCounts) key(k int) unsafex.Ptr { return unsafex.Add(c.first, uintptr(k)*c.size) }

func (c *hashCounts) of(k int) uintptr { return c.hash(c.key(k), c.seed) }

// add counts the key k, and returns with how many keys Go's map may compare it, beyond what chance makes. If that is more than 0,
// meet is called next.
//
// The keys of a large map lie in tables, of which the upper bits of the hash choose one. So of the keys with the same lower
// bits a part by the number of tables counts, but all that have the whole hash.
func (c *hashCounts) add(k int) (compared int64) {
	h := c.of(k)
	low, whole := c.counters(h)
	same := max(int64(*whole), int64(*low)*tableKeys/max(tableKeys, c.distinct))
	if *whole == 0 {
		c.distinct++
	}
	*low += min(1, math.MaxUint16-*low)
	*whole += min(1, math.MaxUint16-*whole)
	return min(same, tableKeys) - byChance
}

func (c *hashCounts) counters(hash uintptr) (low, whole *uint16) {
	const mix = 0x9e3779b97f4a7c15 // 2^64 by the golden ratio.
	return &c.low[hash&uintptr(len(c.low)-1)], &c.whole[uint64(hash)*mix>>32&uint64(len(c.whole)-1)]
}

// meet compares the key k, which was added last, with those of its hash. If one is equal, Go's map has k already and looks no
// further: then meet takes k out again, and returns after how many comparisons. Else it returns false.
func (c *hashCounts) meet(k int) (compared int64, equal bool) {
	h := c.of(k)
	if i := c.find(k, c.like[h]); i >= 0 {
		low, whole := c.counters(h)
		*low--
		*whole--
		return int64(i + 1), true
	}
	if c.like == nil {
		c.like = make(map[uintptr][]int)
	}
	like := append(c.like[h], k)
	c.like[h] = like
	c.most = max(c.most, len(like))
	return 0, false
}

// find is the place of a key among others that is equal to the key k, or -1.
func (c *hashCounts) find(k int, among []int) int {
	if c.equal == nil { // To compare them would take as long as Go's map will.
		return -1
	}
	return slices.IndexFunc(among, func(other int) bool { return c.equal(c.key(k), c.key(other)) })
}

// tooMany finds a key whose hash more than mostOfOneHash other keys have. Equal keys are one. It goes through the keys again,
// because the first ones of a hash, which chance explains, did not meet others.
func (c *hashCounts) tooMany() (k int, found bool) {
	const least = mostOfOneHash - byChance
	if c.most < least {
		return 0, false
	}
	all := make(map[uintptr][]int)
	for h, keys := range c.like {
		if len(keys) >= least {
			all[h] = nil
		}
	}
	for k := range c.n {
		h := c.of(k)
		keys, ok := all[h]
		if !ok || c.find(k, keys) >= 0 {
			continue
		}
		if len(keys) == mostOfOneHash {
			return k, true
		}
		all[h] = append(keys, k)
	}
	return 0, false
}

// A descriptor is the beginning of the runtime's descriptor of a type (GC-15).
type descriptor struct {
	_     [2]uintptr // The sizes of the value and of its part with pointers.
	_     uint32
	flags uint8
	_     [3]uint8
	equal func(x, y unsafex.Ptr) bool
	_     uintptr // The pointers' places.
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

func descriptorOf(t reflect.Type) *descriptor {
	return unsafex.As[descriptor](reflect.ValueOf(t).UnsafePointer())
}

// isRegular says whether Go hashes and compares values of t by their bytes alone, in one run (GC-15). Types that package
// reflect made are hashed so, but compared by element and by field.
func isRegular(t reflect.Type) bool {
	const regular = 1 << 3
	d := descriptorOf(t)
	return d.flags&regular != 0 && d.equal != nil && slices.Contains(comparisons, d.code())
}

// comparisons are the codes that compare the bytes of values, one for each of some sizes and one for all others.
var comparisons = []uintptr{
	comparisonOf[struct{}](), comparisonOf[uint8](), comparisonOf[uint16](), comparisonOf[uint32](), comparisonOf[uint64](),
	comparisonOf[[2]uint64](), comparisonOf[[3]uint8](),
}

func comparisonOf[T any]() uintptr { return descriptorOf(reflect.TypeFor[T]()).code() }

// code is that of the function that compares. A function is a pointer to a word with the address of its code.
func (d *descriptor) code() uintptr { return **unsafex.As[*uintptr](unsafex.PtrOf(&d.equal)) }

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
	return "it would take too long to hash: the keys hold the same values, or values without size, very many times"
}

// walk counts the work of the hash of v. If that is too much, it returns with left at most 0 at once.
func (w *hashWork) walk(v reflect.Value) {
	w.deep = w.deep || w.depth >= mostHashDepth
	if w.left--; w.left <= 0 || w.deep {
		w.left = 0
		return
	}
	depth := 1
	if v.Kind() == reflect.Struct {
		depth += v.NumField() / fieldsPerLevel
	}
	w.depth += depth
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
	w.depth -= depth
}

func (w *hashWork) walkArray(v reflect.Value) {
	t := v.Type()
	if e := t.Elem(); e != w.elem {
		w.elem, w.last = e, w.of(e)
	}
	n, cost := int64(v.Len()), w.last.cost
	if !w.last.byValue {
		if isRegular(t) {
			n, cost = 1, int64(t.Size())
		}
		cost = max(cost, leastCost)
	}
	switch {
	case n == 0:
	case !w.last.byValue && n > w.left*64/cost:
		w.left = 0
	case !w.last.byValue:
		w.left -= n * cost / 64
	default:
		for i := 0; i < v.Len() && w.left > 0; i++ {
			w.walk(v.Index(i))
		}
	}
}

// leastCost is the work of the hash or comparison of one value, in 64ths.
const leastCost = 32

// of is the work of the hash of values of t. It is remembered: a struct may have a type in very many places.
func (w *hashWork) of(t reflect.Type) typeWork {
	if work, ok := w.types[t]; ok {
		return work
	}
	work := typeWork{byValue: hasPart(t, reflect.String, reflect.Interface), cost: w.costOf(t)}
	if w.types == nil {
		w.types = make(map[reflect.Type]typeWork)
	}
	w.types[t] = work
	return work
}

// costOf is the work of the hash, or of a comparison if that is more, of a t that does not depend on the value, in 64ths.
// Go does it in one run for regular memory, and for all else field by field and element by element, also where these have
// no size.
func (w *hashWork) costOf(t reflect.Type) (cost int64) {
	const most = 1 << 60
	switch {
	case isRegular(t):
		return int64(t.Size())
	case t.Kind() == reflect.Array:
		cost = max(w.of(t.Elem()).cost, leastCost)
		if int64(t.Len()) > most/cost {
			return most
		}
		return min(leastCost+cost*int64(t.Len()), most)
	case t.Kind() == reflect.Struct:
		cost = leastCost
		for i := range t.NumField() {
			cost = min(cost+leastCost+w.of(t.Field(i).Type).cost, most)
		}
		return cost
	}
	return leastCost + int64(t.Size())
}

// hasPart says whether values of t are of one of the kinds, or have such values among their parts.
func hasPart(t reflect.Type, kinds ...reflect.Kind) bool {
	return anyPart(t, func(part reflect.Type) bool { return slices.Contains(kinds, part.Kind()) })
}

// hasBlank says whether a struct among the parts of a t has a blank field.
func hasBlank(t reflect.Type) bool {
	return anyPart(t, func(part reflect.Type) bool {
		if part.Kind() == reflect.Struct {
			for i := range part.NumField() {
				if part.Field(i).Name == "_" {
					return true
				}
			}
		}
		return false
	})
}

// anyPart says whether is is true of t or a part of it. It leaves out what has no size, which may be a very large tree.
func anyPart(t reflect.Type, is func(reflect.Type) bool) bool {
	switch {
	case t.Size() == 0:
		return false
	case is(t):
		return true
	}
	switch t.Kind() {
	case reflect.Array:
		return anyPart(t.Elem(), is)
	case reflect.Struct:
		for i := range t.NumField() {
			if anyPart(t.Field(i).Type, is) {
				return true
			}
		}
	}
	return false
}
