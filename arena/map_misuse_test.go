// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/offheap"
)

func chunkless() bool { return freehold.HeapMode() }

func TestMapFloats(t *testing.T) {
	a := NewArena()
	defer a.Free()
	m, want := NewMap[float64, int](a, 0), map[float64]int{}
	nan, minus := math.NaN(), math.Copysign(0, -1)
	for i := range 100 {
		m.Set(nan, i)
		want[nan] = i
	}
	if _, ok := m.Get(nan); ok || m.Len() != len(want) || m.Delete(nan) {
		t.Errorf("%d NaNs, want %d that nobody finds", m.Len(), len(want))
	}
	m.Set(0, 1)
	m.Set(minus, 2)
	if v, ok := m.Get(0); !ok || v != 2 || m.Len() != 101 {
		t.Errorf("0 is %d, %v after -0 was set", v, ok)
	}
	values := map[int]int{}
	for k, v := range m.All() {
		if k == 0 && !math.Signbit(k) {
			t.Error("the key is not the zero that was set last")
		}
		if values[v]++; k != k {
			m.Set(nan, v+1000) // The loop may meet it, or not, and grows the map.
			m.Set(float64(v+1), -v)
		}
		if len(values) == 150 {
			m.Clear()
		} else if len(values) > 150 && v < 100 && v > 2 {
			t.Errorf("NaN: %d after Clear", v)
		}
	}
	for v, n := range values {
		if n > 1 && v > 2 && v < 1000 {
			t.Errorf("the entry with %d comes %d times", v, n)
		}
	}
	type deep struct {
		name string
		x    [2]any
	}
	d := NewMap[deep, int](a, 0)
	d.Set(deep{"n", [2]any{0.0, minus}}, 1)
	d.Set(deep{"n", [2]any{minus, 0.0}}, 2)
	for k, v := range d.All() {
		if v != 2 || d.Len() != 1 || k.name != "n" || !math.Signbit(k.x[0].(float64)) || math.Signbit(k.x[1].(float64)) {
			t.Errorf("%v: %v, %d entries", k, v, d.Len())
		}
		if !chunkless() && !a.Owns(k.name) {
			t.Error("the string of a key that was set again is not the arena's")
		}
	}
}

func TestMapInterfaces(t *testing.T) {
	a := NewArena()
	defer a.Free()
	m := NewMap[any, int](a, 0)
	want := map[any]int{}
	for i, k := range []any{1, int8(1), "1", nil, 1.0, [2]any{1, "x"}, struct{ s string }{"x"}, t, error(nil)} {
		m.Set(k, i)
		want[k] = i
	}
	for _, k := range []any{[]int{1}, map[int]int{}, func() {}, [1]any{[]int{}}, struct{ f func() }{}} {
		for what, f := range map[string]func(){
			"Set":                 func() { m.Set(k, 1) },
			"Get":                 func() { m.Get(k) },
			"Delete":              func() { m.Delete(k) },
			"Get of an empty one": func() { NewMap[any, int](a, 0).Get(k) },
		} {
			if err, ok := caught(f).(runtime.Error); !ok || !strings.Contains(err.Error(), "unhashable") {
				t.Errorf("%s of a %T: %v, want what Go's maps panic with", what, k, err)
			}
		}
	}
	if err := sameMap(m, want); err != nil {
		t.Error(err)
	}
}

// TestMapCopiesKeys changes the bytes of keys after they were set.
func TestMapCopiesKeys(t *testing.T) {
	for _, a := range []*Arena{NewArena(), NewShared(), nil} {
		m := NewMap[string, int](a, 0)
		p := NewMap[pair, int](a, 0)
		buf := []byte("key 0000")
		for i := range 100 {
			copy(buf[4:], fmt.Sprintf("%04d", i))
			s := fmt.Sprintf("%s", buf)
			m.Set(s, i)
			SetBytes(m, buf, i)
			p.Set(pair{s, 1, [2]string{"", s[2:]}}, i)
		}
		copy(buf, "garbage!")
		for i := range 100 {
			s := fmt.Sprintf("key %04d", i)
			v, ok := m.Get(s)
			if w, also := GetBytes(m, []byte(s)); !ok || v != i || !also || w != i {
				t.Fatalf("%s is %d, %v, %d, %v", s, v, ok, w, also)
			}
			if v, ok := p.Get(pair{s, 1, [2]string{"", s[2:]}}); !ok || v != i {
				t.Fatalf("pair %s is %d, %v", s, v, ok)
			}
		}
		for k := range m.Keys() {
			if a != nil && !chunkless() && !a.Owns(k) {
				t.Fatal("a key is not the arena's")
			}
		}
		for k := range p.Keys() {
			if a != nil && !chunkless() && (!a.Owns(k.name) || !a.Owns(k.also[1])) {
				t.Fatal("a string in a key is not the arena's")
			}
		}
		a.Free()
	}
}

