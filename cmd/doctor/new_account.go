// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/freehold-go/freehold/cmd/doctor/source"
	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/evidence"
)

func newAccount(e *evidence.Evidence) *account {
	b := &builder{
		account: &account{ev: e, src: lazySource{ctx: context.Background(), limit: sourceLimit}, lines: source.NewLines(e.Root), code: stack.NewTable(e.Main, e.CPU, e.Heap[1], e.Heap[0])},
		byKey:   map[siteKey]*site{}, weight: map[*site]float64{}, scanned: map[*site][2]float64{}, touched: map[siteKey]float64{},
	}
	b.traced, b.noInuse = e.Trace.Metrics(), e.NoInUse
	b.window = windowOf(e)
	b.addCPU()
	b.addHeap(e.Heap[0], -1)
	b.addHeap(e.Heap[1], 1)
	b.finish()
	b.unknown = b.unknownCPU()
	return b.account
}

// windowOf is the time between the heap profiles: the evidence's window, or else the difference of
// the profiles' times. With one heap profile it is the time since the program's start, and with
// none the time between the metrics.
func windowOf(e *evidence.Evidence) time.Duration {
	if e.Window > 0 {
		return e.Window
	}
	if e.Heap[0] != nil && e.Heap[1] != nil && e.Heap[1].TimeNanos > e.Heap[0].TimeNanos {
		return time.Duration(e.Heap[1].TimeNanos - e.Heap[0].TimeNanos)
	}
	if up, ok := e.Metrics[1].Get(evidence.MetricUptime); ok && e.Heap[0] == nil && !e.Delta {
		if before, ok := e.Metrics[0].Get(evidence.MetricUptime); ok && e.Heap[1] == nil && before < up {
			up -= before
		}
		return time.Duration(up * float64(time.Second))
	}
	return 0
}

// finish computes what follows from the sums.
func (b *builder) finish() {
	b.heapRate = heapRate(b.ev)
	seconds := b.window.Seconds()
	for _, s := range b.sites {
		// Both ends are estimates from the same samples, so only rounding makes a difference
		// negative.
		s.allocBytes, s.allocObjects = max(s.allocBytes, 0), max(s.allocObjects, 0)
		b.allocBytes += s.allocBytes
		b.allocObjects += s.allocObjects
		if b.noInuse {
			continue
		}
		if seconds > 0 && s.allocObjects > 0 {
			s.age = time.Duration(min(s.inuseObjects/s.allocObjects*seconds, maxAge.Seconds()) * float64(time.Second))
		} else if seconds > 0 && s.inuseObjects > 0 {
			s.age = maxAge
		}
	}
	b.addCPUOfMetrics()
	b.mark = b.cpu[stack.Mark] + b.cpu[stack.MarkIdle] + b.cpu[stack.Assist] + b.cpu[stack.Barrier] + b.cpu[stack.Pause]
	// The scavenger works on pages that sweeping made free, so both go by the bytes allocated.
	b.sweep = b.cpu[stack.Sweep] + b.cpu[stack.Scavenge]
	b.beside = b.slowed()
	b.dropExitHeap()
	for key, ns := range b.touched {
		if s := b.byKey[key]; s != nil {
			s.touchCPU = min(ns, s.cpuNow())
		}
	}
	b.cycles, _ = b.counter(evidence.MetricCyclesTotal)
	b.addState()
	b.addPace()
	b.addCurve()
	slices.SortFunc(b.sites, func(s, t *site) int {
		return cmp.Or(cmp.Compare(t.cpuNow(), s.cpuNow()), cmp.Compare(t.allocBytes, s.allocBytes), cmp.Compare(t.inuseBytes, s.inuseBytes),
			cmp.Compare(s.at.Func, t.at.Func), cmp.Compare(s.at.Line, t.at.Line), cmp.Compare(s.owner.Func, t.owner.Func), cmp.Compare(s.owner.Line, t.owner.Line))
	})
}
