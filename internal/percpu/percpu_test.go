// SPDX-License-Identifier: Apache-2.0

package percpu

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// TestExclusive is the promise: two holders of one ID never overlap. It fails when a Go release
// lets a pinned goroutine be preempted or gives two running goroutines one P id (GC-2).
func TestExclusive(t *testing.T) {
	const workers = 8
	const ids = 1 << 12
	inside, plain := make([]atomic.Int32, ids), make([]int, ids) // Without synchronisation of its own: it counts right only if the Pin protects it.
	var total atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 50_000 {
				p := Acquire()
				id := p.ID()
				alone := inside[id].Add(1) == 1
				plain[id]++
				inside[id].Add(-1)
				p.Release()
				total.Add(1)
				if !alone {
					t.Errorf("two goroutines hold ID %d at once", id)
					return
				}
				if i%1000 == 0 {
					runtime.Gosched()
				}
			}
		}()
	}
	for range 5 {
		runtime.GC()
	}
	wg.Wait()
	sum := 0
	for _, n := range plain {
		sum += n
	}
	if int64(sum) != total.Load() {
		t.Fatalf("plain counters under Pins sum up to %d, want %d", sum, total.Load())
	}
}

// TestStopWaits is GC-3: the world does not stop while a goroutine is pinned, or, with the
// fallback, it is seen to be busy.
func TestStopWaits(t *testing.T) {
	var pinned, done atomic.Bool
	var id atomic.Int64
	go func() {
		p := Acquire()
		id.Store(int64(p.ID()))
		pinned.Store(true)
		for i := range 1 << 28 {
			if i == 1<<28-1 {
				done.Store(true)
			}
		}
		p.Release()
	}()
	for !pinned.Load() {
		runtime.Gosched()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	busy := Busy(int(id.Load())) // First: it may be done, and have released the ID, at any moment.
	if !busy && !done.Load() {
		t.Fatal("the world stopped while a goroutine was pinned")
	}
	for !done.Load() {
		runtime.Gosched()
	}
}

func TestDense(t *testing.T) {
	if !Linkname {
		t.Skip("IDs of the fallback are as many as goroutines that held a Pin at once")
	}
	for range 1000 {
		p := Acquire()
		id := p.ID()
		p.Release()
		if id < 0 || id >= runtime.GOMAXPROCS(0) {
			t.Fatalf("ID %d outside [0, GOMAXPROCS=%d)", id, runtime.GOMAXPROCS(0))
		}
	}
}

// TestFewIDs: what few goroutines hold at once takes few IDs, however often they take one, so that
// the state under them stays small.
func TestFewIDs(t *testing.T) {
	if Linkname {
		t.Skip("IDs are those of the Ps")
	}
	var largest atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5000 {
				p := Acquire()
				id := int64(p.ID())
				p.Release()
				for old := largest.Load(); id > old && !largest.CompareAndSwap(old, id); old = largest.Load() {
				}
			}
		})
	}
	wg.Wait()
	// The other tests hold no more than eight at once; a collection may take some away for a while.
	if n := largest.Load(); n >= 100 {
		t.Fatalf("four goroutines use %d IDs", n+1)
	}
}

func BenchmarkPin(b *testing.B) {
	for b.Loop() {
		Acquire().Release()
	}
}
