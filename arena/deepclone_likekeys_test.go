// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// texts are the keys of TestDeepCloneKeysOfTexts: pairs of texts at eight of 17 places, and empty strings between.
type texts [34]string

// staleTexts is a map of n keys that differ in where their texts are. The texts are stale and all the same now.
func staleTexts(n int) (m map[texts]int, ok bool) {
	a := NewArena()
	m = map[texts]int{}
	for range 3 { // Until all lie in one chunk.
		a.Reset(Keep)
		clear(m)
		for pattern := 0; len(m) < n; pattern++ {
			if bits.OnesCount(uint(pattern)) != 8 {
				continue
			}
			var key texts
			for place := range len(key) / 2 {
				if pattern>>place&1 != 0 {
					key[2*place], key[2*place+1] = String(a, fmt.Sprintf("%08x", pattern)), String(a, fmt.Sprintf("%08x", place))
				}
			}
			m[key] = pattern
		}
	}
	a.Reset(Keep)
	for range 64 * n {
		String(a, "xxxxxxxx")
	}
	for key := range m {
		if strings.Trim(strings.Join(key[:], ""), "x") != "" {
			return nil, false
		}
	}
	runtime.KeepAlive(a)
	return m, true
}

// TestDeepCloneKeysOfTexts: without the processor's AES two empty strings in a row leave a hash as it was. Keys of strings that
// differ in where their empty strings are have one hash if their texts are stale and equal, and Go's map cannot take very many.
func TestDeepCloneKeysOfTexts(t *testing.T) {
	const child = "FREEHOLD_TEST_TEXTS"
	if os.Getenv(child) == "" {
		if debugging() {
			t.Skip("the debug modes report the stale value")
		}
		exe, err := os.Executable()
		if err != nil {
			t.Skip(err)
		}
		cmd := exec.Command(exe, "-test.run=^TestDeepCloneKeysOfTexts$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1", "GODEBUG=cpu.aes=off")
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Skip(err) // No other process can be started here.
		}
		if err != nil || !strings.Contains(string(out), "PASS") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	for _, n := range []int{400, 700} { // At 897 keys the map would exhaust the memory.
		m, ok := staleTexts(n)
		if !ok {
			t.Skip("the arena does not use memory again")
		}
		hash, first := hasherOf(reflect.TypeFor[map[texts]int]()), uintptr(0)
		same := 0
		for key := range m {
			if h := hash(unsafex.PtrOf(&key), 7); first == 0 || h == first {
				first, same = h, same+1
			}
		}
		c, err := tryHeap(m)
		switch same {
		case n:
			if refused := n > mostOfOneHash; refused {
				wantRefusedKey(t, "texts", func() error { return err })
			} else if err != nil || len(c) != n {
				t.Errorf("%d keys of one hash: %d in the clone, %v", n, len(c), err)
			}
		default:
			if err != nil || len(c) != n {
				t.Errorf("%d keys: %d in the clone, %v", n, len(c), err)
			}
			t.Logf("%d of %d keys have one hash here", same, n)
		}
	}
}

// TestDeepCloneKeysOfLikeHashes: Go's map compares keys whose hashes have equal lower bits, and Go multiplies a hash by a constant
// for each zero. After 128 zeros the lower 14 bits are as before. Such keys, which are long to compare, are refused.
func TestDeepCloneKeysOfLikeHashes(t *testing.T) {
	if debugging() {
		t.Skip("the debug modes report the stale value")
	}
	var none, zeros [128]any
	for i := range zeros {
		zeros[i] = 0.0
	}
	hash := hasherOf(reflect.TypeFor[map[any]int]())
	if v, w := any(none), any(zeros); (hash(unsafex.PtrOf(&v), 7)^hash(unsafex.PtrOf(&w), 7))&(1<<14-1) != 0 {
		t.Skip("the hashes of this system differ in the lower bits")
	}
	const n, depth = 800, 12
	build := func(part func(key, i int) any) map[any]int {
		return staleTwins(t, Cleanup(t, NewArena()), n, depth, func(k int) any {
			var x [10]any
			for i := range x {
				x[i] = part(k, i)
			}
			return x
		})
	}
	like := build(func(key, i int) any {
		if key>>i&1 != 0 {
			return zeros
		}
		return none
	})
	if _, err := tryHeap(like); !errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), "like hashes") {
		t.Errorf("keys of like hashes: %v", err)
	}
	others := build(func(key, i int) any { return key * i })
	if c, err := tryHeap(others); err != nil || len(c) != n {
		t.Errorf("keys of other hashes: %d, %v", len(c), err)
	}
}

