// SPDX-License-Identifier: Apache-2.0

package arenasuite

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freehold-go/freehold/alloctest"
	"github.com/freehold-go/freehold/internal/checks/trial"
)

// start returns a model without operations for one check.
func start(t testing.TB, cfg *Config) *model {
	t.Helper()
	return newModel(t, nil, *cfg)
}

// fill makes values and slices of every type.
func (m *model) fill(rounds int) {
	m.t.Helper()
	for i := range rounds {
		for _, k := range m.a.Types {
			v, err := k.make(m.newSeed(), i%3 == 0)
			m.keep("New of "+k.name(), v, err)
			if i%2 == 0 && len(m.live) < 5*maxLiveValues {
				v, err = k.makeSlice(m.newSeed(), i%5, i%7+5, i%4 == 0, false)
				m.keep("MakeSlice of "+k.name(), v, err)
			}
		}
	}
}

// checkLengths asks for slices that cannot be.
func checkLengths(t testing.TB, cfg *Config) {
	m := start(t, cfg)
	for _, k := range m.a.Types {
		f := k.limits()
		if f == nil {
			continue
		}
		for _, n := range []int{-1, -4096, math.MinInt} {
			m.badSlice(f, k.name(), n, 4)
			m.badSlice(f, k.name(), 0, n)
			m.badSlice(f, k.name(), n, n)
		}
		m.badSlice(f, k.name(), 5, 4)
		for _, n := range []int{math.MaxInt, math.MaxInt - 4095, math.MaxInt/2 + 1} {
			m.badSlice(f, k.name(), 0, n)
			m.badSlice(f, k.name(), n, n)
		}
	}
	m.finish()
}

// checkAppendPlace appends to slices that can grow where they are and to slices that must not:
// after another value was made, and to parts whose capacity ends within the slice.
func checkAppendPlace(t testing.TB, cfg *Config) {
	m := start(t, cfg)
	lengths := []int{0, 1, 3, 7, 8, 60}
	if testing.Short() {
		lengths = []int{0, 1, 7, 60}
	}
	for _, k := range m.a.Types {
		for _, length := range lengths {
			first, err := k.makeSlice(m.newSeed(), length, length, false, false)
			m.keep("MakeSlice", first, err)
			if first == nil || first.rewrite != nil {
				continue // There are no slices.
			}
			grow := func(to *value, from, at, n int, clip bool) *value {
				g, err := k.grow(appendOf{to: to, from: from, at: at, clip: clip, n: n, seed: m.newSeed()})
				m.keep("Append of "+k.name(), g, err)
				m.look(false) // Spoiled values stay so until giveUp checks all of them.
				return g
			}
			grow(first, 0, length, 1, true)
			grow(first, 0, length/2, 2, true)
			grow(first, length/2, length, 1, true)
			second, err := k.makeSlice(m.newSeed(), length, length, false, false)
			m.keep("MakeSlice", second, err)
			for range 5 {
				grow(first, 0, length, 1, true)
			}
			grow(second, 0, length, 0, true)
			grow(second, 0, length, 20, true)
			m.fill(1)
			m.giveUp()
		}
	}
	m.appendToEnds()
	m.finish()
}

// appendToEnds appends to the ends of slices, from an odd element on: where they grow in place, the
// values that are made next must lie where their types may.
func (m *model) appendToEnds() {
	m.t.Helper()
	for _, k := range m.a.Types {
		for _, length := range []int{8, 64} {
			for _, from := range []int{1, 6} {
				m.fill(1) // Every type has a chunk to be cut from now.
				s, err := k.makeSlice(m.newSeed(), length, length, false, false)
				m.keep("MakeSlice", s, err)
				if s != nil && s.rewrite == nil {
					g, err := k.grow(appendOf{to: s, from: from, at: length, n: 1, seed: m.newSeed()})
					m.keep("Append to the end of a slice of "+k.name(), g, err)
				}
				m.fill(1)
				m.giveUp()
			}
		}
	}
}

