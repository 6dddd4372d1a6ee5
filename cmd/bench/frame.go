package bench

import (
	"math"
	"runtime"
	"slices"
	"time"
)

// Frames of a game or of a simulation: each makes n objects that point to each other and to a large live heap, uses
// them and drops them. What counts is the time that a frame takes by the clock, and the slowest frames most of all.

func init() {
	Register(Workload{
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
		Order:     107,
	},
		Contestant{Name: heapName, Note: "new; freed by the collector", Prepare: Frame(frameHeap)},
		Contestant{Name: "sync.Pool", Note: "Get and Put of *object", Prepare: Frame(framePool)},
		Contestant{Name: slabName, Note: "the bound: one slice on the Go heap, cleared and filled again", Prepare: Frame(frameSlab)},
	)
	addFrameArena()
}

const (
	frameCount      = 10_000
	frameCountQuick = 200
	frameLive       = 512 << 20
	frameLiveQuick  = 32 << 20
	frameWarmUp     = 20 // frames before the clock runs
	// frameHz is how many frames begin in a second, unless -frame-hz says otherwise.
	frameHz    = 60
	maxFrameHz = 10_000
	// The runtime collects by itself when it has not for two minutes. A collection between two frames every minute
	// keeps it from that, so that every cycle that begins by itself was caused by the frames.
	frameCollect = time.Minute
)

// FrameObject is what a frame makes.
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

// FrameWay is a way to make the objects of a frame. Its functions are called once a frame, so that a way writes its own
// loop.
type FrameWay struct {
	// Fill makes an object for each target, with X = its index and Y = k, links it in front of the one before, and
	// returns the last.
	Fill func(targets []*FrameTarget, k int) *FrameObject
	// Put takes the objects back one by one. It is nil where nothing does.
	Put func(head *FrameObject)
	// Free takes all objects back at once. It is nil where nothing does.
	Free func()
}

// Frame is the Prepare of a contestant of the workload frame. Its rounds are frames.
func Frame(newWay func(r *Run) FrameWay) func(r *Run) func() uint64 {
	return func(r *Run) func() uint64 {
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
func frameHeapBeside(r *Run) []*FrameTarget {
	bytes := frameLive
	if r.Quick {
		bytes = frameLiveQuick
	}
	live := make([]*FrameTarget, max(r.N, bytes/(sizeOf[FrameTarget](1)+sizeOf[*FrameTarget](1))))
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
func measureFrames(r *Run, c *Contestant) error {
	frame := c.Prepare(r)
	for range frameWarmUp {
		r.addChecksum(frame())
	}
	times := make([]time.Duration, frameCount)
	if r.Quick {
		times = times[:frameCountQuick]
	}
	runtime.GC()
	stop, err := r.startProfile()
	if err != nil {
		return err
	}
	before := automaticCycles()
	m := startMeter()
	late := r.runFrames(frame, times)
	m.stop(&r.sample, float64(len(times)))
	stop()
	r.Report("frame_gc_cycles", automaticCycles()-before)
	r.Report("frame_late", float64(late))
	r.reportFrames(times)
	r.sample.Rounds = len(times)
	r.sample.LiveHeap = liveHeapAtPeak(r, frame)
	return r.fatal
}

// runFrames runs a frame for each place of times, each at its time if there is a rate, and counts those that began
// late because the one before had not ended.
func (r *Run) runFrames(frame func() uint64, times []time.Duration) (late int) {
	var period time.Duration
	if r.FrameHz > 0 {
		period = time.Duration(float64(time.Second) / r.FrameHz)
	}
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
				next = time.Now() // the beat starts anew, as a screen shows the frame before once more
			}
			next = next.Add(period)
		}
		begin := time.Now()
		r.addChecksum(frame())
		times[i] = time.Since(begin)
	}
	return late
}

// frameStretch is how many frames share a point of the chart.
const frameStretch = 50

// reportFrames reports the distribution of the times, and plots the slowest frame of each stretch.
func (r *Run) reportFrames(times []time.Duration) {
	slowest := Series{Name: "slowest of 50 frames", Unit: "ms"}
	elapsed := time.Duration(0)
	for stretch := range slices.Chunk(times, frameStretch) {
		for _, t := range stretch {
			elapsed += t
		}
		if r.FrameHz > 0 {
			elapsed = time.Duration(float64(len(slowest.Values)*frameStretch) / r.FrameHz * float64(time.Second))
		}
		slowest.Seconds = append(slowest.Seconds, elapsed.Seconds())
		slowest.Values = append(slowest.Values, float64(slices.Max(stretch))/1e6)
	}
	r.Plot(slowest)
	sorted := slices.Sorted(slices.Values(times))
	r.Report("frame_p50_ns", float64(percentile(sorted, 0.5)))
	r.Report("frame_p99.9_ns", float64(percentile(sorted, 0.999)))
	r.Report("frame_max_ns", float64(sorted[len(sorted)-1]))
}

// percentile is the smallest of the sorted times that is not exceeded by the part p of them.
func percentile(sorted []time.Duration, p float64) time.Duration {
	return sorted[max(0, int(math.Ceil(p*float64(len(sorted))))-1)]
}

func frameHeap(*Run) FrameWay {
	return FrameWay{Fill: func(targets []*FrameTarget, k int) (head *FrameObject) {
		for i, target := range targets {
			o := new(FrameObject)
			o.Next, o.Target, o.X, o.Y = head, target, i, k
			head = o
		}
		return head
	}}
}

func framePool(*Run) FrameWay {
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

func frameSlab(r *Run) FrameWay {
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
