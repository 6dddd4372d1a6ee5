// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/bound"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// Frames of a game or of a simulation: each makes n objects that point to each other and to a large
// live heap, uses them and drops them. The figures are the elapsed time of a frame and, most
// important, that of the slowest frames.

func frameWorkloads() []bench.Workload {
	return []bench.Workload{{
		Name: "frame",
		Doc: "Frames that make n objects with pointers to each other and to a live heap of 512 MiB, walk them and drop them; " +
			"CPU/frame has the collector in it. 10,000 frames begin at 60 Hz by the clock, so that the collector can use the " +
			"time between them, as it can in a game. In the quick selection: 200 frames without pauses, 32 MiB.",
		Op:        "frame",
		Size:      "objects",
		Quick:     []int{100_000},
		Full:      []int{100_000},
		Bound:     slabName,
		Measure:   measureFrames,
		MaxPasses: 1,
		Child:     3 * time.Minute,
		Flags:     []bench.Flag{frameFlag},
		Contestants: slices.Concat([]bench.Contestant{
			{Name: heapName, Note: "new; freed by the collector", Prepare: Frame(frameHeap)},
			{Name: "sync.Pool", Note: "Get and Put of *object", Prepare: Frame(framePool)},
			{Name: slabName, Note: "the bound: one slice on the Go heap, cleared and filled again", Prepare: Frame(frameSlab)},
		}, own(
			bench.Contestant{Name: arenaNew, Note: "New[T] in the default arena, reset after each frame", Prepare: Frame(frameNew)},
			bench.Contestant{Name: arenaOf, Note: "a handle that has looked T up, reset after each frame", Prepare: Frame(frameOf)},
			bench.Contestant{Name: arenaPool, Note: "Get and Put of an arena for each frame, and a handle", Prepare: Frame(framePooled), FullOnly: true},
		), frameGoArena()),
		Bars: []bench.Bar{
			bench.AtMost("frame, p99.9, "+arenaOf+" by the Go heap", 0.5, bench.ExtraRatio("frame", arenaOf, heapName, "frame_p99.9_ns")),
			bench.AtMost("frame, collector cycles caused by the frames, "+arenaOf, 0, bench.ExtraValue("frame", arenaOf, "frame_gc_cycles")),
		},
	}}
}

const frameHzName = "frame-hz"

// frameFlag is the number of frames that begin in a second; 0 means one right after the other.
var frameFlag = bench.Flag{
	Flag: &cli.FloatFlag{Name: frameHzName, Usage: "begin `N` frames of frame a second, 0 for no pauses; the default is 60 with -full, 0 without"},
	Read: func(c *cli.Command, o *bench.Options) error {
		hz := c.Float(frameHzName)
		if !(hz >= 0 && hz <= maxFrameHz) {
			return fmt.Errorf("bench: -frame-hz is %g; it must be from 0 to %d", hz, maxFrameHz)
		}
		o.Flags[frameHzName] = strconv.FormatFloat(hz, 'g', -1, 64)
		return nil
	},
}

// framePeriod is the time between the beginnings of two frames, or 0 for no pauses.
func framePeriod(r *bench.Run) (time.Duration, error) {
	hz := float64(frameHz)
	if r.Quick {
		hz = 0
	}
	if text := r.Flags[frameHzName]; text != "" {
		var err error
		if hz, err = strconv.ParseFloat(text, 64); err != nil {
			return 0, fmt.Errorf("bench: frames a second: %w", err)
		}
	}
	if hz == 0 {
		return 0, nil
	}
	return time.Duration(float64(time.Second) / hz), nil
}

const (
	frameCount      = 10_000
	frameCountQuick = 200
	frameLive       = 512 << 20
	frameLiveQuick  = 32 << 20
	frameWarmUp     = 20 // frames before the clock runs
	// frameHz is how many frames begin in a second in a full run, unless -frame-hz says otherwise.
	frameHz    = 60
	maxFrameHz = 10_000
	// The runtime starts a collection after two minutes without one. A forced collection between
	// two frames every minute prevents that, so the frames cause every automatic cycle.
	frameCollect = time.Minute
)

