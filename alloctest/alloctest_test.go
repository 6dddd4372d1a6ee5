// SPDX-License-Identifier: Apache-2.0

package alloctest

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/trial"
)

// refConfig is the configuration for the reference allocator with some faults.
func refConfig(f faults) Config {
	return Config{
		New:            func(testing.TB) Allocator { return newReference(f) },
		Misuse:         true,
		Concurrent:     true,
		Limits:         true,
		ExactCap:       true,
		MaxSize:        2 << 20,
		MaxLive:        2 << 20,
		ErrOutOfMemory: errNoMemory,
		ErrLimit:       errLimit,
	}
}

// TestReference runs the suite on an allocator that keeps the contract.
func TestReference(t *testing.T) {
	cfg := refConfig(faults{})
	cfg.GCStress = true
	Test(t, cfg)
}

// TestFailEachReference runs the failure injection on it.
func TestFailEachReference(t *testing.T) {
	FailEach(t, refConfig(faults{}), failing(faults{}))
}

// failing returns the function that FailEach needs.
func failing(f faults) func(t testing.TB, failAt int) (Allocator, func() bool) {
	return func(_ testing.TB, failAt int) (Allocator, func() bool) {
		r := newReference(f)
		r.failAt = failAt
		return r, r.failed.Load
	}
}

// FuzzReference shows that any stream is valid: a stream must not find fault with a correct
// allocator.
func FuzzReference(f *testing.F) {
	FuzzSeeds(f)
	f.Fuzz(func(t *testing.T, ops []byte) {
		Ops(t, newReference(faults{}), ops, refConfig(faults{}))
	})
}

// TestBroken breaks the reference allocator in one way at a time. The check named must notice, by a
// message that has the words in it.
func TestBroken(t *testing.T) {
	for _, c := range []struct {
		name  string
		f     faults
		check string
		words string
	}{
		{"dirty", faults{dirty: true}, "Zeroing", "want 0"},
		{"dirty, model", faults{dirty: true}, "Model", "want 0"},
		{"dirtyAligned", faults{dirtyAligned: true}, "Alignment", "want 0"},
		{"alias", faults{alias: true}, "Overlap", "overlaps"},
		{"alias, model", faults{alias: true}, "Model", "overlaps"},
		{"short", faults{short: true}, "Sizes", "want 101"},
		{"loseTail", faults{loseTail: true}, "Realloc", "changed"},
		{"loseTail, model", faults{loseTail: true}, "Model", "the model has"},
		{"dirtyTail", faults{dirtyTail: true}, "ReallocEdges", "want 0"},
		{"dirtyTail, model", faults{dirtyTail: true}, "Model", "want 0"},
		{"leak", faults{leak: true}, "Realloc", "leaked"},
		{"leak, model", faults{leak: true}, "Model", "leaked"},
		{"undercount", faults{undercount: true}, "InUse", "at least"},
		{"misalign", faults{misalign: true}, "Alignment", "multiple of"},
		{"anyAlign", faults{anyAlign: true}, "BadAlignment", "power of two"},
		{"negativeIsZero", faults{negativeIsZero: true}, "BadLength", "TryAlloc(-1) gave"},
		{"overflow", faults{overflow: true}, "BadLength", "want an error"},
		{"wrongError", faults{wrongError: true}, "BadLength", "errors.Is"},
		{"ignoreDouble", faults{ignoreDouble: true}, "MisuseDouble", "no panic"},
		{"ignoreDouble, neighbours", faults{ignoreDouble: true}, "MisuseNeighbours", "no panic"},
		{"ignoreDouble, model", faults{ignoreDouble: true}, "Model", "no panic"},
		{"ignoreDouble, goroutine", faults{ignoreDouble: true}, "MisuseGoroutine", "no panic"},
		{"ignoreDouble, realloc", faults{ignoreDouble: true}, "MisuseRealloc", "no panic"},
		{"ignoreInterior", faults{ignoreInterior: true}, "MisuseInterior", "no panic"},
		{"freeInterior", faults{freeInterior: true}, "MisuseInterior", ""},
		{"ignoreForeign", faults{ignoreForeign: true}, "MisuseForeign", "no panic"},
		{"vague", faults{vague: true}, "MisuseDouble", "bad pointer"},
		{"shortFree", faults{shortFree: true}, "Free", "lowered InUse"},
		{"rejectEmpty", faults{rejectEmpty: true}, "Free", "nothing to free"},
		{"purgeLive", faults{purgeLive: true}, "Purge", "changed"},
		{"noLimit", faults{noLimit: true}, "Limits", "at most the limit"},
		{"limitSticks", faults{limitSticks: true}, "Limits", "after a Free of as much"},
		{"torn", faults{torn: true}, "Own", "goroutine"},
		{"torn, exchange", faults{torn: true}, "Exchange", "goroutine"},
		{"torn, hand-off", faults{torn: true}, "HandOff", "goroutine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.f.torn && trial.RaceEnabled {
				t.Skip("the race detector would end the test first")
			}
			cfg := refConfig(c.f).withDefaults()
			r := trial.Record(func(t testing.TB) { runCheck(t, c.check, &cfg) })
			// Whether goroutines meet in a torn allocator at all, the scheduler decides.
			for try := 1; c.f.torn && r == "" && try < 20; try++ {
				r = trial.Record(func(t testing.TB) { runCheck(t, c.check, &cfg) })
			}
			if r == "" {
				t.Fatalf("the check %s did not notice", c.check)
			}
			if !strings.Contains(r, c.words) {
				t.Errorf("the check %s says %q, want %q in it", c.check, r, c.words)
			}
		})
	}
}

