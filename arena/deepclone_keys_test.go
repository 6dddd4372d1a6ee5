// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// doll is a value that may stand in an interface and holds others by value.
type doll struct {
	n    int
	name *string
	a, b any
}

// holdsMap leads to a map with values in interfaces as keys, and with an interior pointer, which only the long way copies.
type holdsMap struct {
	m     map[any]int
	row   [2]int
	inner *int
}

// staleDolls are n values in interfaces and the dolls that have their memory after end, in the same order. use is called
// before end. ok says that the arena uses memory again.
func staleDolls(a *Arena, n int, use func([]any), end func()) (old []any, dolls []*doll, ok bool) {
	old, dolls = make([]any, n), make([]*doll, n)
	for range 3 { // Until all lie in one chunk.
		end()
		for i := range old {
			old[i] = DeepClone[any](a, doll{n: i})
		}
	}
	use(old)
	end()
	for i := range dolls {
		dolls[i] = New[doll](a)
		dolls[i].n = -1
	}
	return old, dolls, old[0].(doll).n == -1 && old[n-1].(doll).n == -1
}

// wantRefusedKey wants a clone to be refused because of the key of a map.
func wantRefusedKey(t *testing.T, what string, clone func() error) {
	t.Helper()
	if err := clone(); !errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), " key of type ") || !strings.Contains(err.Error(), "was reset or freed") {
		t.Errorf("%s: error %v, want ErrUncloneable with the path of a key", what, err)
	}
}

// TestDeepCloneStaleKeys: stale values in interfaces are keys of a map. They contain themselves, or hold each other in so
// many ways, or so many values, that their hash never ends. DeepClone and Heap refuse them.
func TestDeepCloneStaleKeys(t *testing.T) {
	if debugging() {
		t.Skip("the debug modes report the stale value")
	}
	defer func(old int64) { mostHashWork = old }(mostHashWork)
	mostHashWork = 1 << 18
	text := strings.Repeat("s", 1<<20)
	links := map[string]func(i int, d *doll, all []any){
		"itself":      func(i int, d *doll, all []any) { d.a = all[i] },
		"each other":  func(i int, d *doll, all []any) { d.b = all[(i+1)%len(all)] },
		"in an array": func(i int, d *doll, all []any) { d.a = [6]any{3: all[i]} },
		"twice": func(i int, d *doll, all []any) {
			if i+1 < len(all) {
				d.a, d.b = all[i+1], all[i+1]
			}
		},
		"a text, often": func(i int, d *doll, all []any) {
			if i < 16 {
				d.a, d.b = all[i+1], all[i+1]
			} else {
				d.a = text
			}
		},
		"values without size": func(_ int, d *doll, _ []any) { d.a = [1 << (30 + 10*(wordSize/8))]struct{ _ struct{} }{} },
	}
	for name, link := range links {
		for _, long := range []bool{false, true} {
			a, start := NewArena(), Checkpoint{}
			v := &holdsMap{m: map[any]int{}}
			if long {
				v.inner = &v.row[1]
			}
			for how, end := range map[string]func(){
				"Reset":  func() { a.Reset(Keep); start = a.Checkpoint() },
				"Rewind": func() { a.Rewind(start) },
			} {
				if long && how == "Rewind" {
					continue
				}
				a.Reset(Keep)
				start = a.Checkpoint()
				old, dolls, ok := staleDolls(a, 64, func(old []any) { clear(v.m); v.m[old[0]] = 1 }, end)
				if !ok { // The arena does not use memory again.
					continue
				}
				for i, d := range dolls {
					link(i, d, old)
				}
				other := NewArena()
				what := fmt.Sprintf("%s by %s, long way %v", name, how, long)
				wantRefusedKey(t, what+", Heap", func() error { return caught(func() { Heap(v) }).(error) })
				wantRefusedKey(t, what+", Heap that shares the values", func() error {
					_, err := tryHeap(v, CloneOptions{Share: []reflect.Type{reflect.TypeFor[doll]()}})
					return err
				})
				wantRefusedKey(t, what+", DeepClone", func() error { _, err := tryDeepClone(other, v); return err })
				wantRefusedKey(t, what+", in the same arena", func() error { return caught(func() { DeepClone(a, v) }).(error) })
				if n := other.Stats().InUse; n != 0 {
					t.Errorf("%s: %d bytes of the failed clone are in use", what, n)
				}
				other.Free()
				for i := range dolls {
					*dolls[i] = doll{}
				}
			}
			a.Free()
		}
	}
}

