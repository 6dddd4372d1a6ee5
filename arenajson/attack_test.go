// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/offheap"
)

const everything = `{"I":[1,2,3,4,5,6,7,8,9],"S":["a\nb","c"],"L":[[1],[2,3]],"P":["x","y"],"Q":[[1.5,2]],"T":[{"I":[1]},{"T":[{"S":["deep"]}]}]}`

// TestEachLimit refuses the first allocation, then the second, and so on. Each time the error says so, nothing
// panics, and the arena decodes the next document.
func TestEachLimit(t *testing.T) {
	big := `[` + strings.Repeat(everything+",", 40) + everything + `]`
	refused := 0
	for limit := int64(256); ; limit += 509 {
		a := arena.NewArena()
		a.SetLimit(limit)
		v, err := Unmarshal[[]lists](a, []byte(big))
		if err == nil {
			if len(*v) != 41 {
				t.Fatalf("%d values", len(*v))
			}
			a.Free()
			break
		}
		if !errors.Is(err, offheap.ErrLimit) || v != nil {
			t.Fatalf("limit %d: %v, %v", limit, v, err)
		}
		if _, err := Parse(a, []byte(big)); err != nil && !errors.Is(err, offheap.ErrLimit) {
			t.Fatalf("limit %d: Parse: %v", limit, err)
		}
		refused++
		a.SetLimit(0)
		a.Reset(arena.Keep)
		if v, err := Unmarshal[lists](a, []byte(everything)); err != nil || len(v.I) != 9 {
			t.Fatalf("after limit %d: %v", limit, err)
		}
		a.Free()
	}
	if refused < 5 {
		t.Errorf("only %d limits were too low", refused)
	}
}

// reenters decodes what it gets into the same arena.
type reenters struct {
	inner *lists
	kept  []byte
}

func (r *reenters) UnmarshalJSON(b []byte) (err error) {
	r.kept = b
	r.inner, err = Unmarshal[lists](inUse, b)
	return err
}

var inUse *arena.Arena

// TestReenter has a method that decodes into the arena which is being decoded into, between elements of a slice
// that grows there.
func TestReenter(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	inUse = a
	defer func() { inUse = nil }()
	doc := `[` + strings.Repeat(everything+",", 20) + everything + `]`
	var want lists
	if err := json.Unmarshal([]byte(everything), &want); err != nil {
		t.Fatal(err)
	}
	v, err := Unmarshal[[]reenters](a, []byte(doc))
	if err != nil || len(*v) != 21 {
		t.Fatal(v, err)
	}
	for i, r := range *v {
		if !reflect.DeepEqual(*r.inner, want) {
			t.Fatalf("element %d: %+v", i, r.inner)
		}
	}
}

type panics struct{}

func (panics) UnmarshalJSON([]byte) error { panic("in a method") }

// TestPanic has a method that panics. The next documents are decoded as ever.
func TestPanic(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	for range 20 {
		func() {
			defer func() {
				if r := recover(); r != "in a method" {
					t.Errorf("panic %v", r)
				}
			}()
			Unmarshal[map[string]panics](a, []byte(`{"a":1}`))
		}()
		same(t, []byte(everything), func() any { return new(lists) })
		same(t, []byte(`{"S":{"a":"1"}}`), func() any { return new(objects) })
	}
}

// TestFailureLeavesNothing decodes, after a document that failed in the middle, one that needs the same scratch memory.
func TestFailureLeavesNothing(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	for _, bad := range []string{`{"V":{"a":{"I":1},"b":{"S":"x"`, `{"X":{"a":[1,2,{"b":[3,`, `{"L":{"a":[1,2,`, `[[[1,2],[3`} {
		for range 3 {
			if _, err := Unmarshal[objects](a, []byte(bad)); err == nil {
				t.Fatalf("%s is no error", bad)
			}
			if _, err := Parse(a, []byte(bad)); err == nil {
				t.Fatalf("%s is no error", bad)
			}
			same(t, []byte(`{"V":{"c":{"U":2}},"X":{"c":[4,[5]]},"L":{"c":[6]}}`), func() any { return new(objects) })
		}
	}
}

