// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/usage"
	"github.com/freehold-go/freehold/pool"
)

// Objects that come and go: sync.Pool, pool.Pool, and a free list of the goroutine's own as the bound.

const (
	syncPool  = "sync.Pool"
	ownPool   = "pool.Pool"
	freeSlice = "slice"
)

// A Pooled is an object with pointers, of 80 bytes.
type Pooled struct {
	Seq  uint64
	n    int
	text string
	to   *int
	buf  [32]byte
}

func poolWorkloads() []bench.Workload {
	pairs := func(name, doc string, all bool, burst int, limit float64) bench.Workload {
		prepare := func(newLoop func() func(n int) uint64) func(r *bench.Run) func() uint64 {
			return func(r *bench.Run) func() uint64 {
				goroutines := 1
				if all {
					goroutines = r.Procs
				}
				return pairRound(goroutines, newLoop)
			}
		}
		return bench.Workload{
			Name: name, Doc: doc, Op: "pair", Size: "objects", Heap: syncPool, Full: []int{1}, Quick: poolQuick(name),
			Ops: func(int) int { return pairsPerRound },
			Contestants: append([]bench.Contestant{
				{Name: syncPool, Note: "Get and Put of a pointer", Prepare: func(r *bench.Run) func() uint64 {
					p := &sync.Pool{New: func() any { return new(Pooled) }}
					return prepare(func() func(int) uint64 { return func(n int) uint64 { return syncPairs(p, n, burst) } })(r)
				}},
				{Name: boundName, Note: "a slice of idle objects for each goroutine", Prepare: prepare(func() func(int) uint64 {
					var free []*Pooled
					return func(n int) uint64 { return slicePairs(&free, n, burst) }
				})},
			}, own(bench.Contestant{Name: ownPool, Note: "Get and Put", Prepare: func(r *bench.Run) func() uint64 {
				p := new(pool.Pool[Pooled])
				return prepare(func() func(int) uint64 { return func(n int) uint64 { return ownPairs(p, n, burst) } })(r)
			}})...),
			Bars: []bench.Bar{bench.AtMost(name+", pool.Pool by sync.Pool", limit, bench.TimeRatio(name, 0, ownPool, syncPool))},
		}
	}
	return []bench.Workload{
		pairs("pool/pair", "Get an object, use it and Put it, on one goroutine.", false, 1, 0.8),
		pairs("pool/pair/all", "The same on as many goroutines as there are Ps at once; CPU time a pair.", true, 1, 0.75),
		pairs("pool/burst", "100 Gets, then 100 Puts, on one goroutine.", false, poolBurst, 0.7),
		{
			Name: "pool/handoff", Doc: "Get here, Put on another goroutine; batches of 512 go over through a channel, two at once, so that the pool's default Max holds all objects.",
			Op: "object", Size: "objects", Heap: syncPool, Full: []int{500 * handoffBatch}, Ops: func(n int) int { return n },
			Contestants: append([]bench.Contestant{{Name: syncPool, Prepare: handoffOf(2, handoffPool, false)}},
				own(bench.Contestant{Name: ownPool, Prepare: handoffOf(2, handoffOwnPool, false)})...),
			Bars: []bench.Bar{bench.AtMost("pool/handoff, pool.Pool by sync.Pool", 0.8, bench.TimeRatio("pool/handoff", 0, ownPool, syncPool))},
		},
		encoderWorkload(), rareWorkload(), peakWorkload(),
	}
}

// poolQuick puts the first workload alone into the quick selection.
func poolQuick(name string) []int {
	if name == "pool/pair" {
		return []int{1}
	}
	return nil
}

const poolBurst = 100

func syncPairs(p *sync.Pool, n, burst int) (sum uint64) {
	if burst == 1 {
		for i := range n {
			x := p.Get().(*Pooled)
			x.Seq = uint64(i)
			sum += x.Seq
			p.Put(x)
		}
		return sum
	}
	var xs [poolBurst]*Pooled
	for i := 0; i < n; i += len(xs) {
		for k := range xs {
			xs[k] = p.Get().(*Pooled)
			xs[k].Seq = uint64(i + k)
		}
		for k := range xs {
			sum += xs[k].Seq
			p.Put(xs[k])
		}
	}
	return sum
}

func ownPairs(p *pool.Pool[Pooled], n, burst int) (sum uint64) {
	if burst == 1 {
		for i := range n {
			x := p.Get()
			x.Seq = uint64(i)
			sum += x.Seq
			p.Put(x)
		}
		return sum
	}
	var xs [poolBurst]*Pooled
	for i := 0; i < n; i += len(xs) {
		for k := range xs {
			xs[k] = p.Get()
			xs[k].Seq = uint64(i + k)
		}
		for k := range xs {
			sum += xs[k].Seq
			p.Put(xs[k])
		}
	}
	return sum
}

