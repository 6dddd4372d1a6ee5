// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// TestStress is a program that breaks the promise of Free all the time: it keeps values of every
// kind that were given up and reads them, while other arenas recycle their memory and the collector
// runs. Nothing that is alive may change, on the Go heap least of all, no value may have bits that
// its type does not have, and the collector must be content.
//
// Goroutines take turns: what one reads that another has now would be a data race, for which
// nothing is promised. The collector takes no turns.
func TestStress(t *testing.T) {
	testenv.LowerGCPercent(t, 20)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	until := time.Now().Add(testenv.StressTime(t, 1500*time.Millisecond))
	var turn sync.Mutex
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				runtime.GC()
			}
		}
	})
	var workers sync.WaitGroup
	for worker := range 3 {
		workers.Go(func() {
			s := newStress(t, rand.New(rand.NewPCG(seed, uint64(worker))), worker)
			for time.Now().Before(until) && !t.Failed() {
				turn.Lock()
				for range 20 {
					s.step()
				}
				turn.Unlock()
			}
			turn.Lock()
			defer turn.Unlock()
			s.verify(true)
			t.Logf("worker %d: %d values, %d arenas, %d looks at stale values", worker, s.made, s.arenas, s.looks)
			for _, w := range s.worlds {
				w.end()
			}
		})
	}
	workers.Wait()
	close(stop)
	wg.Wait()
}

// A relic is a value in an arena: what it must be while it is alive, and what it may be afterwards.
type relic struct {
	live, stale func() error
}

// A stressWorld is one arena and its live values.
type stressWorld struct {
	arena    *arena.Arena
	pointers bool
	bools    bool
	live     []relic
	points   []arena.Checkpoint
	counts   []int
	end      func()
}

// stress is one goroutine's part.
type stress struct {
	t      *testing.T
	rng    *rand.Rand
	pool   arena.Pool
	worlds []*stressWorld
	stale  []relic
	heap   []relic // Values of the Go heap proper: what a forged pointer would spoil.

	seed, made, arenas, looks int
	typed                     bool // Memory of a type is its own: not with the kill switch, not needed there.
}

func newStress(t *testing.T, rng *rand.Rand, worker int) *stress {
	s := &stress{t: t, rng: rng, seed: worker * 1e8, typed: !freehold.HeapMode()}
	for range 4 {
		s.worlds = append(s.worlds, s.open())
	}
	return s
}

// open makes an arena of any kind.
func (s *stress) open() *stressWorld {
	s.arenas++
	w := &stressWorld{pointers: true, bools: true}
	switch s.rng.IntN(8) {
	case 0:
		w.arena, w.pointers = arena.NewOffHeap(arena.Options{}), false
	case 1:
		w.arena, w.pointers, w.bools = arena.NewFixed(1<<20), false, false
	case 2:
		w.arena = arena.NewShared()
	case 3, 4:
		a := s.pool.Get()
		w.arena, w.end = a, func() { s.pool.Put(a) }
		return w
	default:
		w.arena = arena.NewArena()
	}
	w.end = w.arena.Free
	return w
}

// step does one thing to one of the arenas.
func (s *stress) step() {
	i := s.rng.IntN(len(s.worlds))
	w := s.worlds[i]
	switch k := s.rng.IntN(400); {
	case k < 2:
		s.verifyWorld(w, true)
		if w.end(); k == 0 && w.pointers { // If the arena is dropped without Free, its values live on on the Go heap.
			w.live = w.live[:len(w.live)/2]
		}
		s.bury(w, 0)
		s.worlds[i] = s.open()
	case k < 5:
		modes := []arena.Mode{arena.Keep, arena.GiveBack, arena.KeepUpTo(int64(s.rng.IntN(50_000)))}
		w.arena.Reset(modes[s.rng.IntN(len(modes))])
		s.bury(w, 0)
		w.points, w.counts = w.points[:0], w.counts[:0]
	case k < 12 && len(w.points) < 10:
		w.points, w.counts = append(w.points, w.arena.Checkpoint()), append(w.counts, len(w.live))
	case k < 20 && len(w.points) > 0:
		n := s.rng.IntN(len(w.points))
		w.arena.Rewind(w.points[n])
		s.bury(w, w.counts[n])
		w.points, w.counts = w.points[:n+1], w.counts[:n+1]
	case k == 20 && w.pointers && len(w.points) == 0: // The arena is dropped without Free: its values live on for a while.
		s.heap = append(s.heap, w.live...)
		s.worlds[i] = s.open()
	case k < 150:
		s.look(10)
	case k < 160:
		s.verifyWorld(w, false)
	case k < 200:
		s.onHeap()
	default:
		s.make(w)
		if len(w.live) > 400 {
			w.arena.Reset(arena.KeepUpTo(1 << 16))
			s.bury(w, 0)
			w.points, w.counts = w.points[:0], w.counts[:0]
		}
	}
}

// bury makes the values from the n-th on stale ones.
func (s *stress) bury(w *stressWorld, n int) {
	for _, r := range w.live[n:] {
		if len(s.stale) < 3000 {
			s.stale = append(s.stale, r)
		} else {
			s.stale[s.rng.IntN(len(s.stale))] = r
		}
	}
	clear(w.live[n:])
	w.live = w.live[:n]
}