// TestHostile are documents that claim much, or nest.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("large documents")
	}
	for _, doc := range []string{
		strings.Repeat("[", 1<<20), strings.Repeat(`{"T":[`, 1<<17), `"` + strings.Repeat(`\u0000`, 1<<15), strings.Repeat("1", 1<<20), "-" + strings.Repeat("0", 1<<20), "0." + strings.Repeat("0", 1<<20) + "1", "1e" + strings.Repeat("9", 1<<20),
		`[` + strings.Repeat("{},", 1<<16) + `{}]`, `[` + strings.Repeat("[],", 1<<16) + `[]]`, `{` + strings.Repeat(`"I":[1],`, 1<<14) + `"I":[2]}`, `{"` + strings.Repeat("I", 1<<20) + `":1}`,
		`"` + strings.Repeat("\xff", 1<<16) + `"`, `"` + strings.Repeat(`\ud800`, 1<<14) + `"`,
	} {
		same(t, []byte(doc), func() any { return new(lists) })
		same(t, []byte(doc), func() any { return new(any) })
		same(t, []byte(doc), func() any { return new([]lists) })
		same(t, []byte(doc), func() any { return new(string) })
		same(t, []byte(doc), func() any { return new(float64) })
		same(t, []byte(doc), func() any { return new(int) })
	}
}

// TestPadding has zeros where a copy of the input has its padding, and values that end there.
func TestPadding(t *testing.T) {
	for _, end := range []string{`1`, `-`, `1.5`, `1e5`, `12345678`, `true`, `tru`, `null`, `"a"`, `"a`, `"a\`, `"a\u00e`, `"\u00e9"`, `"ä"`, `"\xff"`, `[`, `[1`, `[]`, `{"I"`, `{"I":`, `{"I":1`, `{"I":1}`, ` `} {
		for n := range 18 {
			for _, doc := range []string{end + strings.Repeat("\x00", n), strings.Repeat(" ", n) + end, end + strings.Repeat(" ", n) + "\x00"} {
				for _, fill := range samples()[:6] {
					same(t, []byte(doc), fill)
				}
				var raw json.RawMessage
				if _, err := Parse(nil, []byte(doc)); errorsDiffer(err, json.Unmarshal([]byte(doc), &raw)) != "" {
					t.Errorf("%q: %v", doc, err)
				}
			}
		}
	}
}

// TestInputChangesMeanwhile has a goroutine that changes the input while it is decoded without a copy. The values are any, and nothing
// breaks.
func TestInputChangesMeanwhile(t *testing.T) {
	if sanitize.Race || debugmode.On() {
		t.Skip("it is a data race")
	}
	a := arena.NewArena()
	defer a.Free()
	doc := []byte(`{"L":[` + strings.Repeat(everything+",", 20) + everything + `],"S":"\u00e9\n` + strings.Repeat(`long ä\u00e4`, 100) + `"}`)
	var done atomic.Bool
	var wg sync.WaitGroup
	defer wg.Wait()
	defer done.Store(true)
	wg.Go(func() {
		whole := bytes.Clone(doc)
		for i := 0; !done.Load(); i++ {
			at := int(uint(i) * 7919 % uint(len(doc))) // i overflows on 32 bits
			doc[at] = "\"\\{}[]:,0e-. \x00\xff"[i%15]
			if i%3 == 0 {
				runtime.Gosched()
			}
			doc[at] = whole[at]
		}
	})
	total := 0
	for i := range 500 {
		o := Options{AliasInput: true, V2: i%3 == 0, ValuesForAny: i%2 == 0}
		if v, err := Unmarshal[any](a, doc, o); err == nil {
			total += len(fmt.Sprint(*v))
		}
		if v, err := Unmarshal[objects](a, doc, o); err == nil {
			total += len(fmt.Sprint(*v))
		}
		if v, err := Unmarshal[map[string][]lists](a, doc, o); err == nil {
			for _, l := range *v {
				for i := range l {
					total += readLists(&l[i])
				}
			}
		}
		if v, err := Parse(a, doc, o); err == nil {
			total += len(v.AppendJSON(nil))
		}
		a.Reset(arena.Keep)
	}
	if total < 0 {
		t.Error(total)
	}
}