// runCheck runs one check of the suite.
func runCheck(t testing.TB, name string, cfg *Config) {
	for _, c := range checks() {
		if c.name == name {
			c.run(t, cfg)
			return
		}
	}
	t.Fatalf("no check has the name %s", name)
}

// TestBrokenFailure breaks what the reference allocator does after an error of the system.
func TestBrokenFailure(t *testing.T) {
	for _, c := range []struct {
		name  string
		f     faults
		words string
	}{
		{"stuck", faults{stuck: true}, "refused"},
		{"failLeaks", faults{failLeaks: true}, "leaked"},
		{"panicOnFail", faults{panicOnFail: true}, "the system failed"},
		{"reallocFrees", faults{reallocFrees: true}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := ""
			for _, ops := range failStreams() {
				r := trial.Record(func(t testing.TB) {
					failStream(t, refConfig(faults{}).withDefaults(), ops, failing(c.f))
				})
				found += r
			}
			if found == "" || !strings.Contains(found, c.words) {
				t.Errorf("FailEach says %q, want %q in it", found, c.words)
			}
		})
	}
}

// TestFailEachReachesNothing shows that an injection that reaches nothing is noticed.
func TestFailEachReachesNothing(t *testing.T) {
	r := trial.Record(func(t testing.TB) {
		failStream(t, refConfig(faults{}).withDefaults(), []byte{0, 1, 2},
			func(testing.TB, int) (Allocator, func() bool) {
				return newReference(faults{}), func() bool { return false }
			})
	})
	if !strings.Contains(r, "not even the first call") {
		t.Errorf("FailEach says %q", r)
	}
}

// TestCheckLeaks leaks one block.
func TestCheckLeaks(t *testing.T) {
	r := trial.Record(func(t testing.TB) {
		a := newReference(faults{})
		CheckLeaks(t, a)
		if _, err := a.TryAlloc(123); err != nil {
			t.Fatal(err)
		}
	})
	if !strings.Contains(r, "+123 leaked") {
		t.Errorf("CheckLeaks says %q, want the bytes leaked in it", r)
	}
}

// TestMustPanic covers the three ways in which f can end.
func TestMustPanic(t *testing.T) {
	if got := MustPanic(t, func() { panic("node.next: *node") }, "node.NEXT"); got != "node.next: *node" {
		t.Errorf("got message %q", got)
	}
	if r := trial.Record(func(t testing.TB) { MustPanic(t, func() {}) }); r == "" {
		t.Error("no panic was accepted")
	}
	if r := trial.Record(func(t testing.TB) { MustPanic(t, func() { panic("x") }, "y") }); r == "" {
		t.Error("a message without the word was accepted")
	}
}

// TestIntervals puts ranges into every position relative to others.
func TestIntervals(t *testing.T) {
	for _, c := range []struct {
		from, size uintptr
		meets      bool
	}{
		{100, 0, false}, {50, 50, false}, {50, 51, true}, {100, 1, true}, {150, 10, true}, {199, 1, true},
		{200, 100, false}, {200, 101, true}, {250, 200, true}, {90, 500, true}, {400, 10, false}, {^uintptr(0) - 5, 10, true},
	} {
		s := intervals{{100, 200}, {300, 400}}
		r := trial.Record(func(t testing.TB) { s.addRange(t, c.from, c.size) })
		if (r != "") != c.meets {
			t.Errorf("adding %d+%d: got failure %v, want %v: %s", c.from, c.size, r != "", c.meets, r)
		}
	}
}