// look reads some stale values.
func (s *stress) look(n int) {
	for range min(n, len(s.stale)) {
		s.looks++
		if err := faultless(s.stale[s.rng.IntN(len(s.stale))].stale); err != nil && s.typed {
			s.t.Errorf("a stale value: %v", err)
		}
	}
}

func (s *stress) verify(all bool) {
	for _, w := range s.worlds {
		s.verifyWorld(w, all)
	}
	for _, r := range s.heap {
		if err := r.live(); err != nil {
			s.t.Errorf("the Go heap: %v", err)
		}
	}
}

func (s *stress) verifyWorld(w *stressWorld, all bool) {
	for i, r := range w.live {
		if !all && s.rng.IntN(4) != 0 {
			continue
		}
		if err := r.live(); err != nil {
			s.t.Errorf("value %d of %d: %v", i, len(w.live), err)
			return
		}
	}
}

// onHeap makes a value on the Go heap, where the next collection might find it spoilt, and forgets
// others.
func (s *stress) onHeap() {
	s.seed++
	l, want := leafValue(s.seed), leafValue(s.seed)
	s.heap = append(s.heap, relic{live: func() error { return differ(&l, &want) }})
	if len(s.heap) > 2000 {
		for _, r := range s.heap[:1000] {
			if err := r.live(); err != nil {
				s.t.Errorf("the Go heap: %v", err)
			}
		}
		s.heap = append([]relic(nil), s.heap[1000:]...)
	}
}

func differ[T any](got, want *T) error {
	if !reflect.DeepEqual(*got, *want) {
		return fmt.Errorf("a live %T at %p is %+v, the model has %+v", *got, got, *got, *want)
	}
	return nil
}

// make makes one value of some kind.
func (s *stress) make(w *stressWorld) {
	s.made++
	s.seed += 10
	makers := []func(s *stress, w *stressWorld) relic{stressNumbers, stressBytes, stressText, stressBytesOdd, stressNumberMap}
	if w.bools {
		makers = append(makers, stressBools, stressBoolSlice)
	}
	if w.pointers {
		makers = append(makers, stressLeaf, stressLeaf, stressLeaves, stressStrings, stressAny, stressFunc, stressMap, stressTree, stressClone)
	}
	if w.arena.Stats().InUse > 700_000 {
		w.arena.Reset(arena.GiveBack)
		s.bury(w, 0)
		w.points, w.counts = w.points[:0], w.counts[:0]
	}
	w.live = append(w.live, makers[s.rng.IntN(len(makers))](s, w))
}

func stressNumbers(s *stress, w *stressWorld) relic {
	p, v := arena.New[pair](w.arena), pair{int64(s.seed), ^int64(s.seed)}
	*p = v
	return relic{func() error { return differ(p, &v) }, func() error { _ = p.a + p.b; return nil }}
}

// size is a number of elements, mostly small.
func (s *stress) size() int { return s.rng.IntN(1 << s.rng.IntN(9)) }

func stressBytes(s *stress, w *stressWorld) relic {
	b := arena.Bytes(w.arena, strings.Repeat(fmt.Sprint(s.seed), s.size()))
	want := string(b)
	return relic{func() error {
		if string(b) != want {
			return fmt.Errorf("%d live bytes at %p changed", len(b), b)
		}
		return nil
	}, func() error { _ = string(b); return nil }}
}

func stressBytesOdd(s *stress, w *stressWorld) relic {
	v := three{byte(s.seed), byte(s.seed >> 8), 1}
	list := arena.MakeSlice[three](w.arena, 0, s.rng.IntN(4))
	for range s.size() {
		list = arena.Append(w.arena, list, v)
	}
	return relic{func() error {
		for i := range list {
			if list[i] != v {
				return fmt.Errorf("element %d of %d at %p is %v, the model has %v", i, len(list), list, list[i], v)
			}
		}
		return nil
	}, func() error { _ = fmt.Sprint(list); return nil }}
}

func stressText(s *stress, w *stressWorld) relic {
	b := arena.NewBuilder(w.arena)
	for range s.rng.IntN(30) {
		fmt.Fprint(b, s.seed, " ")
	}
	text, want := b.String(), strings.Clone(b.String())
	return relic{func() error { return differ(&text, &want) }, func() error { _ = strings.Fields(text); return nil }}
}

var twice = [2]int{1, 2}

func stressBools(s *stress, w *stressWorld) relic {
	p, v := arena.Of[mixed](w.arena).New(), mixed{int32(s.seed), true}
	*p = v
	return relic{func() error { return differ(p, &v) }, func() error { return staleMixed(p) }}
}

// staleMixed indexes with a bool, which Go does without a check of its bits.
func staleMixed(p *mixed) error {
	if b := bits(p.ok); b != 0 && b != 1 || twice[b] != b+1 {
		return fmt.Errorf("a bool at %p has the bits %d", p, b)
	}
	return nil
}

func stressBoolSlice(s *stress, w *stressWorld) relic {
	list := arena.MakeSlice[mixed](w.arena, s.size(), 300)
	for i := range list {
		list[i] = mixed{int32(s.seed + i), i%2 == 0}
	}
	list = arena.Append(w.arena, list, mixed{-1, true})
	want := append([]mixed(nil), list...)
	return relic{func() error { return differ(&list, &want) }, func() error {
		for i := range list[:cap(list)] {
			if err := staleMixed(&list[:cap(list)][i]); err != nil {
				return err
			}
		}
		return nil
	}}
}