// TestMaxDepth bounds nesting where the caller says so.
func TestMaxDepth(t *testing.T) {
	o := Options{MaxDepth: 3}
	if _, err := Unmarshal[any](nil, []byte(`[[[1]]]`), o); err != nil {
		t.Error(err)
	}
	for _, doc := range []string{`[[[[1]]]]`, `{"a":{"b":{"c":[]}}}`} {
		if _, err := Unmarshal[any](nil, []byte(doc), o); err == nil || !strings.Contains(err.Error(), "MaxDepth") {
			t.Errorf("%s: %v", doc, err)
		}
		if _, err := Parse(nil, []byte(doc), o); err == nil || !strings.Contains(err.Error(), "MaxDepth") {
			t.Errorf("%s: %v", doc, err)
		}
	}
}

// TestGoroutines decode into arenas of their own and into one that is shared.
func TestGoroutines(t *testing.T) {
	shared := arena.NewShared()
	defer shared.Free()
	var want lists
	if err := json.Unmarshal([]byte(everything), &want); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			own := arena.NewArena()
			defer own.Free()
			for range 100 {
				for _, a := range []*arena.Arena{own, shared, nil} {
					v, err := Unmarshal[lists](a, []byte(everything))
					if err != nil || !reflect.DeepEqual(*v, want) {
						t.Errorf("%+v, %v", v, err)
						return
					}
				}
				own.Reset(arena.Keep)
			}
		})
	}
	wg.Wait()
}

// TestStale keeps values over Reset while other documents are decoded, and reads and writes them: they may show
// anything of their types, and nothing breaks.
func TestStale(t *testing.T) {
	if debugmode.On() {
		t.Skip("a debug mode reports reads of values that were freed")
	}
	a := arena.NewArena()
	defer a.Free()
	var old []*lists
	total := 0
	for i := range 60 {
		v, err := Unmarshal[lists](a, fmt.Appendf(nil, `{"I":[%d,2],"S":["s%d","\u00e9\n"],"T":[{"S":["t"]},{"L":[[1],[2]]}],"P":["p%d"]}`, i, i, i))
		if err != nil {
			t.Fatal(err)
		}
		old = append(old, v)
		a.Reset(arena.Keep)
		for _, o := range old {
			total += readLists(o)
			o.I, o.S = append(o.I, i), append(o.S[:len(o.S):len(o.S)], "more")
			o.T = nil
		}
		if i%10 == 0 {
			runtime.GC()
		}
	}
	if total < 0 {
		t.Error("the sum of lengths is negative")
	}
	for _, o := range old { // Free memory of a type is zero, or a later test's new values are not.
		*o = lists{}
	}
}

func readLists(l *lists) (n int) {
	for _, s := range l.S {
		n += len(s)
	}
	for _, p := range l.P {
		if p != nil {
			n += len(*p)
		}
	}
	for i := range l.T {
		n += readLists(&l.T[i])
	}
	return n + len(l.I) + len(l.L)
}

// TestNoObjects decodes in a steady state, and wants no object on the Go heap.
func TestNoObjects(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	if arena.NewOf(a, reflect.TypeFor[int]()); freehold.HeapMode() || freehold.NoReuseMode() || debugmode.On() || a.Stats().InUse == 0 || sanitize.Race {
		t.Skip("with this mode values lie on the Go heap, or chunks go to the collector, or sync.Pool forgets at random")
	}
	doc := []byte(everything)
	if n := testing.AllocsPerRun(100, func() {
		a.Reset(arena.Keep)
		if _, err := Unmarshal[lists](a, doc); err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(a, doc); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v objects a document", n)
	}
}