// TestDeepCloneKeysAfterStaleWrites: stale pointers write to memory that is free. The copy of a key that holds nothing gets
// that memory.
func TestDeepCloneKeysAfterStaleWrites(t *testing.T) {
	if debugging() {
		t.Skip("the debug modes report the stale value")
	}
	a := NewArena()
	defer a.Free()
	old, dolls, ok := staleDolls(a, 64, func([]any) {}, func() { a.Reset(Keep) })
	if !ok {
		t.Skip("the arena does not use memory again")
	}
	a.Reset(Keep)
	for i, d := range dolls {
		d.a = old[i]
	}
	defer func() { recover() }() // The clone's key holds what the stale pointers wrote, or not. Both is right.
	DeepClone(a, map[any]int{doll{n: 7}: 1})
}

// TestDeepCloneNested: values in interfaces that hold others are cloned, also where one is held in very many ways.
func TestDeepCloneNested(t *testing.T) {
	name := "innermost"
	var chain, twice any = doll{name: &name}, doll{name: &name}
	for i := range 1000 {
		chain = doll{a: chain, n: i}
		if i < 60 {
			twice = [2]doll{{a: twice, b: twice}, {}}
		}
	}
	type row struct {
		m    map[any]string
		keys map[doll]int
		all  []any
		row  [2]int
		p    *int
	}
	for _, long := range []bool{false, true} {
		v := &row{m: map[any]string{chain: "chain", [2]any{1, chain}: "array"}, keys: map[doll]int{{a: chain}: 7}, all: []any{twice, twice, chain}}
		if long {
			v.p = &v.row[1]
		}
		a := NewArena()
		for where, c := range map[string]*row{"Heap": Heap(v), "DeepClone": DeepClone(a, v)} {
			if len(c.m) != 2 || len(c.keys) != 1 || len(c.all) != 3 || c.m[c.all[2]] != "chain" || c.keys[doll{a: c.all[2]}] != 7 {
				t.Errorf("%s: %d entries, %d, %d values; the chain is not the key that it is in the original", where, len(c.m), len(c.keys), len(c.all))
			}
			at := c.all[0]
			for range 60 {
				at = at.([2]doll)[0].b
			}
			if got := at.(doll).name; *got != name || got == &name {
				t.Errorf("%s: the innermost value of those held twice is %q", where, *got)
			}
			if in, ok := c.all[2].(doll); !ok || reflect.TypeOf(in.a) != reflect.TypeFor[doll]() || in.n != 999 {
				t.Errorf("%s: the chain begins with %v", where, in.n)
			}
		}
		a.Free()
	}
}

// TestHashWork: what a hash does is counted, for large types without overflow, and no key of a program is refused.
func TestHashWork(t *testing.T) {
	type pair struct{ x, y int }
	type padded struct {
		a any
		p [33 << 20]byte
	}
	type blank struct{ _ struct{} }
	noFloats := reflect.ArrayOf(0, reflect.TypeFor[float64]())
	emptyFields := reflect.StructOf([]reflect.StructField{{Name: "X", Type: noFloats}, {Name: "Y", Type: noFloats}})
	zero := func(n int, elem reflect.Type) any { return reflect.New(reflect.ArrayOf(n, elem)).Elem().Interface() }
	for name, c := range map[string]struct {
		key  any
		ends bool
	}{
		"a number":                 {1, true},
		"a long text":              {strings.Repeat("s", 1<<20), true},
		"many values":              {[1 << 20]any{1, 2}, true},
		"many structs":             {[1 << 16]pair{}, true},
		"a large array":            {new(padded).p, true},
		"beside a large array":     {padded{a: 1}, true},
		"many values of no size":   {[1 << 30]struct{}{}, true},
		"and of fields":            {[1 << 30]blank{}, false},
		"and of more fields":       {[2]struct{ a, b, c, d [1 << 25]blank }{}, false},
		"and of reflect's arrays":  {zero(1<<30, noFloats), false}, // Compared one by one.
		"and of those in a struct": {zero(1<<30, emptyFields), false},
	} {
		w := hashWork{total: mostHashTotal, most: mostHashWork}
		if got := w.ends(reflect.ValueOf(&c.key).Elem()) == ""; got != c.ends {
			t.Errorf("the hash of %s ends: %v, want %v; %d left", name, got, c.ends, w.left)
		}
	}
	var deep any
	for range min(1<<15, mostHashDepth/4) {
		deep = doll{a: deep}
	}
	w := hashWork{total: mostHashTotal, most: mostHashWork}
	if w.ends(reflect.ValueOf(&deep).Elem()) != "" {
		t.Error("a long chain of values in interfaces is refused")
	}
}

