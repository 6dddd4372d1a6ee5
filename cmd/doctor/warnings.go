// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"

	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// A Warning is a problem of the evidence: figures of the report are less sure for it, or wrong.
type Warning struct {
	// What names the problem, and How the remedy.
	What string `json:"what"`
	How  string `json:"how"`
}

// warnings are the problems of the evidence, those first that were noted while it was collected.
func (a *account) warnings() []Warning {
	list := []Warning{}
	for _, p := range a.ev.Problems() {
		list = append(list, Warning{p.What, p.How})
	}
	if a.exitHeap {
		list = append(list, Warning{
			fmt.Sprintf("the heap profile has only %s in use, too little for the work of the collector in the CPU profile, so it was taken at the program's exit; the live heap of the run is not in it, and is left out", terminal.Bytes(a.exitInuse)),
			"take the heap profile while the program works, such as from /debug/pprof/heap",
		})
	}
	return list
}

const (
	// trustedLive is the size in bytes of a known live heap from which a heap profile with less than
	// a quarter of it in use is one of the program's exit.
	trustedLive = 8 << 20
	// nearlyNothing is the largest number of bytes in use of a profile that may be one of the exit if
	// the live heap is not known: eight samples at the default rate.
	nearlyNothing = 4 << 20
	// dearCycle and dearByte are more time in nanoseconds than a collection of a small heap takes:
	// for itself, and for each live byte.
	dearCycle, dearByte = 1e6, 2
)

// dropExitHeap drops the bytes in use of a single heap profile that was taken when the data of the
// run was garbage already. Two facts show that: a known live heap that is several times as large,
// or more marking than so small a heap can cause. In the second case the collections were no more
// than the bytes allocated divided by the smallest heap.
func (b *builder) dropExitHeap() {
	if b.ev.Heap[0] != nil || b.ev.Heap[1] == nil || b.noInuse {
		return
	}
	inuse := 0.0
	for _, s := range b.sites {
		inuse += s.inuseBytes
	}
	live, known := b.metric(evidence.MetricLiveHeap)
	switch {
	case known:
		b.exitHeap = live >= trustedLive && inuse < live/4
	case inuse < nearlyNothing && len(b.samples) > 0 && b.allocBytes > 0:
		room := float64(smallestHeap)
		if gogc, ok := b.metric(evidence.MetricGOGC); ok && gogc > 0 && gogc < defaultGOGC {
			room *= gogc / defaultGOGC
		}
		most := max(b.allocBytes/room, 1)
		b.exitHeap = b.mark > enoughMarks*b.period && b.mark/most > dearCycle+dearByte*inuse
	}
	if !b.exitHeap {
		return
	}
	b.noInuse, b.exitInuse = true, inuse
	for _, s := range b.sites {
		s.inuseBytes, s.inuseObjects, s.age = 0, 0, -1
		for i := range s.traces {
			s.traces[i].inuseBytes = 0
		}
	}
}

// enoughMarks is the number of CPU samples in marking from which its time is known well enough.
const enoughMarks = 20
