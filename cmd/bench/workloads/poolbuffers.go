// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/usage"
	"github.com/freehold-go/freehold/pool"
)

const (
	ownBuffer  = "pool.Buffer"
	ownFrame   = "pool.Frame"
	bytesInUse = "bytes.Buffer in a sync.Pool"
)

// A BufferWay is a way to get a buffer that grows and to give it back. Len is the bytes that were
// written.
type BufferWay struct {
	Get func() io.Writer
	Len func(w io.Writer) int
	Put func(w io.Writer)
}

// stdBuffers keeps each bytes.Buffer, however large it is.
func stdBuffers() BufferWay {
	p := &sync.Pool{New: func() any { return new(bytes.Buffer) }}
	return BufferWay{
		Get: func() io.Writer { return p.Get().(*bytes.Buffer) },
		Len: func(w io.Writer) int { return w.(*bytes.Buffer).Len() },
		Put: func(w io.Writer) {
			w.(*bytes.Buffer).Reset()
			p.Put(w)
		},
	}
}

// ownBuffers keeps Buffers with their last block.
func ownBuffers() BufferWay {
	p := &pool.Pool[pool.Buffer]{Reset: (*pool.Buffer).Reset}
	return BufferWay{
		Get: func() io.Writer { return p.Get() },
		Len: func(w io.Writer) int { return w.(*pool.Buffer).Len() },
		Put: func(w io.Writer) { p.Put(w.(*pool.Buffer)) },
	}
}

func poolBufferWorkloads() []bench.Workload {
	ways := func(prepare func(func() BufferWay) func(*bench.Run) func() uint64) []bench.Contestant {
		return append([]bench.Contestant{{Name: bytesInUse, Prepare: prepare(stdBuffers)}}, own(bench.Contestant{Name: ownBuffer, Prepare: prepare(ownBuffers)})...)
	}
	return []bench.Workload{
		{
			Name: "pool/buffer", Doc: "Buffers filled with 100 B to 1 MB in writes of 700 B, mixed, on two goroutines.",
			Op: "buffer", Size: "buffers", Heap: bytesInUse, Full: []int{1}, Ops: func(int) int { return bufferRound }, Contestants: ways(PoolBuffer),
			Bars: []bench.Bar{bench.AtMost("pool/buffer, pool.Buffer by bytes.Buffer in a sync.Pool", 0.9, bench.TimeRatio("pool/buffer", 0, ownBuffer, bytesInUse))},
		},
		{
			Name: "pool/after-burst", Doc: "The resident memory 2 s after a burst of four buffers of 64 MiB, with a collection each 100 ms.",
			Op: "burst", Size: "buffers", Heap: bytesInUse, Full: []int{1}, Ops: func(int) int { return 1 }, MaxPasses: 1, Contestants: ways(PoolAfterBurst),
			Bars: []bench.Bar{bench.AtMost("pool/after-burst, resident memory, pool.Buffer by bytes.Buffer in a sync.Pool", 0.1,
				bench.ExtraRatio("pool/after-burst", ownBuffer, bytesInUse, "rss_after_bytes"))},
		},
		frameReadersWorkload(),
	}
}

// bufferRound is the number of buffers in a round. Tests set less.
var bufferRound = 1000

// bufferSizes are from 100 to 1,000,000 bytes, each order of magnitude as often as the others.
func bufferSizes(seed uint64) []int {
	r := rand.New(rand.NewPCG(seed, 43))
	sizes := make([]int, bufferRound/2)
	for i := range sizes {
		sizes[i] = int(100 * math.Pow(10, 4*r.Float64()))
	}
	return sizes
}

// PoolBuffer is the Prepare of a contestant of the workload pool/buffer.
func PoolBuffer(newWay func() BufferWay) func(r *bench.Run) func() uint64 {
	return func(*bench.Run) func() uint64 {
		way := newWay()
		return func() uint64 {
			var sums [2]uint64
			var wg sync.WaitGroup
			for g := range sums {
				wg.Go(func() {
					var part [700]byte
					for _, size := range bufferSizes(uint64(g)) {
						w := way.Get()
						fillBuffer(w, part[:], size)
						sums[g] += uint64(way.Len(w))
						way.Put(w)
					}
				})
			}
			wg.Wait()
			return sums[0] + sums[1]
		}
	}
}

func fillBuffer(w io.Writer, part []byte, size int) {
	for size > 0 {
		n, _ := w.Write(part[:min(size, len(part))])
		size -= n
	}
}

// burstSettle is the time after a burst; tests set less.
var (
	burstSettle = 2 * time.Second
	burstBytes  = 64 << 20
)

// PoolAfterBurst is the Prepare of a contestant of the workload pool/after-burst.
func PoolAfterBurst(newWay func() BufferWay) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		before := usage.RSS()
		way := newWay()
		keep = append(keep, way)
		return func() uint64 {
			part := make([]byte, 64<<10)
			var ws []io.Writer
			for range 4 {
				w := way.Get()
				fillBuffer(w, part, burstBytes)
				ws = append(ws, w)
			}
			peak := usage.RSS()
			for _, w := range ws {
				way.Put(w)
			}
			clear(ws)
			for end := time.Now().Add(burstSettle); time.Now().Before(end); time.Sleep(burstSettle / 20) {
				runtime.GC()
			}
			r.Report("rss_peak_bytes", max(0, peak-before))
			r.Report("rss_after_bytes", max(0, usage.RSS()-before))
			return 1
		}
	}
}

const (
	frameReaders = 10_000
	frameBytes   = 4 << 10
)

func frameReadersWorkload() bench.Workload {
	const name = "pool/frame"
	text := bytes.Repeat([]byte("freehold"), frameBytes/8)
	contestant := func(name string, round func(conns io.Writer, r *bench.Run)) bench.Contestant {
		return bench.Contestant{Name: name, Prepare: func(r *bench.Run) func() uint64 {
			return func() uint64 {
				c := &conns{}
				round(c, r)
				return c.n
			}
		}}
	}
	return bench.Workload{
		Name: name, Doc: "A message of 4 KiB is built and written to 10,000 connections; the value is the bytes copied by the message's.",
		Op: "reader", Size: "readers", Full: []int{1}, Ops: func(int) int { return frameReaders },
		Contestants: append([]bench.Contestant{
			contestant(heapName, func(c io.Writer, r *bench.Run) {
				for range frameReaders {
					queue := bytes.Clone(text) // What the queue of a connection takes.
					_, _ = c.Write(queue)
				}
				r.Report("copied", frameReaders)
			}),
		}, own(contestant(ownFrame, func(c io.Writer, r *bench.Run) {
			var b pool.Buffer
			_, _ = b.Write(text)
			written := slices.Collect(b.All())
			f := b.Share()
			copied := 1.0 // The Write above.
			for range frameReaders {
				f.Retain()
			}
			f.Release()
			for range frameReaders {
				for piece := range f.All() {
					if &piece[0] != &written[0][0] {
						copied++
					}
				}
				_, _ = f.WriteTo(c)
				f.Release()
			}
			r.Report("copied", copied)
		}))...),
		Bars: []bench.Bar{bench.AtMost("pool/frame, bytes copied by the message's", 1, bench.ExtraValue(name, ownFrame, "copied"))},
	}
}

// conns counts what is written to connections.
type conns struct{ n uint64 }

func (c *conns) Write(p []byte) (int, error) {
	c.n += uint64(len(p))
	return len(p), nil
}