// TestHashCost: the work of the hash depends on whether the runtime hashes values of the type in one run.
func TestHashCost(t *testing.T) {
	for name, elem := range map[string]reflect.Type{
		"made by reflect": reflect.StructOf([]reflect.StructField{{Name: "X", Type: reflect.TypeFor[uint8](), Tag: "x"}, {Name: "Y", Type: reflect.TypeFor[uint8]()}}),
		"of the compiler": reflect.TypeFor[struct{ x, y uint8 }](),
		"with padding": reflect.TypeFor[struct {
			x uint8
			y uint16
		}](),
	} {
		for _, n := range []int{1, 1 << 10, 1 << 16} {
			w := hashWork{total: mostHashTotal, most: mostHashWork}
			w.ends(reflect.New(reflect.ArrayOf(n, elem)).Elem())
			work, least := w.most-w.left, int64(n)/2 // Half a unit for each element.
			if work < least || work > 4*least+4 {
				t.Errorf("%d structs %s: %d units, want %d; regular: %v", n, name, work, least, isRegular(elem))
			}
		}
	}
}

// TestHasherOf keeps GC-15: hasherOf finds the function by which maps hash their keys.
func TestHasherOf(t *testing.T) {
	type named map[any]bool
	type row struct {
		a any
		n int
	}
	text := func() string { return strings.Repeat("text ", 20) }
	seeds := []uintptr{0, 1, 12345, ^uintptr(0)}
	for _, seed := range seeds {
		anys := hasherOf(reflect.TypeFor[map[any]int]())
		of := func(v any) uintptr { return anys(unsafex.PtrOf(&v), seed) }
		for _, same := range [][2]any{
			{int(5), uint(5)}, {text(), text()}, {5.0, 5.0}, {math.Copysign(0, -1), 0.0}, {nil, nil},
			{row{text(), 1}, row{text(), 1}}, {[2]any{1, text()}, [2]any{1, text()}}, {row{int(5), 1}, row{uint(5), 1}},
		} {
			if of(same[0]) != of(same[1]) {
				t.Errorf("seed %x: %v and %v have the hashes %x and %x", seed, same[0], same[1], of(same[0]), of(same[1]))
			}
		}
		for _, m := range []reflect.Type{reflect.TypeFor[named](), reflect.MapOf(reflect.TypeFor[any](), reflect.TypeFor[[3]string]())} {
			if v := any(text()); hasherOf(m)(unsafex.PtrOf(&v), seed) != of(v) {
				t.Errorf("seed %x: %v has another hash", seed, m)
			}
		}
		texts, rows := hasherOf(reflect.TypeFor[map[string]int]()), hasherOf(reflect.TypeFor[map[row]row]())
		made := hasherOf(reflect.MapOf(reflect.TypeFor[row](), reflect.TypeFor[uint16]()))
		seen := map[uintptr]bool{}
		for i := range 20 {
			s := fmt.Sprint(text(), i)
			r, again := row{strings.Clone(s), i}, row{s, i}
			h := rows(unsafex.PtrOf(&r), seed)
			if h != rows(unsafex.PtrOf(&again), seed) || made(unsafex.PtrOf(&r), seed) != made(unsafex.PtrOf(&again), seed) {
				t.Errorf("seed %x: %v has two hashes", seed, r)
			}
			seen[h], seen[texts(unsafex.PtrOf(&s), seed)], seen[of(i)] = true, true, true
		}
		if len(seen) < 58 {
			t.Errorf("seed %x: 60 keys have %d hashes", seed, len(seen))
		}
	}
	v := any(text())
	if h := hasherOf(reflect.TypeFor[map[any]int]()); h(unsafex.PtrOf(&v), seeds[0]) == h(unsafex.PtrOf(&v), seeds[2]) {
		t.Error("the hash ignores the seed")
	}
}

