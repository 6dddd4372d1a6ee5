// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/bound"
	"github.com/freehold-go/freehold/cmd/bench/usage"
	"github.com/freehold-go/freehold/offheap"
)

func fragmentationWorkloads() []bench.Workload {
	log := bench.Workload{
		Name: "fragmentation/log",
		Doc: "Grow to n live bytes, shrink to a sixteenth, eight times (twice in the quick selection): blocks of 64 B to " +
			"256 KiB (log-uniform), written in full, freed in random order.",
		Op:        "block",
		Size:      "bytes",
		Quick:     []int{128 << 20},
		Full:      []int{1 << 30},
		Measure:   measureFragmentation,
		Adjust:    adjustFragmentation,
		MaxPasses: 3,
		Child:     11 * time.Second,
		Flags:     []bench.Flag{fragmentationFlag},
		Bars:      fragmentationBars("fragmentation/log", "offheap"),
	}
	heap := []bench.Contestant{
		{Name: idleName, Note: "holds an empty table of blocks: the others are corrected by it", Prepare: Fragmentation(nil, nil), Baseline: true},
		{Name: heapName, Note: "make([]byte, n)", Prepare: Fragmentation(heapBytes, nil)},
		{Name: "Go heap, returned", Note: "debug.FreeOSMemory after every shrink", Prepare: Fragmentation(heapBytes, debug.FreeOSMemory), FullOnly: true},
	}
	ours := own(
		bench.Contestant{Name: "offheap", Note: "AllocUninit and Free", Prepare: Fragmentation(offheapUninit, nil)},
		bench.Contestant{Name: "offheap, purged", Note: "and Purge after every shrink", Prepare: Fragmentation(offheapUninit, offheap.Purge), FullOnly: true},
	)
	log.Contestants = slices.Concat(heap, []bench.Contestant{{
		Name: boundName, Note: "bound of the time: unchecked free lists that give nothing back", Prepare: Fragmentation(boundBytes, nil),
	}}, ours)
	big := log
	big.Name = "fragmentation/big"
	big.Doc = "The same with blocks of up to 32 MiB or n/32 (uniform), freed last in, first out."
	big.Flags = nil // it shares the other's
	big.Bars = fragmentationBars("fragmentation/big", "offheap")
	big.Contestants = slices.Concat(heap, []bench.Contestant{{
		Name: boundName, Note: "bound of the time: one unchecked stack that gives nothing back",
		Prepare: func(r *bench.Run) func() uint64 {
			return Fragmentation(func() Bytes {
				pile := bound.NewPile(r.N)
				return Bytes{Alloc: pile.Alloc, Free: pile.Release}
			}, nil)(r)
		},
	}}, ours)
	return []bench.Workload{log, big}
}

// maxGiB is how far fragmentation may grow: what an int of this machine holds, and at most a TiB.
const maxGiB = min(1024, math.MaxInt>>30)

// fragmentationFlag is the size of both workloads.
var fragmentationFlag = bench.Flag{
	Flag: &cli.FloatFlag{Name: "fragmentation-gib", Usage: "let fragmentation grow to `GIB`"},
	Read: func(c *cli.Command, o *bench.Options) error {
		gib := c.Float("fragmentation-gib")
		if !(gib > 0 && gib <= maxGiB) {
			return fmt.Errorf("bench: -fragmentation-gib is %g; it must be more than 0 and at most %d", gib, maxGiB)
		}
		o.Sizes["fragmentation/log"] = []int{int(gib * (1 << 30))}
		o.Sizes["fragmentation/big"] = o.Sizes["fragmentation/log"]
		return nil
	},
}

const (
	idleName    = "idle"
	fragShrink  = 16
	fragCycles  = 8
	fragSample  = 20 * time.Millisecond
	fragSamples = 4096 // room for more than a minute, in every child alike
	fragLow     = 64
	fragHigh    = 256 << 10
	fragLargest = 32 << 20
)

// fragSettle is how long an allocator has after every shrink, before memory is read. Tests do not wait that long.
var fragSettle = time.Second

// A fragmenter is a run of the workload. Its table of blocks is made and touched before the
// measurement, and the idle child has the same table.
type fragmenter struct {
	*bench.Run
	way     Bytes
	idle    bool
	returns func() // returns free memory by hand, or nil
	random  *rand.Rand
	big     bool
	largest int

	blocks  [][]byte
	live    int
	most    int // the largest live so far
	count   int // blocks allocated
	sum     uint64
	machine usage.Machine
	started float64 // machine memory before the first block
	troughs []trough
}

// A trough is the memory that a cycle leaves, in bytes, fragSettle after the shrink.
type trough struct{ live, rss, machine float64 }

// Fragmentation is the Prepare of a contestant of the workloads fragmentation/log and fragmentation/big. returns is
// called after every shrink if it is not nil; a newWay of nil is the idle child.
func Fragmentation(newWay func() Bytes, returns func()) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		f := newFragmenter(r)
		f.returns = returns
		if newWay == nil {
			f.idle = true
		} else {
			f.way = newWay()
		}
		return f.run
	}
}

func newFragmenter(r *bench.Run) *fragmenter {
	f := &fragmenter{
		Run: r, random: newRandom(7), machine: usage.OpenMachine(),
		big: r.Workload == "fragmentation/big", largest: max(1, min(fragLargest, r.N/32)),
	}
	mean := (fragHigh - fragLow) / 8.3178 // by the logarithm of their ratio
	if f.big {
		mean = float64(f.largest) / 2
	}
	f.blocks = make([][]byte, int(float64(r.N)/mean*1.5)+1000)
	for i := range f.blocks {
		f.blocks[i] = fragPattern[:1]
	}
	clear(f.blocks)
	f.blocks = f.blocks[:0]
	f.started = f.machine.Read()
	return f
}

