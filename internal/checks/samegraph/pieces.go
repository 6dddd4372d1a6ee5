// SPDX-License-Identifier: Apache-2.0

package samegraph

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// A piece is memory of the graph and of its copy.
type piece struct {
	from, to uintptr
	live, n  uintptr // Bytes: live ones were compared, those behind them are spare.
	path     trail
}

func (p *piece) delta() uintptr { return p.to - p.from }

func (p *piece) inGraph() Span { return Span{p.from, p.from + p.n} }
func (p *piece) inCopy() Span  { return Span{p.to, p.to + p.n} }

type pieces []piece

// check checks how all pieces lie: two that overlap in the graph overlap in the copy by the same
// bytes, and others do not overlap there; none is in both; spare memory of the copy is zero.
func (list pieces) check() error {
	if err := list.overlaps("graph", (*piece).inGraph); err != nil {
		return err
	}
	if err := list.overlaps("copy", (*piece).inCopy); err != nil {
		return err
	}
	for i, j := list.sorted((*piece).inGraph), list.sorted((*piece).inCopy); len(i) > 0 && len(j) > 0; {
		a, b := i[0].inGraph(), j[0].inCopy()
		switch {
		case a.End <= b.From:
			i = i[1:]
		case b.End <= a.From:
			j = j[1:]
		default:
			return fmt.Errorf("%s and the copy of %s share %#x", i[0].path, j[0].path, max(a.From, b.From))
		}
	}
	return list.checkSpare()
}

// sorted is the pieces by their places, without those that lie in others.
func (list pieces) sorted(where func(p *piece) Span) (outer []*piece) {
	for _, p := range list.byPlace(where) {
		if len(outer) == 0 || where(p).End > where(outer[len(outer)-1]).End {
			outer = append(outer, p)
		}
	}
	return outer
}

// byPlace is the pieces by their places.
func (list pieces) byPlace(where func(p *piece) Span) []*piece {
	all := make([]*piece, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	slices.SortFunc(all, func(x, y *piece) int {
		a, b := where(x), where(y)
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(b.End, a.End))
	})
	return all
}

// overlaps checks that pieces that overlap on one side lie alike on the other.
func (list pieces) overlaps(side string, where func(p *piece) Span) error {
	var widest *piece
	for _, p := range list.byPlace(where) {
		if widest != nil && where(p).From < where(widest).End && p.delta() != widest.delta() {
			return fmt.Errorf("%s at %#x and %s at %#x overlap in the %s; the copies are at %#x and %#x",
				widest.path, widest.from, p.path, p.from, side, widest.to, p.to)
		}
		if widest == nil || where(p).End > where(widest).End {
			widest = p
		}
	}
	return nil
}

// checkSpare checks that memory of the copy is zero if it is behind the length of every slice.
func (list pieces) checkSpare() error {
	live := list.byPlace((*piece).inCopy)
	for i := range list {
		p := &list[i]
		at, end := p.to+p.live, p.to+p.n
		for k := 0; k < len(live) && at < end; k++ {
			l := Span{live[k].to, live[k].to + live[k].live}
			if l.End <= at {
				continue
			}
			if l.From > at && !isZero(at, min(l.From, end)) {
				break
			}
			at = l.End
		}
		if at < end && !isZero(at, end) {
			return fmt.Errorf("%s at %#x has spare memory in the copy, at %#x to %#x, that is not zero", p.path, p.from, at, end)
		}
	}
	return nil
}

func isZero(from, end uintptr) bool {
	return !slices.ContainsFunc(unsafex.Bytes(from, end-from), func(b byte) bool { return b != 0 })
}