func slicePairs(free *[]*Pooled, n, burst int) (sum uint64) {
	list := *free
	var xs [poolBurst]*Pooled
	for i := 0; i < n; i += burst {
		for k := range xs[:burst] {
			var x *Pooled
			if last := len(list) - 1; last >= 0 {
				x, list = list[last], list[:last]
			} else {
				x = new(Pooled)
			}
			x.Seq = uint64(i + k)
			xs[k] = x
		}
		for _, x := range xs[:burst] {
			sum += x.Seq
			list = append(list, x)
		}
	}
	*free = list
	return sum
}

func handoffOwnPool() HandoffWay {
	p := new(pool.Pool[HandoffBlock])
	return HandoffWay{
		Fill: func(b *HandoffBatch, seq uint64) {
			for i := range b {
				x := p.Get()
				x.Seq = seq + uint64(i)
				b[i] = x
			}
		},
		Empty: func(b *HandoffBatch) {
			for i, x := range b {
				p.Put(x)
				b[i] = nil
			}
		},
	}
}

// An encoder has a buffer that is dear to make.
type encoder struct{ buf []byte }

// encode writes 2 KiB in two parts, and calls between after each.
func (e *encoder) encode(seed uint64, between func()) (sum uint64) {
	e.buf = e.buf[:0]
	for range 2 {
		for range 128 {
			seed = seed*6364136223846793005 + 1442695040888963407
			e.buf = append(e.buf, byte(seed>>56), byte(seed>>48), byte(seed>>40), byte(seed>>32), byte(seed>>24), byte(seed>>16), byte(seed>>8), byte(seed))
		}
		between()
	}
	for _, b := range e.buf {
		sum += uint64(b)
	}
	return sum
}

// An encoderPool is one way to keep encoders. made counts the new ones.
type encoderPool struct {
	get  func() *encoder
	put  func(*encoder)
	made atomic.Int64
}

func (p *encoderPool) make() *encoder {
	p.made.Add(1)
	return &encoder{buf: make([]byte, 0, 64<<10)}
}

func syncEncoders() *encoderPool {
	e := new(encoderPool)
	p := &sync.Pool{New: func() any { return e.make() }}
	e.get, e.put = func() *encoder { return p.Get().(*encoder) }, func(x *encoder) { p.Put(x) }
	return e
}

func ownEncoders() *encoderPool {
	e := new(encoderPool)
	p := &pool.Pool[encoder]{New: e.make, Size: func(x *encoder) int { return cap(x.buf) }, MaxSize: 1 << 20}
	e.get, e.put = p.Get, p.Put
	return e
}

// encoderContestants are both pools.
func encoderContestants(prepare func(newPool func() *encoderPool) func(*bench.Run) func() uint64) []bench.Contestant {
	return append([]bench.Contestant{{Name: syncPool, Prepare: prepare(syncEncoders)}}, own(bench.Contestant{Name: ownPool, Prepare: prepare(ownEncoders)})...)
}

const encodersPerGoroutine = 128

func encoderWorkload() bench.Workload {
	const name = "pool/encoder/busy"
	goroutines := 16 * runtime.GOMAXPROCS(0)
	return bench.Workload{
		Name: name, Doc: "Encoders with 64 KiB each, which write 2 KiB on 16 goroutines for each P without a pause; the collector runs every 10 ms. No collection empties a sync.Pool that is always in use, so both ways should cost the same.",
		Op: "use", Size: "objects", Heap: syncPool, Full: []int{1}, Ops: func(int) int { return goroutines * encodersPerGoroutine },
		Contestants: encoderContestants(func(newPool func() *encoderPool) func(*bench.Run) func() uint64 {
			return func(r *bench.Run) func() uint64 {
				p := newPool()
				stop := collectEvery(10 * time.Millisecond)
				var uses int
				r.Cleanup(func() {
					stop()
					r.Report("made_per_million", float64(p.made.Load())*1e6/float64(uses))
				})
				return func() uint64 {
					uses += goroutines * encodersPerGoroutine
					return encoderRound(p, goroutines)
				}
			}
		}),
		Bars: []bench.Bar{bench.AtMost("pool/encoder/busy, pool.Pool by sync.Pool", 1.1, bench.TimeRatio(name, 0, ownPool, syncPool))},
	}
}

func encoderRound(p *encoderPool, goroutines int) uint64 {
	var sum atomic.Uint64
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range encodersPerGoroutine {
				e := p.get()
				sum.Add(e.encode(uint64(g*encodersPerGoroutine+i), runtime.Gosched))
				p.put(e)
			}
		})
	}
	wg.Wait()
	return sum.Load()
}