// TestDeepCloneKeysOfReflectsTypes: package reflect makes types that are compared element by element, also without size, and types whose
// hash ignores a blank field that the comparison does not. Go's map cannot take two such keys, or very many.
func TestDeepCloneKeysOfReflectsTypes(t *testing.T) {
	none := reflect.ArrayOf(1<<30+8, reflect.TypeFor[struct{}]())
	text, pointer := reflect.TypeFor[string](), reflect.TypeFor[*struct{}]()
	makeMap := func(first, second reflect.Type, name string, n int) any {
		key := reflect.StructOf([]reflect.StructField{{Name: "A", Type: first}, {Name: name, Type: second, PkgPath: pkgOf(name)}})
		m := reflect.MakeMap(reflect.MapOf(key, reflect.TypeFor[int]()))
		for i := range n {
			k := reflect.New(key).Elem()
			if first == text {
				k.Field(0).SetString(fmt.Sprint(i))
			}
			m.SetMapIndex(k, reflect.ValueOf(i))
		}
		return m.Interface()
	}
	for _, first := range []reflect.Type{text, reflect.TypeFor[int](), pointer} {
		if _, err := tryHeap(makeMap(first, none, "B", 1)); err != nil {
			t.Errorf("one key of %v and an array: %v", first, err)
		}
	}
	if _, err := tryHeap(makeMap(text, none, "B", 2)); !errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), "too long to compare") {
		t.Errorf("two keys: %v", err)
	}
	for key, want := range map[reflect.Type]keyCheck{
		text: unchecked, pointer: unchecked, reflect.TypeFor[[4]string](): counted, reflect.TypeFor[any](): walked,
		reflect.TypeFor[struct{ a, b int }](): unchecked, reflect.TypeFor[struct {
			a int
			s string
		}](): counted,
		reflect.TypeFor[struct{ a, _ int }](): counted, reflect.TypeFor[[2]struct{ e error }](): walked,
	} {
		if got := keyRuleOf(key).check; got != want {
			t.Errorf("the rule of %v is %d, want %d", key, got, want)
		}
	}
	_, large := keyRuleOf(reflect.ArrayOf(1<<20+8, reflect.TypeFor[uint8]())), mostHashWork
	if c := keyRuleOf(none).cost / 64; c <= large {
		t.Errorf("to compare two values of %v is %d units", none, c)
	}
}

func pkgOf(field string) string {
	if field == "_" {
		return "arena"
	}
	return ""
}

// TestEqualKeysAreOne: many keys that became equal do not hide others of one hash, and are not refused themselves.
func TestEqualKeysAreOne(t *testing.T) {
	a := Cleanup(t, NewArena())
	m := map[any]int{}
	for range 1000 {
		m[&New[struct {
			before int
			none   struct{}
			after  int
		}](a).none] = 1
	}
	if c, err := tryHeap(m); err != nil || len(m) != 1000 || len(c) != 1 && len(c) != 1000 { // The latter with FREEHOLD=heap.
		t.Errorf("%d pointers to values without size: %d, %v", len(m), len(c), err)
	}
	const copies, others = 400, 100
	keys := make([]any, 130*copies+others)
	for i := range keys {
		keys[i] = i % 130
	}
	counts := newHashCounts(reflect.TypeFor[map[any]int](), reflect.ValueOf(keys), true)
	hash := counts.hash
	counts.hash = func(key unsafex.Ptr, seed uintptr) uintptr {
		if i := int((unsafex.PtrAddr(key) - unsafex.PtrAddr(counts.first)) / counts.size); i >= 130*copies {
			return uintptr(i) << 14 // Other hashes with equal lower bits.
		}
		return hash(key, seed)
	}
	compared := int64(0)
	for k := range keys {
		if n := counts.compared(k); k >= 130*copies {
			compared += n
		}
	}
	if least := int64(others*(others-1)/2 - 3*others); compared < least {
		t.Errorf("%d comparisons of keys with like hashes, want %d", compared, least)
	}
}