// fragPattern is the data that blocks are filled with.
var fragPattern = func() []byte {
	p := make([]byte, 64<<10)
	for i := range p {
		p[i] = byte(i*7 + i>>8)
	}
	return p
}()

// measureFragmentation runs the cycles once: the pauses in which memory settles are part of the workload.
func measureFragmentation(r *bench.Run, c *bench.Contestant) error {
	round := c.Prepare(r)
	m, err := r.Start()
	if err != nil {
		return err
	}
	r.Checksum(round())
	m.Stop(1, float64(max(1, r.Done)))
	r.LastLiveHeap()
	return r.Err()
}

func (f *fragmenter) run() uint64 {
	sampler := startSampler()
	cycles := fragCycles
	if f.Quick {
		cycles = 2
	}
	for range cycles {
		if !f.idle {
			f.grow()
			f.shrink(f.N / fragShrink)
		}
		if f.returns != nil {
			f.returns()
		}
		time.Sleep(fragSettle)
		f.troughs = append(f.troughs, trough{float64(f.live), usage.RSS(), f.machine.Read() - f.started})
		if f.idle {
			break
		}
	}
	f.shrink(0)
	f.Plot(sampler.stop())
	f.report()
	f.Done = f.count
	return f.sum
}

func (f *fragmenter) size() int {
	if f.big {
		return 1 + f.random.IntN(f.largest)
	}
	return logUniform(f.random, fragLow, fragHigh)
}

func (f *fragmenter) grow() {
	for {
		n := f.size()
		if f.live+n > f.N || len(f.blocks) == cap(f.blocks) {
			break
		}
		b := f.way.Alloc(n)
		for rest := b; len(rest) > 0; {
			rest = rest[copy(rest, fragPattern):]
		}
		f.blocks = append(f.blocks, b)
		f.live += n
		f.count++
	}
	f.most = max(f.most, f.live)
}

func (f *fragmenter) shrink(to int) {
	for f.live > to {
		last := len(f.blocks) - 1
		victim := last
		if !f.big {
			victim = f.random.IntN(len(f.blocks))
		}
		b := f.blocks[victim]
		f.blocks[victim], f.blocks[last] = f.blocks[last], nil
		f.blocks = f.blocks[:last]
		f.sum = f.sum*31 + uint64(b[0])<<16 + uint64(b[len(b)-1])<<8 + uint64(len(b))
		f.live -= len(b)
		f.way.Free(b)
	}
}

// report reports the worst trough by each measure, and the largest live set, to the parent.
func (f *fragmenter) report() {
	worst := func(bytes func(trough) float64) trough {
		w := f.troughs[0]
		for _, t := range f.troughs {
			if bytes(t)*w.live > bytes(w)*t.live {
				w = t
			}
		}
		return w
	}
	rss := worst(func(t trough) float64 { return t.rss })
	machine := worst(func(t trough) float64 { return t.machine })
	f.Report("trough_rss_bytes", rss.rss)
	f.Report("trough_live_bytes", rss.live)
	if !f.idle {
		f.Report("trough_machine_bytes", machine.machine)
		f.Report("trough_machine_ratio", machine.machine/machine.live)
		f.Report("peak_live_bytes", float64(f.most))
	}
}

// adjustFragmentation subtracts the idle child's memory from the resident sets.
func adjustFragmentation(r, idle *bench.Row) {
	if live := r.Extra["trough_live_bytes"]; live > 0 {
		r.Extra["trough_rss_ratio"] = (r.Extra["trough_rss_bytes"] - idle.Extra["trough_rss_bytes"]) / live
	}
	if live := r.Extra["peak_live_bytes"]; live > 0 {
		r.Extra["peak_ratio"] = (r.PeakRSS - idle.PeakRSS) / live
	}
}

// A sampler records the resident set while something runs.
type sampler struct {
	begin time.Time
	quit  chan struct{}
	done  chan bench.Series
}

func startSampler() *sampler {
	s := &sampler{time.Now(), make(chan struct{}), make(chan bench.Series)}
	go s.loop()
	return s
}

func (s *sampler) loop() {
	series := bench.Series{
		Name: "resident set over time", Unit: "MiB",
		Seconds: make([]float64, 0, fragSamples), Values: make([]float64, 0, fragSamples),
	}
	tick := time.NewTicker(fragSample)
	defer tick.Stop()
	for {
		series.Seconds = append(series.Seconds, time.Since(s.begin).Seconds())
		series.Values = append(series.Values, usage.RSS()/(1<<20))
		select {
		case <-tick.C:
		case <-s.quit:
			s.done <- series
			return
		}
	}
}

func (s *sampler) stop() bench.Series {
	close(s.quit)
	return <-s.done
}

// fragmentationBars are the limits that a contestant must keep in one of the workloads.
func fragmentationBars(w, contestant string) []bench.Bar {
	return []bench.Bar{
		bench.AtMost(w+", resident a second after a shrink, by live", 1.3, bench.ExtraValue(w, contestant, "trough_rss_ratio")),
		bench.AtMost(w+", taken from the machine then, by live", 1.3, bench.ExtraValue(w, contestant, "trough_machine_ratio")),
		bench.AtMost(w+", peak, by the largest live set", 1.1, bench.ExtraValue(w, contestant, "peak_ratio")),
	}
}
