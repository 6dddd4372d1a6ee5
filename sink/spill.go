// SPDX-License-Identifier: Apache-2.0

package sink

import "github.com/freehold-go/freehold/sink/block"

// What is done when all memory is in open objects: their content is spilled, or the epoch ends early.

// relieve frees memory that open objects hold.
func (w *writer) relieve() error {
	if !w.s.o.Budget.Over() { // Some was freed meanwhile.
		return nil
	}
	if d := w.s.o.Spill; d != nil && w.epoch != nil {
		n, err := w.epoch.spillTo(d)
		if n > 0 {
			w.open.Store(w.epoch.unspilled())
			w.s.stats.spilled.Add(n)
			return nil
		}
		if err != nil {
			w.s.o.Logger.Warn("open objects cannot be spilled", "topic", w.p.Topic, "partition", w.p.Number, "error", err)
		}
	}
	return w.endEarly("memory is full of open objects, so an epoch ends before its boundary; raise the memory limit, lower the rotation, or let objects spill to a local disk")
}

// endEarly ends the epoch before its boundary, for a reason that the log has.
func (w *writer) endEarly(reason string) error {
	if w.epoch == nil {
		return nil
	}
	w.s.stats.earlyEnds.Add(1)
	w.s.o.Logger.Warn(reason,
		"topic", w.p.Topic, "partition", w.p.Number, "epoch_bytes", w.epoch.bytes, "limit", w.s.o.Budget.Limit())
	return w.finish()
}

// unspilled is the number of bytes of input whose content is in memory, as far as is known, but at least 1.
func (e *epoch) unspilled() int64 { return max(1, e.bytes-e.spilled) }

// spillTo moves the content of the open objects to files, and returns how much that was.
func (e *epoch) spillTo(d *block.SpillDir) (int64, error) {
	if e.spill == nil {
		e.spill = d.NewSpill()
	}
	var chains []*block.Chain
	for _, o := range e.all() {
		if err := o.collect(false); err != nil {
			return 0, err
		}
		chains = append(chains, o.content)
	}
	n, err := e.spill.Move(chains)
	if n > 0 {
		e.spilled = e.bytes
		for _, o := range e.objects {
			o.spilled = o.extent.bytes
		}
	}
	return n, err
}

// spillNoMore says that the objects have ended.
func (e *epoch) spillNoMore() {
	if e.spill != nil {
		e.spill.Free()
		e.spill = nil
	}
}
