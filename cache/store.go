// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"

	"github.com/freehold-go/freehold/offheap"
)

// checkSize is an error if an entry cannot be stored.
func (e *engine) checkSize(key, value int) error {
	if key == 0 || key > mostKey {
		return fmt.Errorf("%w: a key of %d bytes; it must have 1 to %d", ErrSize, key, mostKey)
	}
	if most := e.mostValue(); int64(value) > most {
		return fmt.Errorf("%w: a value of %d bytes; with a budget of %d at most %d", ErrSize, value, e.budget.Load(), most)
	}
	return nil
}

// mostValue is the size of the largest value.
func (e *engine) mostValue() int64 {
	if e.o.keep {
		return 1<<31 - 1
	}
	return min(e.budget.Load()/8, 1<<31-1)
}

// set stores a value. If it returns an error, the key has no value, unless nothing is evicted.
func (e *engine) set(key, value []byte, t deadlines) error {
	_, told, err := e.store(key, value, t, 0, weighed{}, nil)
	e.tell(told)
	return err
}

// put stores a record: the value, or the object. may is that of store.
func (e *engine) put(key []byte, r record, flags byte, may func(slot uint64) bool) error {
	if e.o.objects == nil {
		_, told, err := e.store(key, r.value, r.until, flags, weighed{}, may)
		e.tell(told)
		return err
	}
	r.weight = max(r.weight, 1)
	err := e.checkSize(len(key), 0)
	if most := e.budget.Load() / 8; err == nil && r.weight > most {
		err = fmt.Errorf("%w: an object of weight %d; with a budget of %d at most %d", ErrSize, r.weight, e.budget.Load(), most)
	}
	var told []removal
	if err == nil {
		told, err = e.reserve(r.weight)
	}
	if err != nil {
		_, more := e.takeOut(key, may)
		e.tell(append(told, more...))
		return err
	}
	value := binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen64), uint64(r.weight))
	stored, more, err := e.store(key, value, r.until, flags, r.weighed, may)
	if !stored {
		e.weight.Add(-r.weight)
	}
	e.tell(append(told, more...))
	return err
}

// reserve adds the weight of an object, and evicts others for it, which are told.
func (e *engine) reserve(weight int64) (told []removal, err error) {
	if e.weight.Add(weight) <= e.budget.Load() {
		return nil, nil
	}
	e.mu.Lock()
	ok := e.lighten()
	told = e.unlock()
	if !ok { // The others are in open segments.
		e.lockAll()
		ok = e.lighten()
		e.unlockStripes()
		told = append(told, e.unlock()...)
	}
	if !ok {
		e.weight.Add(-weight)
		return told, fmt.Errorf("cache: %w: no room for an object of weight %d in %d", offheap.ErrLimit, weight, e.budget.Load())
	}
	return told, nil
}

// store stores a value, or an object and its weight, in an entry with flags, if may allows it. It says whether it did. The caller
// tells OnRemove, which may panic, when nothing else is left to do.
func (e *engine) store(key, value []byte, t deadlines, flags byte, o weighed, may func(slot uint64) bool) (stored bool, told []removal, err error) {
	err = e.checkSize(len(key), len(value))
	if err == nil {
		h := maphash.Bytes(e.seed, key)
		if e.o.onRemove == nil {
			done := false
			if done, stored = e.storeFast(h, key, value, t, flags, o, may); done {
				e.stored(t)
				return stored, nil, nil
			}
		}
		var w written
		if w, told, err = e.write(h, key, value, t, flags, o); err == nil {
			var more []removal
			if stored, more, err = e.publish(w, key, may); stored {
				e.stored(t)
			}
			told = append(told, more...)
		}
	}
	if err != nil && !e.o.keep {
		_, more := e.takeOut(key, may)
		told = append(told, more...)
	}
	return stored, told, err
}

// allowed says, under the lock of the bucket, whether a change of a key may be made; slot is the key's, 0 if there
// is none. may decides it. nil stands for a Set or a Delete, which is always allowed, and which wins over a load.
func (e *engine) allowed(may func(slot uint64) bool, key []byte, slot uint64) bool {
	if may == nil {
		e.flights.forget(key)
		return true
	}
	return may(slot)
}