// FrameObject is an object that a frame makes.
type FrameObject struct {
	Next   *FrameObject // the object that was made before
	Target *FrameTarget
	X, Y   int
}

// FrameTarget is a node of the live heap.
type FrameTarget struct {
	left, right *FrameTarget
	id          int
	_           [40]byte
}

// FrameWay is a way to make the objects of a frame. Its functions are called once a frame, so each
// way writes its own loop.
type FrameWay struct {
	// Fill makes an object for each target, with X = its index and Y = k, links it in front of the one before, and
	// returns the last.
	Fill func(targets []*FrameTarget, k int) *FrameObject
	// Put frees the objects one by one. It is nil if the way does not free single objects.
	Put func(head *FrameObject)
	// Free frees all objects at once. It is nil if the way does not.
	Free func()
}

// Frame is the Prepare of a contestant of the workload frame. Its rounds are frames.
func Frame(newWay func(r *bench.Run) FrameWay) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		way := newWay(r)
		live := frameHeapBeside(r)
		k := 0
		return func() uint64 {
			at := k * 7919 % (len(live) - r.N + 1)
			head := way.Fill(live[at:at+r.N], k)
			var sum uint64
			for o := head; o != nil; o = o.Next {
				sum = sum*31 + uint64(o.X+o.Y+o.Target.id)
			}
			r.Peak()
			if way.Put != nil {
				way.Put(head)
			}
			if way.Free != nil {
				way.Free()
			}
			k++
			return sum
		}
	}
}

// frameHeapBeside builds the live heap: a binary tree, of which every node stands in a slice too.
func frameHeapBeside(r *bench.Run) []*FrameTarget {
	bytes := frameLive
	if r.Quick {
		bytes = frameLiveQuick
	}
	live := make([]*FrameTarget, max(r.N, bytes/(bound.SizeOf[FrameTarget](1)+bound.SizeOf[*FrameTarget](1))))
	for i := range live {
		live[i] = &FrameTarget{id: i}
		if i > 0 {
			if parent := live[(i-1)/2]; i%2 == 1 {
				parent.left = live[i]
			} else {
				parent.right = live[i]
			}
		}
	}
	keep = append(keep, live)
	return live
}

// measureFrames is the measurement of frame: the clock of each frame, and CPU time over all.
func measureFrames(r *bench.Run, c *bench.Contestant) error {
	period, err := framePeriod(r)
	if err != nil {
		return err
	}
	frame := c.Prepare(r)
	for range frameWarmUp {
		r.Checksum(frame())
	}
	times := make([]time.Duration, frameCount)
	if r.Quick {
		times = times[:frameCountQuick]
	}
	runtime.GC()
	before := automaticCycles()
	m, err := r.Start()
	if err != nil {
		return err
	}
	late := runFrames(r, frame, period, times)
	m.Stop(len(times), float64(len(times)))
	r.Report("frame_gc_cycles", automaticCycles()-before)
	r.Report("frame_late", float64(late))
	reportFrames(r, period, times)
	r.LiveHeap(frame)
	return r.Err()
}

// automaticCycles counts the collections that the runtime began by itself.
func automaticCycles() float64 {
	s := []metrics.Sample{{Name: "/gc/cycles/automatic:gc-cycles"}}
	metrics.Read(s)
	return float64(s[0].Value.Uint64())
}

// runFrames runs a frame for each element of times, each at its time if there is a period. It
// counts the frames that began late because the frame before had not ended.
func runFrames(r *bench.Run, frame func() uint64, period time.Duration, times []time.Duration) (late int) {
	next := time.Now()
	collected := next
	for i := range times {
		if time.Since(collected) > frameCollect {
			runtime.GC()
			collected = time.Now()
			next = collected
		}
		if period > 0 {
			if wait := time.Until(next); wait > 0 {
				time.Sleep(wait)
			} else if i > 0 {
				late++
				next = time.Now() // the period starts anew, because a screen would show the previous frame once more
			}
			next = next.Add(period)
		}
		begin := time.Now()
		r.Checksum(frame())
		times[i] = time.Since(begin)
	}
	return late
}

