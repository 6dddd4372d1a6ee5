// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"iter"
	"math/bits"
)

// In the long way slices may overlap: those of one array that begin at each of its elements have in all as many elements as
// the square of its length. So the walk goes through each element once, and the copy copies each once. A walkedUnits has
// the elements that are on the list of what must be walked, and skips those of a long slice in one step.
//
// It divides memory into lines of 64 words. The types are those whose alignment is a word at least. If stale values or unsafe
// code have a unit elsewhere, it may be taken for one that was walked: it stays zero in the copy.
type walkedUnits struct {
	lines []walkedLine // Open addressing by number and type. A power of 2, at most half full.
	count int
}

// A walkedLine is for the units of one type in a line. It holds numbers only, so that the collector does not scan it.
type walkedLine struct {
	number uintptr // One more than how many lines are below. 0: no line.
	key    uintptr // Of the type.
	begun  uint64  // The words in which a unit begins.

	// Units in a row that are on the list: from one that begins in the line up to an address, often far behind it.
	from, until uintptr
}

const (
	walkedWord     = bits.UintSize / 8
	walkedBytes    = 64 * walkedWord
	fewWalked      = 64      // Lines at first.
	mostWalkedKept = 1 << 15 // Lines that are kept for the next clone.
)

// golden is 2^64 by the golden ratio. Products with it have hashes of the other factor in their
// upper bits.
const golden = 0x9E3779B97F4A7C15

// fresh puts units [from, to) of those of a type in a row at src on the list, and yields the parts [lo, hi) that were not there.
func (w *walkedUnits) fresh(key, src, size, from, to uintptr) iter.Seq2[uintptr, uintptr] {
	return func(yield func(lo, hi uintptr) bool) {
		lo, end := from, src+to*size
		for n := from; n < to; {
			first := src + n*size
			ln := w.line(first/walkedBytes+1, key)
			for at := first; n < to && at/walkedBytes+1 == ln.number; at = src + n*size {
				k := ln.old(at, size)
				if k == 0 {
					n++
					continue
				}
				if n > lo && !yield(lo, n) {
					return
				}
				n = min(to, n+k)
				lo = n
			}
			ln.join(first, end, size)
		}
		if to > lo {
			yield(lo, to)
		}
	}
}

// old says how many units from the one at addr on are on the list for sure. If it is 0, the one at addr is new.
func (ln *walkedLine) old(addr, size uintptr) uintptr {
	if addr >= ln.from && addr < ln.until && (addr-ln.from)%size == 0 {
		return (ln.until - addr) / size
	}
	bit := uint64(1) << (addr / walkedWord % 64)
	if ln.begun&bit != 0 {
		return 1
	}
	ln.begun |= bit
	return 0
}

// join notes that all units from the one at first up to end are on the list.
func (ln *walkedLine) join(first, end, size uintptr) {
	switch {
	case first <= ln.until && ln.from <= end && (max(first, ln.from)-min(first, ln.from))%size == 0:
		ln.from, ln.until = min(first, ln.from), max(end, ln.until)
	case end-first > ln.until-ln.from:
		ln.from, ln.until = first, end
	}
}

// line is the line of that number for a type.
func (w *walkedUnits) line(number, key uintptr) *walkedLine {
	if w.count >= len(w.lines)/2 {
		old := w.lines
		w.lines = make([]walkedLine, max(fewWalked, 4*len(old)))
		for _, ln := range old {
			if ln.number != 0 {
				*w.slot(ln.number, ln.key) = ln
			}
		}
	}
	ln := w.slot(number, key)
	if ln.number == 0 {
		ln.number, ln.key = number, key
		w.count++
	}
	return ln
}

// slot is where a line is or belongs.
func (w *walkedUnits) slot(number, key uintptr) *walkedLine {
	mask := uint64(len(w.lines) - 1)
	for i := uint64(number^key) * golden >> 32; ; i++ {
		if ln := &w.lines[i&mask]; ln.number == number && ln.key == key || ln.number == 0 {
			return ln
		}
	}
}

// close empties w and keeps its memory for the next clone, within limits.
func (w *walkedUnits) close() {
	switch {
	case w.count == 0 && len(w.lines) <= fewWalked:
		return
	case w.count > mostWalkedKept || len(w.lines) > max(fewWalked, 16*w.count): // Clearing it would cost a small clone too much.
		*w = walkedUnits{}
	default:
		clear(w.lines)
		w.count = 0
	}
}