// checkAppendElsewhere appends in one arena to slices of another, of the Go heap, and of one that
// is gone. The slice appended to stays what it is, in the arena where it is.
func checkAppendElsewhere(t testing.TB, cfg *Config) {
	a, b := start(t, cfg), start(t, cfg)
	for i, k := range a.a.Types {
		other := b.a.Types[i]
		theirs, err := other.makeSlice(b.newSeed(), 5, 5, false, false)
		b.keep("MakeSlice", theirs, err)
		for n := 1; n < 5; n++ { // Of nothing would be the old slice itself.
			if theirs != nil && theirs.rewrite == nil {
				g, err := k.grow(appendOf{to: theirs, at: 5, clip: true, n: n * 3, seed: a.newSeed()})
				a.keep("Append to another arena's slice", g, err)
				if g != nil && a.a.Owns != nil && k.typ().Size() > 0 && (!a.a.Owns(g.value) || b.a.Owns(g.value)) {
					t.Errorf("arenasuite: Append of %s to a slice of another arena grew there", k.name())
				}
			}
			g, err := k.grow(appendOf{at: n, n: n + 1, seed: a.newSeed()})
			a.keep("Append to a slice of the Go heap", g, err)
			b.fill(1)
			a.look(false)
			b.look(false)
		}
		a.look(true)
		b.look(true)
	}
	mine := len(a.live)
	b.a.Free()
	b.die(0)
	for _, v := range b.stale {
		if v.kind == nil || v.rewrite != nil || reflect.ValueOf(v.value).Kind() != reflect.Slice || reflect.ValueOf(v.value).Len() == 0 {
			continue
		}
		for i, k := range b.a.Types {
			if k.typ() == v.kind.typ() {
				// What it copies is anything; what matters is that nothing else changes.
				_ = unlessItFaults(func() error {
					_, err := a.a.Types[i].grow(appendOf{to: v, at: 1, clip: true, n: 3, seed: a.newSeed()})
					return err
				})
				break
			}
		}
	}
	if len(a.live) != mine {
		t.Fatal("arenasuite: the model lost count")
	}
	a.look(true)
	a.finish()
}

// checkLimits holds an arena to a limit, and lifts it.
func checkLimits(t testing.TB, cfg *Config) {
	m := start(t, cfg)
	if m.a.SetLimit == nil || m.a.Held == nil || cfg.Full {
		m.a.Free()
		return
	}
	m.setLimit(10_000)
	for range 200 {
		m.fill(1)
		m.look(false)
		if len(m.live) > maxLiveValues {
			m.die(maxLiveValues / 2) // The model forgets them; the arena does not.
		}
	}
	if m.failures == 0 {
		t.Errorf("arenasuite: %d bytes held, and a limit of 10000 refused nothing", m.a.Held())
	}
	m.look(true)
	m.liftLimit()
	before := m.failures
	m.fill(10)
	if m.failures != before {
		t.Error("arenasuite: values are refused after the limit was lifted")
	}
	m.finish()
}

// checkUseAfterFree calls every function of an arena that was freed.
func checkUseAfterFree(t testing.TB, cfg *Config) {
	for _, used := range []bool{false, true} {
		m := start(t, cfg)
		if used {
			m.fill(5)
		}
		m.a.Free()
		for what, f := range m.a.Uses {
			sayFreed(t, what, f)
		}
		for _, f := range m.a.Resets {
			sayFreed(t, "Reset", f)
		}
		if m.a.Checkpoint != nil {
			sayFreed(t, "Checkpoint", func() { m.a.Checkpoint() })
		}
	}
}

// checkDoubleFree frees arenas twice, at once and when others have their memory. Those must not
// notice.
func checkDoubleFree(t testing.TB, cfg *Config) {
	first := start(t, cfg)
	first.fill(20)
	first.a.Free()
	sayFreed(t, "Free", first.a.Free)
	second := start(t, cfg)
	second.fill(20)
	sayFreed(t, "Free", first.a.Free)
	third := start(t, cfg)
	third.fill(20)
	second.look(true)
	third.look(true)
	second.finish()
	third.finish()
}

// checkCheckpoints rewinds to checkpoints of another arena and to stale ones. Nothing may change.
func checkCheckpoints(t testing.TB, cfg *Config) {
	a, b := start(t, cfg), start(t, cfg)
	if a.a.Checkpoint == nil {
		return
	}
	refuse := func(what string, c any) {
		t.Helper()
		if alloctest.MustPanic(t, func() { a.a.Rewind(c) }, "checkpoint") == "" {
			t.Errorf("arenasuite: Rewind to %s", what)
		}
		a.look(true)
	}
	first := a.a.Checkpoint()
	a.fill(10)
	second := a.a.Checkpoint()
	a.fill(10)
	b.fill(2)
	refuse("another arena's checkpoint", b.a.Checkpoint())
	a.a.Rewind(second)
	a.die(len(a.live) / 2) // The second filling made as many values as the first.
	a.look(true)
	a.a.Rewind(first)
	a.die(0)
	a.fill(3)
	refuse("a checkpoint that was passed by", second)
	a.a.Rewind(first)
	a.die(0)
	if len(a.a.Resets) > 0 {
		a.a.Resets[0]()
		a.fill(3)
		refuse("one before Reset", first)
	}
	a.finish()
	c := start(t, cfg)
	c.fill(1)
	sayFreed(t, "Rewind", func() { a.a.Rewind(first) })
	refused := alloctest.MustPanic(t, func() { c.a.Rewind(first) }, "checkpoint")
	if refused == "" {
		t.Error("arenasuite: Rewind to the checkpoint of an arena that was freed")
	}
	c.finish()
	b.finish()
}