func mapUses(m *Map[int, int]) map[string]func() {
	return map[string]func(){
		"Map.Get": func() { m.Get(1) }, "Map.Set": func() { m.Set(1, 1) },
		"Map.Update":      func() { m.Update(1, plusOne) },
		"Map.GetOrSet":    func() { m.GetOrSet(1, 1) },
		"Map.MarshalJSON": func() { _, _ = m.MarshalJSON() },
		"Map.Delete":      func() { m.Delete(1) }, "Map.Clear": func() { m.Clear() }, "Map.Len": func() { m.Len() },
		"Map.All":    func() { m.All()(func(int, int) bool { return true }) },
		"Map.Keys":   func() { m.Keys()(func(int) bool { return true }) },
		"Map.Values": func() { m.Values()(func(int) bool { return true }) },
	}
}

func TestMapAfterFree(t *testing.T) {
	for _, k := range kinds {
		a := k.make()
		id := a.ID()
		m := NewMap[int, int](a, 0)
		m.Set(1, 1)
		all, next := m.All(), "the next step of Map.All"
		uses := mapUses(m)
		uses["Map.All"] = func() {
			for range all {
			}
		}
		uses["NewMap"] = func() { NewMap[int, int](a, 0) }
		inside := caught(func() {
			for range m.All() {
				a.Free()
			}
		})
		if err, ok := inside.(error); !ok || !strings.Contains(err.Error(), next) || !strings.Contains(err.Error(), "freed") {
			t.Errorf("%s: Free in a loop: %v", k.name, inside)
		}
		for what, f := range uses {
			err, ok := caught(f).(error)
			if !ok || !strings.Contains(err.Error(), what+" on arena "+fmt.Sprint(id)) || !strings.Contains(err.Error(), "freed") {
				t.Errorf("%s: %s after Free: %v", k.name, what, err)
			}
		}
		b := k.make()
		m = NewMap[int, int](b, 0)
		m.Set(1, 1)
		for range m.All() {
			b.Free()
			break // It ends without a word.
		}
	}
	for what, f := range mapUses(new(Map[int, int])) {
		if err, ok := caught(f).(error); !ok || !strings.Contains(err.Error(), "NewMap") {
			t.Errorf("%s on a Map of nobody's making: %v", what, err)
		}
	}
}

// TestMapStale goes on with maps after Reset, whose memory holds other maps by then. Nothing must
// loop for ever or damage anything but those maps; what Go may panic with is an error.
func TestMapStale(t *testing.T) {
	testenv.MisusesMemory(t)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // Under FREEHOLD=guard the memory is gone.
	for _, k := range kinds {
		for round := range 30 {
			a := k.make()
			stale := NewMap[int, int](a, 0)
			for i := range 100 << (round % 4) {
				stale.Set(i, i)
			}
			a.Reset(Keep)
			junk := MakeSlice[uint64](a, 20000, 20000)
			for i := range junk {
				switch round % 3 {
				case 0:
					junk[i] = math.MaxUint64
				case 1:
					junk[i] = eachByte
				default:
					junk[i] = uint64(i) * 0x9e3779b97f4a7c15
				}
			}
			for range 3 {
				for what, f := range mapUses(stale) {
					for i := range 50 {
						if v := caught(func() { f(); stale.Set(i*1001, i); stale.Delete(i * 7) }); v != nil {
							if _, ok := v.(error); !ok {
								t.Fatalf("%s: %s on a stale map: %v", k.name, what, v)
							}
						}
					}
				}
				caught(func() {
					for i := range stale.All() {
						stale.Set(i+1, i)
						if stale.Len() > 1e6 {
							break
						}
					}
				})
			}
			a.Free()
		}
	}
}

// An older copy over a Map counts less than its table has. If the first table is full, Set says so, whatever hashes the keys,
// and the Map stays as it was.
func TestMapOlderCopy(t *testing.T) {
	a := NewArena()
	defer a.Free()
	olderCopy(t, a, []float64{1, 2, 3})
	olderCopy(t, a, []uint64{1, 2, 3})
	olderCopy(t, a, []string{"1", "2", "3"})
}

func olderCopy[K comparable](t *testing.T, a *Arena, keys []K) {
	t.Helper()
	m := NewMap[K, [40]uint64](a, 0) // The first table has one such slot.
	m.Set(keys[0], [40]uint64{})
	m.Delete(keys[0])
	old := copyOf(m)
	m.Set(keys[1], [40]uint64{1})
	reflect.ValueOf(m).Elem().Set(reflect.ValueOf(old).Elem())
	var misuse *offheap.MisuseError
	if err, _ := panicOf(func() { m.Set(keys[2], [40]uint64{}) }).(error); !errors.As(err, &misuse) {
		t.Errorf("%T: Set on an older copy: %v", keys, err)
	}
	n := 0
	for k, v := range m.All() {
		if n++; k != keys[1] || v[0] != 1 {
			t.Errorf("%T: an entry with the key %v", keys, k)
		}
	}
	if n > 1 {
		t.Errorf("%T: %d entries", keys, n)
	}
}