// TestIsRegular keeps GC-15: isRegular reads the runtime's flag, and knows the functions that compare bytes.
func TestIsRegular(t *testing.T) {
	type padded struct {
		a int8
		b int16
	}
	for _, v := range []any{1, uint8(1), [4]int{}, struct{ a, b int32 }{}, true, new(int), [2]struct{ a, b *int }{}, uintptr(1), struct{}{}} {
		if !isRegular(reflect.TypeOf(v)) {
			t.Errorf("a %T is not regular", v)
		}
	}
	for _, v := range []any{"", 1.0, [2]float32{}, 1i, padded{}, [2]padded{}, struct{ a, _ bool }{}, struct{ a any }{}, [1]error{}} {
		if isRegular(reflect.TypeOf(v)) {
			t.Errorf("a %T is regular", v)
		}
	}
	if isRegular(reflect.TypeFor[any]()) || isRegular(reflect.ArrayOf(3, reflect.TypeFor[any]())) {
		t.Error("an interface is regular")
	}
	if isRegular(reflect.ArrayOf(1031, reflect.TypeFor[uint8]())) || isRegular(reflect.ArrayOf(1031, reflect.TypeFor[struct{}]())) {
		t.Error("an array that package reflect made is compared in one run")
	}
}

// numbers are values that differ from those of each other pattern, with equal hashes: Go's hash of an interface ignores
// the type of the value.
func numbers(pattern int) (x [24]any) {
	for i := range x {
		x[i] = int(5)
		if pattern>>i&1 != 0 {
			x[i] = uint(5)
		}
	}
	return x
}

// staleTwins is a map with n stale keys, of which key k differs from the others in part(k). To hash or compare them takes
// some 2^depth steps.
func staleTwins(t *testing.T, a *Arena, n, depth int, part func(k int) any) map[any]int {
	m := map[any]int{}
	old, dolls, ok := staleDolls(a, n+depth+1, func(old []any) {
		for i, k := range old[:n] {
			m[k] = i
		}
	}, func() { a.Reset(Keep) })
	if !ok {
		t.Skip("the arena does not use memory again")
	}
	chain, links := old[n:], dolls[n:]
	for i := range depth {
		links[i].a, links[i].b = chain[i+1], chain[i+1]
	}
	for k, d := range dolls[:n] {
		d.a, d.b = chain[0], part(k)
	}
	return m
}

// TestDeepCloneKeysOfOneHash: a table of Go's map has room for 896 keys, and takes very long to fill if keys with equal
// hashes are long to compare. The clone refuses maps with more than 448 such keys, and leaves the destination as it was.
func TestDeepCloneKeysOfOneHash(t *testing.T) {
	if debugging() {
		t.Skip("the debug modes report the stale value")
	}
	for _, c := range []struct {
		n, depth int
		ok       bool
	}{{448, 0, true}, {449, 0, false}, {897, 0, false}, {1024, 0, false}, {200, 4, true}, {1 << 8, 12, false}} {
		t.Run(fmt.Sprint(c.n, " keys, depth ", c.depth), func(t *testing.T) {
			source := Cleanup(t, NewArena())
			m := staleTwins(t, source, c.n, c.depth, func(k int) any { return numbers(k) })
			for where, a := range map[string]*Arena{"Heap": nil, "an arena": Cleanup(t, NewArena()), "shared": Cleanup(t, NewShared())} {
				kept := DeepClone(a, []*string{new(string)})
				before := a.Stats()
				got, err := tryDeepClone(a, m)
				if c.ok {
					if err != nil || len(got) != c.n {
						t.Errorf("%s: %d keys, %v", where, len(got), err)
					}
					continue
				}
				wantRefusedKey(t, where, func() error { return err })
				if after := a.Stats(); got != nil || after.InUse != before.InUse {
					t.Errorf("%s: a map of %d; stats %+v before, %+v after", where, len(got), before, after)
				}
				if again := DeepClone(a, kept); *again[0] != "" || a.Stats().InUse != 2*before.InUse {
					t.Errorf("%s: the next clone has %d bytes, want %d", where, a.Stats().InUse-before.InUse, before.InUse)
				}
			}
		})
	}
}

