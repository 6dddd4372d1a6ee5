// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/freehold-go/freehold/internal/graph"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A place is where a block lies in the original.
type place struct {
	span
	block uint32
	wide  bool // As of a block.
	grown bool // By parts that lie beyond what it was.
}

// layOut finds the blocks that are parts of others: interior pointers, slices of one array.
func (c *cloner) layOut() {
	places := c.places[:0]
	for i := range c.count {
		if b := c.at(i); b.kind == isMemory || b.kind == isArray {
			from := unsafex.PtrAddr(b.src)
			places = append(places, place{span: span{from, from + b.room*b.plan.size}, block: i})
		}
	}
	c.places = places
	places = c.sorted(places)
	if len(places) == 0 {
		return
	}
	whole := places[0]
	for _, p := range places[1:] {
		if p.from >= whole.end {
			c.finish(whole)
			whole = p
			continue
		}
		whole = c.join(whole, p)
	}
	c.finish(whole)
}

// fewPlaces are sorted by comparing.
const fewPlaces = 128

// sorted orders places by address, of those at one address the larger ones first. It is a radix
// sort, which takes a fifth of the time of one that compares.
func (c *cloner) sorted(list []place) []place {
	larger := func(x, y place) int { return cmp.Compare(y.end, x.end) }
	if len(list) < fewPlaces {
		slices.SortFunc(list, func(x, y place) int { return cmp.Or(cmp.Compare(x.from, y.from), larger(x, y)) })
		return list
	}
	low, high := list[0].from, list[0].from
	for i := range list {
		low, high = min(low, list[i].from), max(high, list[i].from)
	}
	const digit = 11
	if cap(c.spare) < len(list) {
		c.spare = make([]place, cap(list))
	}
	from, to := list, c.spare[:len(list)]
	for shift := 0; (high-low)>>shift != 0; shift += digit {
		var at [1 << digit]uint32
		for i := range from {
			at[(from[i].from-low)>>shift%(1<<digit)]++
		}
		sum := uint32(0)
		for i := range at {
			at[i], sum = sum, sum+at[i]
		}
		for i := range from {
			d := &at[(from[i].from-low)>>shift%(1<<digit)]
			to[*d] = from[i]
			*d++
		}
		from, to = to, from
	}
	for i := 0; i < len(from); {
		j := i + 1
		for j < len(from) && from[j].from == from[i].from {
			j++
		}
		slices.SortFunc(from[i:j], larger)
		i = j
	}
	return from
}

// finish notes how much memory a block with all its parts takes.
func (c *cloner) finish(p place) {
	if !p.grown && !p.wide {
		return
	}
	b := c.at(p.block)
	b.room = (p.end - p.from + b.plan.size - 1) / b.plan.size
	b.wide = p.wide
}

// join makes p, which begins in whole, a part of it, and returns what there is then.
func (c *cloner) join(whole, p place) place {
	w, b := c.at(whole.block), c.at(p.block)
	offset := p.from - whole.from
	plain := w.desc().flow != typedFlow && b.desc().flow != typedFlow
	switch {
	case p.end <= whole.end && (plain || b.partOf(w, offset)):
	case p.span == whole.span && w.partOf(b, 0):
		whole.block, p.block = p.block, whole.block
	case p.end > whole.end && graph.SameLayout(w.plan.typ, b.plan.typ) && offset%w.plan.size == 0:
		whole.end, whole.grown = p.end, true
	case plain: // Views of memory that unsafe code made.
		whole.end, whole.wide = max(whole.end, p.end), true
	default:
		c.current = p.block
		panic(refusal{fmt.Errorf("arena: %s of %s: the target of %s, of type %s, lies in memory of type %s, which has no such part: %w",
			c.op, c.at(0).plan.whole, c.path(b.parent, b.at, nil), b.plan.whole, w.plan.whole, ErrUncloneable)})
	}
	c.at(p.block).in = whole.block
	c.lengthen(whole, p)
	if a := c.at(p.block).desc().align; plain && a > c.at(whole.block).desc().align {
		whole.wide = true // Unsafe code again: a byte slice that is used as numbers.
	}
	return whole
}

// lengthen makes a block of plain data copy what its part p copies, too, if that begins in what the block copies or at its end.
// So overlapping slices are copied once, up to the first gap between them.
func (c *cloner) lengthen(whole, p place) {
	w, b := c.at(whole.block), c.at(p.block)
	if !w.plan.flat() || !b.plan.flat() {
		return
	}
	end := p.from + b.live*b.plan.size
	if have := whole.from + w.live*w.plan.size; p.from <= have && end > have {
		w.live = (end - whole.from) / w.plan.size
	}
}

func (b *block) desc() *typeDesc { return b.plan.desc }

// partOf says whether block b is a part of w at an offset, as its type has it.
func (b *block) partOf(w *block, offset uintptr) bool {
	t, size := b.plan.typ, b.plan.size
	if graph.SameLayout(w.plan.typ, t) && offset%size == 0 {
		return true
	}
	offset %= w.plan.size
	return offset+b.room*size <= w.plan.size && graph.Contains(w.plan.typ, offset, t, b.room)
}