// checkIteration frees, resets and rewinds an arena inside iterations over its values.
func checkIteration(t testing.TB, cfg *Config) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	probe := start(t, cfg)
	names := probe.a.Iterate
	probe.finish()
	for what := range names {
		for how := range 3 {
			m, next := start(t, cfg), start(t, cfg)
			m.fill(3)
			var checkpoint any
			if m.a.Checkpoint != nil {
				checkpoint = m.a.Checkpoint()
			}
			visits, freed := 0, false
			err, panicked := trial.Try(func() error {
				m.a.Iterate[what](100, func() {
					if visits++; visits > 100_000 {
						t.Fatalf("arenasuite: the iteration of a %s does not end", what)
					}
					if visits != 10 {
						return
					}
					switch {
					case how == 1 && len(m.a.Resets) > 0:
						m.a.Resets[0]()
					case how == 2 && checkpoint != nil:
						m.a.Rewind(checkpoint)
					default:
						m.a.Free()
						freed = true
					}
					next.fill(5) // It may have the memory now.
				})
				return nil
			})
			if visits < 10 {
				t.Errorf("arenasuite: the iteration of a %s with 100 values visited %d", what, visits)
			}
			if panicked && isRuntimeError(err) && !isFault(err) {
				t.Errorf("arenasuite: an arena ends inside the iteration of its %s: %v", what, err)
			}
			next.look(true)
			next.finish()
			if !freed {
				m.a.Free()
			}
		}
	}
}

// isRuntimeError says that a panic is Go's own, which does not say what the caller did.
func isRuntimeError(err error) bool { _, is := err.(runtime.Error); return is }

// checkStale reads freed values, while arenas fill the memory with values of all types.
func checkStale(t testing.TB, cfg *Config) {
	m := start(t, cfg)
	for round := range 12 {
		m.fill(12)
		m.readStale(round)
		for _, v := range m.stale {
			if err := v.readStale(); err != nil {
				t.Fatalf("arenasuite: round %d: %v", round, err)
			}
		}
		switch {
		case round%3 == 0:
			m.look(true)
			m.a.Free()
			m.die(0)
			m.a = cfg.New(t)
		default:
			m.reset(round)
		}
		if round%4 == 0 {
			runtime.GC()
		}
	}
	m.finish()
}

// checkParallel has goroutines share an arena, each with a model of its own.
func checkParallel(t testing.TB, cfg *Config) {
	a := cfg.New(t)
	var wg sync.WaitGroup
	seeds := Seeds()
	for worker := range 6 {
		m := &model{t: t, cfg: *cfg, a: a, ops: seeds[len(seeds)-1-worker%4][:500], sharing: true, seed: worker << (bits.UintSize - 24)}
		wg.Go(func() {
			for len(m.ops) > 0 && !t.Failed() {
				m.step(opCode(m.ops.Byte()) % opCount)
				m.look(false)
			}
			m.look(true)
		})
	}
	wg.Wait()
	a.Free()
}

// checkLateFree frees an arena while others allocate: they panic, and nothing else happens.
func checkLateFree(t testing.TB, cfg *Config) {
	for range 10 {
		a := cfg.New(t)
		late := make([]error, 4)
		var freed atomic.Bool
		started := make(chan struct{}, len(late))
		var wg sync.WaitGroup
		for worker := range late {
			k := a.Types[worker%len(a.Types)]
			wg.Go(func() {
				for i, after := 0, 0; after < 1000; i++ {
					if freed.Load() {
						after++
					} else if i > 1000 {
						time.Sleep(time.Microsecond) // The others need not find the memory full.
					}
					// What it would write might be another's by then.
					if late[worker] = k.allocate(); late[worker] != nil {
						return
					}
					if i == 100 {
						started <- struct{}{}
					}
				}
			})
		}
		for range late {
			<-started
		}
		a.Free()
		freed.Store(true)
		wg.Wait()
		for worker, err := range late {
			if err == nil {
				err = fmt.Errorf("no panic")
			}
			alloctest.MustPanic(t, func() { panic(fmt.Errorf("worker %d: %w", worker, err)) }, "freed")
		}
	}
}
