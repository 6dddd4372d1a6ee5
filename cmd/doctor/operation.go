// SPDX-License-Identifier: Apache-2.0

package doctor

import "github.com/freehold-go/freehold/cmd/evidence"

// perOperation is the cost of one of the operations that the evidence counts, nil if it counts none.
// gc and alloc are the shares of the collector and of the allocator.
func (a *account) perOperation(gc, alloc float64) *PerOperation {
	w, err := a.ev.Work()
	if err != nil || w == nil {
		return nil
	}
	p := &PerOperation{Name: w.Name, Operations: w.Count}
	profiled := 0.0 // seconds
	if a.ev.CPU != nil {
		profiled = float64(a.ev.CPU.DurationNanos) / 1e9
	}
	switch {
	case w.Seconds > 0:
		p.PerSecond = w.Count / w.Seconds
	case profiled > 0:
		p.PerSecond = w.Count / profiled
	}
	switch {
	case w.CPUSeconds > 0:
		p.CPUSeconds, p.CPUFrom = w.CPUSeconds/w.Count, FromProcess
	case a.total > 0 && w.Seconds > 0 && profiled > 0:
		p.CPUSeconds, p.CPUFrom = a.total/1e9/(p.PerSecond*profiled), FromProfiles
	case a.total > 0:
		p.CPUSeconds, p.CPUFrom = a.total/1e9/w.Count, FromProfiles
		p.WindowAssumed = a.ev.Per.Number == 0
	}
	p.GCSeconds, p.AllocSeconds = gc*p.CPUSeconds, alloc*p.CPUSeconds
	a.allocOf(p, w)
	return p
}

// allocOf fills in what an operation allocates. A single heap profile counts from the program's
// start, so it fits a number of operations in the whole run, and no counter that was read twice.
func (a *account) allocOf(p *PerOperation, w *evidence.Work) {
	bytes, objects, count := w.AllocBytes, w.AllocObjects, w.Count
	p.AllocFrom = FromProcess
	if bytes == 0 {
		if a.ev.Heap[0] == nil && !a.ev.Delta && a.ev.Per.Number == 0 {
			p.AllocFrom = ""
			return
		}
		bytes, objects = a.allocBytes, a.allocObjects
		p.AllocFrom = FromProfiles
		if seconds := a.window.Seconds(); w.Seconds > 0 && seconds > 0 {
			count = p.PerSecond * seconds
		}
	}
	if bytes == 0 {
		p.AllocFrom = ""
	}
	p.AllocBytes, p.AllocObjects = bytes/count, objects/count
}
