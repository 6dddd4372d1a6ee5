// SPDX-License-Identifier: Apache-2.0

package alloctest

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freehold-go/freehold/internal/checks/trial"
)

// Sizes of the concurrent checks. There are more goroutines than most machines in use have
// processors, so that some lose theirs in the middle of an operation.
const (
	workers    = 8
	rounds     = 20_000
	liveBlocks = 40
)

// StressGC runs the garbage collector over and over until the test ends, and alternates its target
// between eager and idle, in a goroutine of its own. [Config.GCStress] uses it.
//
// The target belongs to the whole process: tests that set it must not run at the same time.
func StressGC(t testing.TB) {
	t.Helper()
	old := debug.SetGCPercent(100)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			debug.SetGCPercent([]int{1, 1000, 10, -1}[i%4])
			runtime.GC()
			time.Sleep(100 * time.Microsecond) // On one processor others would starve.
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-done
		debug.SetGCPercent(old)
	})
}

// startConcurrent is start with the collector under stress if the configuration says so.
func startConcurrent(t testing.TB, cfg *Config) Allocator {
	t.Helper()
	a := start(t, cfg)
	if cfg.GCStress {
		StressGC(t)
	}
	return a
}

// A stamped block carries the seed of its pattern.
type stamped struct {
	b    []byte
	seed int
}

// worker is one goroutine of a concurrent check.
type worker struct {
	t   testing.TB
	cfg *Config
	a   Allocator
	id  int
	r   trial.Random
	n   int // Blocks allocated.
	bad bool
}

// alloc returns a stamped block of a random length, mostly small, now and then large. It checks
// that a zeroed block is zero. Its nil is a failure already reported.
func (w *worker) alloc() *stamped {
	size := 1 + w.r.Next(1<<w.r.Next(13))
	if w.r.Next(200) == 0 {
		size = 1 + w.r.Next(200<<10)
	}
	w.n++
	s := &stamped{seed: w.id<<20 + w.n}
	var err error
	switch w.r.Next(4) {
	case 0:
		s.b, err = w.a.TryAllocUninit(size)
	case 1:
		s.b, err = w.a.TryAllocAligned(size, 1<<w.r.Next(8))
	default:
		s.b, err = w.a.TryAlloc(size)
		if i := firstNonZero(s.b); i >= 0 {
			w.fail("byte %d of a fresh block of %d bytes at %#x is %#x, want 0", i, size, addr(s.b), s.b[i])
		}
	}
	if err != nil || len(s.b) != size {
		w.fail("allocation of %d bytes gave %d and error %v", size, len(s.b), err)
		return nil
	}
	fill(s.b, s.seed)
	return s
}

// realloc changes the length of a block.
func (w *worker) realloc(s *stamped) {
	w.verify(s)
	size := 1 + w.r.Next(2*len(s.b))
	old := len(s.b)
	r, err := w.a.TryRealloc(s.b, size)
	if err != nil || len(r) != size {
		w.fail("TryRealloc of %d bytes to %d gave %d and error %v", old, size, len(r), err)
		return
	}
	s.b = r[:min(old, size)]
	w.verify(s)
	s.b = r
	if size > old && firstNonZero(r[old:]) >= 0 {
		w.fail("TryRealloc of %d bytes to %d did not zero the new bytes", old, size)
	}
	fill(s.b, s.seed)
}

// free checks a block and frees it.
func (w *worker) free(s *stamped) {
	w.verify(s)
	w.a.Free(s.b)
}

// verify checks that a block holds what its owner wrote.
func (w *worker) verify(s *stamped) {
	if i := firstDiff(s.b, s.seed); i >= 0 {
		w.fail("byte %d of a live block of %d bytes at %#x is %#x, want %#x: another goroutine has it too",
			i, len(s.b), addr(s.b), s.b[i], pattern(s.seed)[i%period])
	}
}

// fail reports the first failure of a worker only: what follows is mostly the same one.
func (w *worker) fail(format string, args ...any) {
	if !w.bad {
		w.bad = true
		w.t.Errorf("alloctest: goroutine %d: "+format, append([]any{w.id}, args...)...)
	}
}

// runWorkers runs body in several goroutines and waits for all. A panic in one would end the whole
// test binary, so it becomes a failure.
func runWorkers(t testing.TB, cfg *Config, a Allocator, body func(w *worker)) {
	t.Helper()
	var wg sync.WaitGroup
	for id := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			w := &worker{t: t, cfg: cfg, a: a, id: id, r: trial.Random(uint64(id)*7919 + 88172645463325252)}
			err, panicked := trial.Try(func() error { body(w); return nil })
			if panicked && err != nil {
				w.fail("panic: %v", err)
			}
		}()
	}
	wg.Wait()
}

// roundsFor returns how many operations a worker makes.
func roundsFor() int {
	if testing.Short() {
		return rounds / 20
	}
	return rounds
}

// checkOwn lets goroutines allocate, grow and free blocks of their own in random order.
func checkOwn(t testing.TB, cfg *Config) {
	a := startConcurrent(t, cfg)
	runWorkers(t, cfg, a, func(w *worker) {
		var live []*stamped
		for range roundsFor() {
			if w.bad {
				break
			}
			switch i := w.r.Next(liveBlocks); {
			case i >= len(live):
				if s := w.alloc(); s != nil {
					live = append(live, s)
				}
			case w.r.Next(3) == 0:
				w.realloc(live[i])
			default:
				w.free(live[i])
				live[i] = live[len(live)-1]
				live = live[:len(live)-1]
			}
		}
		for _, s := range live {
			w.free(s)
		}
	})
}

// checkHandOff lets half of the goroutines allocate and the other half free.
func checkHandOff(t testing.TB, cfg *Config) {
	a := startConcurrent(t, cfg)
	pipe := make(chan *stamped, 64)
	var makers atomic.Int32
	makers.Store(workers / 2)
	runWorkers(t, cfg, a, func(w *worker) {
		if w.id%2 == 0 {
			defer func() {
				if makers.Add(-1) == 0 {
					close(pipe)
				}
			}()
			for range roundsFor() {
				if s := w.alloc(); s != nil {
					pipe <- s
				}
			}
			return
		}
		defer func() {
			for range pipe { // After a panic the makers must not wait for ever.
			}
		}()
		for s := range pipe {
			w.free(s)
		}
	})
}

// checkExchange lets goroutines put blocks into shared places and free what they find there, and
// purge now and then: any goroutine frees blocks of any other, in random order.
func checkExchange(t testing.TB, cfg *Config) {
	a := startConcurrent(t, cfg)
	var places [workers * 16]atomic.Pointer[stamped]
	runWorkers(t, cfg, a, func(w *worker) {
		for i := range roundsFor() {
			if w.bad {
				return
			}
			s := w.alloc()
			if s == nil {
				return
			}
			if old := places[w.r.Next(len(places))].Swap(s); old != nil {
				if w.r.Next(4) == 0 {
					w.realloc(old)
				}
				w.free(old)
			}
			if p, ok := a.(Purger); ok && w.id == 0 && i%500 == 250 {
				p.Purge()
			}
		}
	})
	for i := range places {
		if s := places[i].Load(); s != nil {
			a.Free(s.b)
		}
	}
}