func TestMapLimit(t *testing.T) {
	for _, k := range kinds {
		a := k.make()
		a.SetLimit(max(64<<10, a.Stats().Held))
		m, want := NewMap[int, int](a, 0), map[int]int{}
		var err error
		for i := 0; err == nil; i++ {
			if err = trySet(m, i, i); err == nil {
				want[i] = i
			}
			if i > 1e6 {
				t.Fatalf("%s: no limit", k.name)
			}
		}
		if !errors.Is(err, offheap.ErrLimit) {
			t.Errorf("%s: %v", k.name, err)
		}
		if v, ok := caught(func() { m.Set(-1, 1) }).(error); !ok || !errors.Is(v, offheap.ErrLimit) {
			t.Errorf("%s: Set panics with %v", k.name, v)
		}
		if err := sameMap(m, want); err != nil {
			t.Errorf("%s: after a refusal: %v", k.name, err)
		}
		a.Free()
	}
}

func TestMapRefusedTypes(t *testing.T) {
	if chunkless() {
		t.Skip("the Go heap takes every type")
	}
	off, fixed := NewOffHeap(Options{}), NewFixed(1000)
	defer off.Free()
	defer fixed.Free()
	for what, f := range map[string]func(){
		"with keys of string":     func() { NewMap[string, int](off, 0) },
		"arena.node.name: string": func() { NewMap[int, node](off, 0) },
		"holds a bool":            func() { NewMap[int, bool](fixed, 0) },
	} {
		if err, ok := caught(f).(error); !ok || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want an error that says %q", err, what)
		}
	}
}

// TestMapPointers: the collector follows what the entries hold, and nothing that they held.
func TestMapPointers(t *testing.T) {
	a := NewArena()
	defer a.Free()
	m := NewMap[*int, *node](a, 0)
	kept := make([]*int, 0, 500)
	var gone atomic.Int32
	for i := range 500 {
		k := new(int)
		*k = i
		n := &node{name: fmt.Sprint(i), kids: make([]*node, 100)}
		if i%2 == 1 {
			runtime.AddCleanup(n, func(int) { gone.Add(1) }, 0)
		}
		m.Set(k, n)
		kept = append(kept, k)
	}
	for i, k := range kept {
		if i%2 == 1 && !m.Delete(k) {
			t.Fatal("not there")
		}
	}
	for range 5 {
		runtime.GC()
	}
	for i, k := range kept {
		if n, ok := m.Get(k); ok != (i%2 == 0) || ok && (n.name != fmt.Sprint(i) || len(n.kids) != 100) {
			t.Fatalf("entry %d is %v, %v", i, n, ok)
		}
	}
	for deadline := time.Now().Add(time.Minute); gone.Load() < 240 && time.Now().Before(deadline); { // A cleanup runs some time after the collection.
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if gone.Load() < 240 {
		t.Errorf("of 250 removed values %d were collected", gone.Load())
	}
	runtime.KeepAlive(m)
}

// TestMapAllocations: no use of a Map allocates on the Go heap, but for interface keys.
func TestMapAllocations(t *testing.T) {
	chunked(t)
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	a := NewArena()
	defer a.Free()
	ints, names, pairs := NewMap[int, int](a, 0), NewMap[string, *node](a, 0), NewMap[pair, [3]int](a, 0)
	floats, points := NewMap[float64, int](a, 0), NewMap[*node, point](a, 0)
	key, n := []byte("a key of more than thirty-two bytes which is long"), &node{}
	round := func() {
		for i := range 100 {
			ints.Set(i, i)
			ints.Get(i)
			key[0] = byte(i)
			SetBytes(names, key, n)
			GetBytes(names, key)
			names.Get(n.name)
			p := pair{n: int16(i)}
			pairs.Set(p, [3]int{})
			pairs.Get(p)
			floats.Set(float64(i), i)
			floats.Get(float64(i))
			points.Set(n, point{})
			points.Get(n)
		}
		for k := range ints.Keys() {
			ints.Delete(k)
		}
		ints.Clear()
	}
	round()
	quiet(t)
	if got := testing.AllocsPerRun(5, round); got > 0 {
		t.Errorf("%v allocations on the Go heap a round", got)
	}
}

// TestMapCopyOutlivesStack: a copy of a Map holds no pointer to a stack. When the stack is gone, the
// collector would end the process with "found bad pointer in Go heap".
func TestMapCopyOutlivesStack(t *testing.T) {
	const n = 8
	var copies [n]*Map[int, int]
	for i := range copies {
		var wg sync.WaitGroup
		wg.Go(func() { copies[i] = mapFromDeep(200) }) // Its stack is so large that it is not kept.
		wg.Wait()
	}
	for range 3 {
		runtime.GC()
	}
	for _, c := range copies {
		wantPanic(t, "a copy", func() { c.Get(1) }, "copy of a Map")
	}
}

//go:noinline
func mapFromDeep(depth int) *Map[int, int] {
	var frame [1 << 10]byte
	if depth > 0 {
		c := mapFromDeep(depth - 1)
		runtime.KeepAlive(&frame)
		return c
	}
	m := NewMap[int, int](nil, 0)
	m.Set(1, 1)
	return copyOf(m)
}