// TestOnStack shows that the memory is that of the stack: what a function that was called later has
// lies a little lower.
func TestOnStack(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC() // The collector shrinks stacks, which moves them.
	var outer, inner uintptr
	for range 2 { // The first time the stack may have to grow, and moves.
		onStack(func(b []byte) {
			outer = addr(b)
			onStack(func(b []byte) { inner = addr(b) })
		})
	}
	if inner >= outer || outer-inner > 4096 {
		t.Errorf("memory at %#x, and at %#x in a later call: not on this goroutine's stack", outer, inner)
	}
}

// pair is a type to hand out.
type pair struct {
	a int64
	b byte
}

// heapTyped returns functions over the reference allocator's rules for a type: values of the Go
// heap that are counted.
func heapTyped[T any](value func(i int) T, dirty bool) Typed[T] {
	live := map[*T]bool{}
	var reuse []*T
	inUse := int64(0)
	create := func() *T {
		inUse++
		if n := len(reuse); dirty && n > 0 {
			p := reuse[n-1]
			reuse = reuse[:n-1]
			return p
		}
		p := new(T)
		live[p] = true
		return p
	}
	return Typed[T]{
		New: create,
		Delete: func(p *T) {
			if p == nil {
				return
			}
			inUse--
			reuse = append(reuse, p)
		},
		MakeSlice: func(length, capacity int) []T {
			if capacity > 4096 { // What make itself refuses depends on the machine.
				panic("too large")
			}
			return make([]T, length, capacity)
		},
		FreeSlice: func([]T) {},
		Append:    func(s []T, elems ...T) []T { return append(s, elems...) },
		Value:     value,
		InUse:     func() int64 { return inUse },
	}
}

// TestTypedReference runs the typed suite on the Go heap.
func TestTypedReference(t *testing.T) {
	t.Run("int", func(t *testing.T) {
		TestTyped(t, heapTyped(func(i int) int { return i }, false))
	})
	t.Run("pair", func(t *testing.T) {
		TestTyped(t, heapTyped(func(i int) pair { return pair{int64(i), byte(i)} }, false))
	})
	t.Run("empty", func(t *testing.T) {
		TestTyped(t, heapTyped(func(int) struct{} { return struct{}{} }, false))
	})
	t.Run("large", func(t *testing.T) {
		TestTyped(t, heapTyped(func(i int) [1 << 18]byte { return [1 << 18]byte{5: byte(i)} }, false))
	})
}

// TestTypedBroken breaks each typed function.
func TestTypedBroken(t *testing.T) {
	value := func(i int) pair { return pair{int64(i) + 1, 1} }
	good := heapTyped(value, false)
	for _, c := range []struct {
		name, check, words string
		change             func(v *Typed[pair])
	}{
		{"dirty", "New", "zero value", func(v *Typed[pair]) { *v = heapTyped(value, true) }},
		{"alias", "New", "overlaps", func(v *Typed[pair]) { p := new(pair); v.New = func() *pair { *p = pair{}; return p } }},
		{"leak", "New", "leaked", func(v *Typed[pair]) { v.Delete = func(*pair) {} }},
		{"no misuse check", "New", "no panic", func(v *Typed[pair]) { v.Misuse = true }},
		{"short", "MakeSlice", "capacity", func(v *Typed[pair]) {
			v.MakeSlice = func(n, c int) []pair { return make([]pair, n, n) }
		}},
		{"no bounds", "SliceBounds", "no panic", func(v *Typed[pair]) {
			v.MakeSlice = func(n, c int) []pair { return make([]pair, max(0, min(n, c, 10)), max(0, min(c, 10))) }
		}},
		{"dirty slice", "MakeSlice", "zero value", func(v *Typed[pair]) {
			v.MakeSlice = func(n, c int) []pair {
				s := make([]pair, c)
				for i := range s {
					s[i].b = 1
				}
				return s[:n]
			}
		}},
		{"append loses", "Append", "Append", func(v *Typed[pair]) {
			v.Append = func(s []pair, e ...pair) []pair {
				s = append(s, e...)
				if len(s) > 50 {
					s[20] = pair{}
				}
				return s
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := good
			c.change(&v)
			for _, k := range v.checks() {
				if k.name == c.check {
					if r := trial.Record(k.run); r == "" || !strings.Contains(r, c.words) {
						t.Errorf("the check %s says %q, want %q in it", c.check, r, c.words)
					}
					return
				}
			}
			t.Fatalf("no check has the name %s", c.check)
		})
	}
}