// TestDeepCloneLikeKeys: keys with hashes that are equal or nearly so are cloned.
func TestDeepCloneLikeKeys(t *testing.T) {
	m := map[any]int{}
	add := func(k any) { m[k] = len(m) }
	for i := range 300 { // Types without size: one hash.
		add(reflect.New(reflect.ArrayOf(i, reflect.TypeFor[struct{}]())).Elem().Interface())
	}
	for i := range 440 {
		add(math.NaN())
		add([2]any{math.NaN(), 1})
		add(numbers(i))
		add(struct{ a, b any }{int64(i), "x"})
		add([2]any{int64(i), "x"})
		add(fmt.Sprintf("%08d", i))
		n := int64(0)
		for _, c := range []byte(fmt.Sprintf("%08d", i)) {
			n = n<<8 | int64(c)
		}
		add(n)
		add(uint64(n))
		add(float64(i))
	}
	add(math.Copysign(0, -1)) // Equal to 0.
	add(float32(0))
	const want = 300 + 9*440 + 1
	type row struct{ a, b any }
	rows := map[row]int{}
	for i := range 1000 {
		rows[row{i, nil}], rows[row{nil, i}] = i, i // Pairs with one hash.
	}
	if c := Heap(m); len(m) != want || len(c) != want || c[0.0] != m[0.0] || c[numbers(7)] != m[numbers(7)] {
		t.Errorf("%d keys of %d, want %d", len(c), len(m), want)
	}
	if c := Heap(rows); len(c) != 2000 || c[row{nil, 7}] != 7 {
		t.Errorf("%d rows, want 2000", len(c))
	}
}

// TestDeepCloneGroupsOfOneHash: keys of a program may have equal hashes, as many groups as there are. By chance no map is
// refused, because whole hashes are compared.
func TestDeepCloneGroupsOfOneHash(t *testing.T) {
	const groups, others = 12, 3000
	m := map[any]int{}
	for g := range groups {
		for i := range mostOfOneHash {
			m[[2]any{g, numbers(i)}] = i
		}
	}
	for i := range others {
		m[i] = i
	}
	const want = groups*mostOfOneHash + others
	for where, a := range map[string]*Arena{"Heap": nil, "an arena": Cleanup(t, NewArena())} {
		for range 4 { // Other seeds.
			if c, err := tryDeepClone(a, m); err != nil || len(c) != want || c[[2]any{3, numbers(7)}] != 7 {
				t.Errorf("%s: %d keys of %d, %v", where, len(c), want, err)
			}
		}
		m[[2]any{5, numbers(mostOfOneHash)}] = 1
		if c, err := tryDeepClone(a, m); !errors.Is(err, ErrUncloneable) || c != nil || !strings.Contains(err.Error(), "more than 448 keys are equal") {
			t.Errorf("%s: %d keys, error %v", where, len(c), err)
		}
		delete(m, any([2]any{5, numbers(mostOfOneHash)}))
	}
}

// TestHashCounts: hashes that share counters are told apart.
func TestHashCounts(t *testing.T) {
	for _, c := range []struct{ n, groups int }{{448, 50}, {449, 1}, {449, 50}, {70_000, 1}} {
		keys := make([]any, c.n*c.groups)
		for i := range keys {
			keys[i] = i
		}
		counts := newHashCounts(reflect.TypeFor[map[any]int](), reflect.ValueOf(keys), true)
		counts.hash = func(key unsafex.Ptr, _ uintptr) uintptr { return uintptr((*unsafex.As[any](key)).(int)%c.groups) << 14 } // All share a counter.
		for k := range keys {
			compared := counts.compared
			if counts.most > mostOfOneHash {
				compared = counts.add // A clone refuses the map here.
			}
			if n := compared(k); n != max(0, int64(min(k, tableKeys))-byChance) && n >= 0 {
				t.Fatalf("%v: key %d is compared with %d", c, k, n)
			}
		}
		if k, found := counts.tooMany(); found != (c.n > mostOfOneHash) || found && k != mostOfOneHash*c.groups {
			t.Errorf("%v: key %d, %v", c, k, found)
		}
	}
}