// storeFast is store where the value fits in the place of the older one, or the open segment has room and
// nobody holds it. It holds one lock of the table all the time, so it must not wait for another but that of the flights.
func (e *engine) storeFast(h uint64, key, value []byte, t deadlines, flags byte, o weighed, may func(slot uint64) bool) (done, stored bool) {
	var f found
	e.search(&f, h, key)
	if f.first == nil {
		return false, false
	}
	defer f.unlock()
	if !e.allowed(may, key, f.has()) {
		return true, false
	}
	if f.slot >= 0 {
		slot := *f.at()
		b := e.entry(slot)
		if len(value) <= roomOf(b) && b[0]&(flagDeadline|flagIdle|flagAbsent) == t.flags()|flags && (e.compacts || e.segment(slot&locMask).pins.Load() == 0) { // Those have no views.
			e.lose(slot)
			e.setObject(slot, o.object)
			setValue(b, value)
			setDeadlines(b, t)
			e.counts.replace()
			return true, true
		}
	} else if empty(f.bucket(f.home)) < 0 {
		return false, false
	}
	s := shapeFor(len(key), len(value), e.unit, t.flags()|flags)
	st := e.stripe(h)
	if s.size > e.mostSmall || !st.mu.TryLock() {
		return false, false
	}
	defer st.mu.Unlock()
	seg := st.seg
	if seg == nil || e.full(seg, s.size, o.weight) {
		return false, false
	}
	off := seg.used
	seg.used += s.size
	seg.weight += o.weight
	seg.live.add(s.size)
	s.write(seg.mem[off:], key, value, t)
	loc := e.location(seg, off)
	e.setObject(loc, o.object)
	if f.slot >= 0 {
		e.supersede(&f, loc)
	} else {
		f.put(h>>tagShift<<tagShift | loc)
		e.count.Add(1)
	}
	return true, true
}

// written is an entry that is not in the table yet. Its segment is pinned.
type written struct {
	seg *segment
	off int
	h   uint64
}

// write writes an entry.
func (e *engine) write(h uint64, key, value []byte, t deadlines, flags byte, o weighed) (w written, told []removal, err error) {
	s := shapeFor(len(key), len(value), e.unit, t.flags()|flags)
	w.h = h
	if w.seg, w.off, told, err = e.place(h, s.size, o.weight); err != nil {
		return w, told, err
	}
	s.write(w.seg.mem[w.off:], key, value, t)
	e.setObject(e.location(w.seg, w.off), o.object)
	return w, told, nil
}

// stored does what is due after an entry was stored.
func (e *engine) stored(t deadlines) {
	if t.first() != 0 {
		e.sweeper.need(e)
	}
	if n := e.count.Load(); uint64(n)*64 > e.n.Load()*slots*e.fillNow.Load() && n != e.stuckAt.Load() {
		e.growTable()
	}
}

// publish makes the table lead to an entry that was written, if may allows it.
func (e *engine) publish(w written, key []byte, may func(slot uint64) bool) (ok bool, told []removal, err error) {
	defer w.seg.pins.Add(-1)
	for {
		ok, full, told, err := e.tryPublish(w, key, may)
		if full {
			if err = e.lockAndProvide(); err == nil {
				continue
			}
			w.seg.live.sub(shapeOf(w.seg.mem[w.off:]).size)
		}
		return ok, told, err
	}
}

// tryPublish is publish. full says that there is no free bucket for a chain, and that nothing was done.
func (e *engine) tryPublish(w written, key []byte, may func(slot uint64) bool) (ok, full bool, told []removal, err error) {
	loc := e.location(w.seg, w.off)
	var f found
	e.search(&f, w.h, key)
	if f.first != nil && f.slot < 0 && !f.all && empty(f.bucket(f.home)) < 0 {
		f.unlock()
		e.searchAll(&f, w.h, key)
	}
	if f.first == nil || !e.allowed(may, key, f.has()) {
		e.setObject(loc, nil)
		w.seg.live.sub(shapeOf(w.seg.mem[w.off:]).size)
		if f.first == nil {
			return false, false, nil, ErrClosed
		}
		f.unlock()
		return false, false, nil, nil
	}
	if f.slot >= 0 {
		told = e.supersede(&f, loc)
	} else {
		slot := w.h>>tagShift<<tagShift | loc
		switch {
		case f.put(slot):
		case e.o.keep:
			if !e.chains.add(&f.heads[f.home], slot, func() uint32 { return e.chains.take(mostChained) }) {
				f.unlock()
				return false, true, nil, nil
			}
		default:
			f.in, f.slot = f.home, leastUsed(f.bucket(f.home))
			told = e.drop(&f, Evicted, nil)
			f.put(slot)
		}
		e.count.Add(1)
	}
	f.unlock()
	return true, false, told, nil
}