// compared is with how many keys the key k counts as compared.
func (c *hashCounts) compared(k int) int64 {
	n := max(0, c.add(k))
	if n > 0 {
		if made, equal := c.meet(k); equal {
			return min(n, made)
		}
	}
	return n
}

// TestKeysByChance: of random keys few count as compared, however many there are, and they do not hide others of one hash.
func TestKeysByChance(t *testing.T) {
	const twins = 440
	for _, n := range []int{9, 100, 896, 897, 10_000, 200_000, 1 << 21} {
		keys := make([]int32, n+twins)
		for i := range keys {
			keys[i] = int32(i)
		}
		counts := newHashCounts(reflect.TypeFor[map[int32]int](), reflect.ValueOf(keys), true)
		hash := counts.hash
		counts.hash = func(key unsafex.Ptr, seed uintptr) uintptr {
			if int(*unsafex.As[int32](key)) >= n {
				return 12345
			}
			return hash(key, seed)
		}
		compared := int64(0)
		for k := range n {
			compared += counts.compared(k)
		}
		if compared > int64(n)/8+8 {
			t.Errorf("of %d keys %d are compared", n, compared)
		}
		compared = 0
		for k := range twins {
			compared += counts.compared(n + k)
		}
		if least := int64(twins*(twins-1)/2 - 3*twins); compared < least {
			t.Errorf("%d comparisons of keys of one hash behind %d others, want %d", compared, n, least)
		}
		if _, found := counts.tooMany(); found {
			t.Errorf("%d keys of one hash are too many", twins)
		}
	}
}

// TestKeysThatBecomeOne: keys that differ only in pointers to values without size are one in the clone, and each is compared once.
func TestKeysThatBecomeOne(t *testing.T) {
	type element struct {
		before int
		none   struct{}
		after  int
	}
	type texts struct {
		p *struct{}
		s string
	}
	type values struct {
		p *struct{}
		v any
	}
	const n = 2 * mostOfOneHash
	a := Cleanup(t, NewArena())
	byText, byValue := map[texts]int{}, map[values]int{}
	for i := range n {
		none := &New[element](a).none
		byText[texts{none, strings.Clone("a text")}] = i
		byValue[values{none, fmt.Sprint("a text")}] = i
	}
	if c, err := tryHeap(byText); err != nil || len(byText) != n || len(c) != 1 && len(c) != n { // The latter with FREEHOLD=heap.
		t.Errorf("%d keys with equal texts: %d, %v", len(byText), len(c), err)
	}
	if c, err := tryHeap(byValue); err != nil || len(byValue) != n || len(c) != 1 && len(c) != n {
		t.Errorf("%d keys with equal values: %d, %v", len(byValue), len(c), err)
	}
	byType := map[values]int{} // Two keys of one hash in the clone.
	for i := range n {
		byType[values{&New[element](a).none, int32(5)}], byType[values{&New[element](a).none, uint32(5)}] = i, i
	}
	for i := range mostOfOneHash - 2 { // Of another hash.
		byType[values{nil, numbers(i)}] = i
	}
	if c, err := tryHeap(byType); err != nil || len(byType) != 2*n+mostOfOneHash-2 || len(c) != mostOfOneHash && len(c) != len(byType) {
		t.Errorf("%d keys of two values: %d, %v", len(byType), len(c), err)
	}
	keys := make([]any, n)
	for i := range keys {
		keys[i] = fmt.Sprint("a text")
	}
	counts := newHashCounts(reflect.TypeFor[map[any]int](), reflect.ValueOf(keys), true)
	for k := range keys {
		if compared := counts.compared(k); compared > 1 {
			t.Fatalf("key %d is compared %d times", k, compared)
		}
	}
}