// TestDeepCloneNilKeys: keys with an interface that is nil are cloned, also with the build tag purego.
func TestDeepCloneNilKeys(t *testing.T) {
	type key struct {
		err error
		n   int
	}
	m := map[key]int{}
	for i := range 200 {
		m[key{n: i}] = i
	}
	if c, err := tryHeap(m); err != nil || len(c) != 200 || c[key{n: 7}] != 7 {
		t.Errorf("%d keys, error %v", len(c), err)
	}
}

// testLargeKeys clones maps with large keys that hold nothing twice.
func testLargeKeys(t *testing.T, keys map[string]func() any) {
	for name, key := range keys {
		k := key()
		if c, err := tryHeap(map[any]int{k: 1}); err != nil || len(c) != 1 {
			t.Errorf("%s: %d keys, error %v", name, len(c), err)
		}
	}
}

// TestDeepCloneTrees: a key is cloned however large it is, if it holds nothing twice.
func TestDeepCloneTrees(t *testing.T) {
	defer func(old int64) { mostHashWork = old }(mostHashWork)
	mostHashWork = 1 << 8
	type pair struct{ x, y int32 }
	type padded struct {
		x int8
		y int16
	}
	type blank struct{ x, _ bool }
	type deep struct{ x struct{ y struct{ z any } } }
	testLargeKeys(t, map[string]func() any{
		"colours":      func() any { return [1 << 14]color.RGBA{} },
		"pairs":        func() any { return [1 << 14]pair{} },
		"padding":      func() any { return [1 << 14]padded{} },
		"blank fields": func() any { return [1 << 14]blank{} },
		"floats":       func() any { return [1 << 14]float32{} },
		"nils":         func() any { return [1 << 14]any{} },
		"nested structs": func() any {
			t := reflect.TypeFor[any]()
			for range 46 * wordSize / 8 {
				t = reflect.StructOf([]reflect.StructField{{Name: "X", Type: t}})
			}
			return reflect.New(reflect.ArrayOf(1<<12, t)).Elem().Interface()
		},
		"fields without size": func() any {
			fields := []reflect.StructField{{Name: "X", Type: reflect.TypeFor[any]()}}
			for i := range 40 * wordSize / 8 {
				fields = append([]reflect.StructField{{Name: fmt.Sprint("X", i), Type: reflect.TypeFor[struct{}]()}}, fields...)
			}
			return reflect.New(reflect.ArrayOf(1<<12, reflect.StructOf(fields))).Elem().Interface()
		},
		"text": func() any { return strings.Repeat("s", 1<<20) },
		"interfaces": func() any {
			v := new([1 << 12]deep)
			for i := range v {
				v[i].x.y.z = i
			}
			return *v
		},
	})
}

// TestDeepCloneLargeKeys is TestDeepCloneTrees with keys beyond the bound of programs.
func TestDeepCloneLargeKeys(t *testing.T) {
	if testing.Short() || wordSize == 4 {
		t.Skip("needs 300 MiB")
	}
	type pair struct{ x, y int32 }
	type box struct{ x any }
	testLargeKeys(t, map[string]func() any{
		"16 MiB of colours": func() any { return *new([1 << 22]color.RGBA) },
		"64 MiB of pairs":   func() any { return *new([1 << 23]pair) },
		"128 MiB of boxes": func() any {
			v := new([1 << 23]box)
			for i := range v {
				v[i].x = 7
			}
			return *v
		},
	})
}

// TestDeepCloneDeepKey: the hash of a key that is nested too deep would overflow the stack.
func TestDeepCloneDeepKey(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, c := range []struct {
		n  int
		ok bool
	}{{mostHashDepth/2 - 2, true}, {mostHashDepth / 2, false}} {
		var k any
		for range c.n {
			k = [1]any{k}
		}
		m := map[any]int{k: 1}
		if got, err := tryHeap(m); c.ok && (err != nil || len(got) != 1) {
			t.Errorf("%d levels: %v", c.n, err)
		} else if !c.ok {
			wantRefusedKey(t, "deep", func() error { return err })
		}
	}
}