// frameStretch is how many frames share a point of the chart.
const frameStretch = 50

// reportFrames reports the distribution of the times, and plots the slowest frame of each stretch.
func reportFrames(r *bench.Run, period time.Duration, times []time.Duration) {
	slowest := bench.Series{Name: "slowest of 50 frames", Unit: "ms"}
	elapsed := time.Duration(0)
	for stretch := range slices.Chunk(times, frameStretch) {
		for _, t := range stretch {
			elapsed += t
		}
		if period > 0 {
			elapsed = time.Duration(len(slowest.Values)*frameStretch) * period
		}
		slowest.Seconds = append(slowest.Seconds, elapsed.Seconds())
		slowest.Values = append(slowest.Values, float64(slices.Max(stretch))/1e6)
	}
	r.Plot(slowest)
	sorted := make([]float64, len(times))
	for i, t := range times {
		sorted[i] = float64(t)
	}
	slices.Sort(sorted)
	r.Report("frame_p50_ns", terminal.Quantile(sorted, 0.5))
	r.Report("frame_p99.9_ns", terminal.Quantile(sorted, 0.999))
	r.Report("frame_max_ns", terminal.Quantile(sorted, 1))
}

func frameHeap(*bench.Run) FrameWay {
	return FrameWay{Fill: func(targets []*FrameTarget, k int) (head *FrameObject) {
		for i, target := range targets {
			o := new(FrameObject)
			o.Next, o.Target, o.X, o.Y = head, target, i, k
			head = o
		}
		return head
	}}
}

func framePool(*bench.Run) FrameWay {
	pool := newPool[FrameObject]()
	return FrameWay{
		Fill: func(targets []*FrameTarget, k int) (head *FrameObject) {
			for i, target := range targets {
				o := pool.Get().(*FrameObject)
				o.Next, o.Target, o.X, o.Y = head, target, i, k
				head = o
			}
			return head
		},
		Put: func(head *FrameObject) {
			for head != nil {
				o := head
				head = o.Next
				*o = FrameObject{}
				pool.Put(o)
			}
		},
	}
}

func frameSlab(r *bench.Run) FrameWay {
	slab := make([]FrameObject, r.N)
	return FrameWay{
		Fill: func(targets []*FrameTarget, k int) (head *FrameObject) {
			slab := slab[:len(targets)]
			for i, target := range targets {
				o := &slab[i]
				o.Next, o.Target, o.X, o.Y = head, target, i, k
				head = o
			}
			return head
		},
		Free: func() { clear(slab) },
	}
}

func frameNew(r *bench.Run) FrameWay {
	a := arenaReused.keepArena(r, defaultArena, 0)
	return FrameWay{
		Fill: func(targets []*FrameTarget, k int) (head *FrameObject) {
			for i, target := range targets {
				o := arena.New[FrameObject](a)
				o.Next, o.Target, o.X, o.Y = head, target, i, k
				head = o
			}
			return head
		},
		Free: func() { a.Reset(arena.Keep) },
	}
}

func frameOf(r *bench.Run) FrameWay {
	a := arenaReused.keepArena(r, defaultArena, 0)
	return FrameWay{
		Fill: func(targets []*FrameTarget, k int) *FrameObject {
			return fillFrame(arena.Of[FrameObject](a), targets, k)
		},
		Free: func() { a.Reset(arena.Keep) },
	}
}

func fillFrame(of arena.Typed[FrameObject], targets []*FrameTarget, k int) (head *FrameObject) {
	for i, target := range targets {
		o := of.New()
		o.Next, o.Target, o.X, o.Y = head, target, i, k
		head = o
	}
	return head
}

func framePooled(r *bench.Run) FrameWay {
	pool := &arena.Pool{Bytes: pooledBytesFor(bound.SizeOf[FrameObject](r.N))}
	var a *arena.Arena
	return FrameWay{
		Fill: func(targets []*FrameTarget, k int) *FrameObject {
			a = pool.Get()
			return fillFrame(arena.Of[FrameObject](a), targets, k)
		},
		Free: func() { pool.Put(a) },
	}
}