// collectEvery runs the collector again and again until the result is called.
func collectEvery(d time.Duration) (stop func()) {
	done, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		for t := time.NewTicker(d); ; {
			select {
			case <-done:
				t.Stop()
				return
			case <-t.C:
				runtime.GC()
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// rareBursts is the number of bursts in a round. Tests set less.
var rareBursts = 20

const (
	rareUses = 64 // In a burst.
	// rareSettle is the time after a collection in which the runtime and the pools finish their part
	// of it. In a service it is the rest of the 10 ms until the next one.
	rareSettle = time.Millisecond
)

func rareWorkload() bench.Workload {
	const name = "pool/encoder"
	return bench.Workload{
		Name: name, Doc: "64 encoders with 64 KiB each are used at once after every third collection, as where the collector runs every 10 ms and a burst of requests comes every 30; the extra values are those of a use.",
		Op: "use", Size: "objects", Heap: syncPool, Full: []int{1}, Ops: func(int) int { return rareBursts * rareUses },
		Contestants: encoderContestants(func(newPool func() *encoderPool) func(*bench.Run) func() uint64 {
			return func(r *bench.Run) func() uint64 {
				p := newPool()
				uses, spent := 0, time.Duration(0)
				r.Cleanup(func() {
					r.Report("made_per_use", float64(p.made.Load())/float64(uses))
					r.Report("use_ns", float64(spent)/float64(uses))
				})
				return func() (sum uint64) {
					for i := range rareBursts {
						began := usage.CPU()
						sum += encoderBurst(p, uint64(i))
						spent += usage.CPU() - began
						for range 3 {
							runtime.GC()
							time.Sleep(rareSettle)
						}
					}
					uses += rareBursts * rareUses
					return sum
				}
			}
		}),
		Bars: []bench.Bar{
			bench.AtMost("pool/encoder, CPU time of a use, pool.Pool by sync.Pool", 0.5, bench.ExtraRatio(name, ownPool, syncPool, "use_ns")),
			bench.AtMost("pool/encoder, encoders made, pool.Pool by sync.Pool", 0.05, bench.ExtraRatio(name, ownPool, syncPool, "made_per_use")),
		},
	}
}

// encoderBurst uses rareUses encoders at once.
func encoderBurst(p *encoderPool, seed uint64) (sum uint64) {
	var out [rareUses]*encoder
	for i := range out {
		out[i] = p.get()
		sum += out[i].encode(seed+uint64(i), func() {})
	}
	for _, e := range out {
		p.put(e)
	}
	return sum
}

const (
	peakObjects = 10_000
	peakInUse   = 1000
)

// A peakObject is large beside what a pool keeps for it.
type peakObject struct{ data [4096]byte }

func peakWorkload() bench.Workload {
	const name = "pool/peak"
	contestant := func(name string, newPool func() (get func() *peakObject, put func(*peakObject))) bench.Contestant {
		return bench.Contestant{Name: name, Prepare: func(r *bench.Run) func() uint64 {
			return func() uint64 {
				get, put := newPool()
				before := liveHeap()
				lendPeak(get, put, peakObjects)
				for range 100 {
					lendPeak(get, put, peakInUse)
					runtime.GC()
				}
				r.Report("idle_by_use", max(0, liveHeap()-before)/(peakInUse*4096))
				lendPeak(get, put, 1)
				return peakObjects
			}
		}}
	}
	return bench.Workload{
		Name: name, Doc: fmt.Sprintf("%d objects of 4 KiB at once, then %d at once for 100 collections; the value is what lies idle by what is used.", peakObjects, peakInUse),
		Op: "collection", Size: "objects", Heap: syncPool, Full: []int{1}, Ops: func(int) int { return 100 }, MaxPasses: 3,
		Contestants: append([]bench.Contestant{
			contestant(syncPool, func() (func() *peakObject, func(*peakObject)) {
				p := &sync.Pool{New: func() any { return new(peakObject) }}
				return func() *peakObject { return p.Get().(*peakObject) }, func(x *peakObject) { p.Put(x) }
			}),
		}, own(contestant(ownPool, func() (func() *peakObject, func(*peakObject)) {
			p := &pool.Pool[peakObject]{Max: 2 * peakObjects}
			return p.Get, p.Put
		}))...),
		Bars: []bench.Bar{bench.AtMost("pool/peak, idle bytes by bytes in use, 100 collections after a peak", 1.2, bench.ExtraValue(name, ownPool, "idle_by_use"))},
	}
}

func lendPeak(get func() *peakObject, put func(*peakObject), n int) {
	out := make([]*peakObject, n)
	for i := range out {
		out[i] = get()
		out[i].data[i%4096]++
	}
	for _, x := range out {
		put(x)
	}
}

// liveHeap is the bytes that a collection leaves. The second one frees what the first one's cleanups dropped.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