// lockAndProvide is provide for callers without mu, who have pinned a segment: close waits for them while it has mu.
func (e *engine) lockAndProvide() error {
	for attempt := 0; !e.mu.TryLock(); attempt++ {
		if e.n.Load() == 0 {
			return ErrClosed
		}
		pause(attempt)
	}
	defer e.unlockAndTell()
	if e.n.Load() == 0 {
		return ErrClosed
	}
	return e.provide()
}

// leastUsed is the slot of a full bucket with the fewest uses.
func leastUsed(b *bucket) int {
	least := 1
	for i := 2; i < bucketWords; i++ {
		if b[i]&slotUses < b[least]&slotUses {
			least = i
		}
	}
	return least
}

// setFill looks whether there is memory for more buckets. The caller holds mu.
func (e *engine) setFill() {
	if e.o.keep || e.o.objects == nil && e.held+bucketBytes<<e.shift > e.budget.Load() {
		e.fillNow.Store(fill)
	} else {
		e.fillNow.Store(roomyFill)
	}
}

// growTable adds buckets until the table is not too full.
func (e *engine) growTable() {
	if !e.mu.TryLock() {
		return // The next one who adds an entry does it.
	}
	defer e.unlockAndTell()
	for e.n.Load() != 0 {
		e.setFill()
		if uint64(e.count.Load())*64 <= e.n.Load()*slots*e.fillNow.Load() {
			return
		}
		if e.addPage() != nil || e.o.keep && e.provide() != nil {
			e.stuckAt.Store(e.count.Load()) // Looking for memory takes time: once for each number of entries.
			return                          // Full buckets evict, or have chains.
		}
		e.resize(e.n.Load()+family, e.dropFull)
	}
}

// remove removes a key, if may allows it, and says whether it had a value.
func (e *engine) remove(key []byte, may func(slot uint64) bool) (there bool) {
	there, told := e.takeOut(key, may)
	e.tell(told)
	e.tidy()
	return there
}

// takeOut is remove whose caller tells OnRemove.
func (e *engine) takeOut(key []byte, may func(slot uint64) bool) (there bool, told []removal) {
	var f found
	e.search(&f, maphash.Bytes(e.seed, key), key)
	if f.first == nil || !e.allowed(may, key, f.has()) || f.slot < 0 {
		f.unlock()
		return false, nil
	}
	b := e.entry(*f.at())
	there = b[0]&flagAbsent == 0
	why := Deleted
	if first := deadlinesOf(b).first(); first != 0 && e.now() >= first {
		there, why = false, Expired
	}
	told = e.drop(&f, why, nil)
	f.unlock()
	return there, told
}

// update replaces or removes the value of a key by what f says, which may run several times.
func (e *engine) update(key []byte, f func(old record, ok bool) (record, Op)) error {
	if err := e.checkSize(len(key), 0); err != nil {
		return err
	}
	h := maphash.Bytes(e.seed, key)
	var buf, given []byte // The value, and what f gets of it, which f may change.
	for done := false; !done; {
		var at found
		e.search(&at, h, key)
		if at.first == nil {
			return ErrClosed
		}
		b, l := e.use(&at, false)
		loc := at.has() & locMask
		var old record
		if l.ok {
			buf = append(buf[:0], valueOf(b)...)
			given = append(given[:0], buf...)
			old.value, old.object = given[:len(given):len(given)], e.object(loc)
		}
		at.unlock()
		// same says that the entry is as f has seen it. Then the change is made, and wins over a load. An entry that had
		// expired has other deadlines if it was set in its place since.
		same := func(slot uint64) bool {
			switch done = slot&locMask == loc; {
			case !done || loc == 0:
			case l.ok:
				done = bytes.Equal(valueOf(e.entry(loc)), buf) && e.object(loc) == old.object
			default:
				done = deadlinesOf(e.entry(loc)) == l.until
			}
			return done && e.allowed(nil, key, slot)
		}
		r, op := f(old, l.ok)
		switch op {
		case Keep:
			return nil
		case Remove:
			e.remove(key, same)
		case Store:
			r.until = e.deadlines(e.o.TTL)
			if err := e.put(key, r, 0, same); err != nil {
				return err
			}
		default:
			return fmt.Errorf("cache: Update's function returned Op(%d), which is none", op)
		}
	}
	return nil
}
