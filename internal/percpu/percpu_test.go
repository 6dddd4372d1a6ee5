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
	var inside [4096]atomic.Int32
	var plain [4096]int // Without synchronisation of its own: it counts right only if the Pin protects it.
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

func BenchmarkPin(b *testing.B) {
	for b.Loop() {
		Acquire().Release()
	}
}