// TestDeepCloneTwoLargeKeys: two keys of an array type that the compiler made are cloned, whatever their size.
func TestDeepCloneTwoLargeKeys(t *testing.T) {
	defer func(most int64) { mostHashWork = most }(mostHashWork)
	mostHashWork = 1 << 10
	type cell struct {
		a uint32
		b uint8
	}
	type key [1 << 16]cell
	m := map[key]int{{}: 1, {5: {1, 2}}: 2}
	if c, err := tryHeap(m); err != nil || len(c) != 2 {
		t.Errorf("%d keys, %v", len(c), err)
	}
}

// TestKeysOfManyFields: a comparison of a struct with many fields takes much stack without optimization, so it counts more often.
func TestKeysOfManyFields(t *testing.T) {
	defer func(most int) { mostHashDepth = most }(mostHashDepth)
	mostHashDepth = 1000
	type wide [10]struct{ a, b, c, d, e, f, g, h any }
	type wider struct{ a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x any }
	deep := func(levels int, outer func(inner any) any) (chain any) {
		for range levels {
			chain = outer(chain)
		}
		return chain
	}
	for _, c := range []struct {
		name   string
		levels int // Values that count.
		outer  func(any) any
	}{
		{"24 fields", 5, func(inner any) any { return wider{a: inner} }},
		{"an array of 8 fields", 4, func(inner any) any { return wide{{a: inner}} }},
		{"two fields", 2, func(inner any) any { return doll{a: inner} }},
	} {
		for _, n := range []int{980 / c.levels, 1020 / c.levels} {
			w := hashWork{total: mostHashTotal, most: mostHashWork}
			key := deep(n, c.outer)
			if why := w.ends(reflect.ValueOf(&key).Elem()); (why == "") != (n*c.levels < mostHashDepth) {
				t.Errorf("%d values in each other with %s: %q", n, c.name, why)
			}
		}
	}
}

// TestWorkOfReflectsTypes: arrays that package reflect makes are compared element by element, also without size, and a hash of two
// types in turn works out each once.
func TestWorkOfReflectsTypes(t *testing.T) {
	array := func(n int, elem reflect.Type) reflect.Value { return reflect.New(reflect.ArrayOf(n, elem)).Elem() }
	none := reflect.TypeFor[struct{}]()
	for _, c := range []struct {
		key         reflect.Value
		least, most int64
	}{
		{reflect.ValueOf([1 << 20]uint8{}), 1 << 14, 1<<14 + 8},
		{array(1<<20+8, reflect.TypeFor[uint8]()), 1 << 19, 1<<19 + 16},
		{reflect.ValueOf([1 << 30]struct{}{}), 1, 8},
		{array(1<<18+8, none), 1 << 17, 1<<17 + 16},
		{array(1<<30+8, none), mostHashWork, mostHashWork},
	} {
		w := hashWork{total: mostHashTotal, most: mostHashWork}
		w.ends(c.key)
		if work := w.most - w.left; work < c.least || work > c.most {
			t.Errorf("%v: %d units, want %d to %d", c.key.Type(), work, c.least, c.most)
		}
	}
	turns := [100]any{}
	for i := range turns {
		turns[i] = [2]int{}
		if i%2 == 0 {
			turns[i] = [2]struct{ a, b float32 }{}
		}
	}
	w := hashWork{total: mostHashTotal, most: mostHashWork}
	if why := w.ends(reflect.ValueOf(turns)); why != "" || len(w.types) != 4 { // Any, int, the struct, and its fields.
		t.Errorf("%q; %d types", why, len(w.types))
	}
}
