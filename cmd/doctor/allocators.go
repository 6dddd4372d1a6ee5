// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// topAllocators is the number of lines that are listed by each measure.
const topAllocators = 5

// measures are the orders in which a heap profile has top lines.
var measures = []func(*site) float64{
	func(s *site) float64 { return s.allocBytes }, func(s *site) float64 { return s.allocObjects }, func(s *site) float64 { return s.inuseBytes },
}

// allocators are the top lines by bytes, by objects and by bytes in use, nil if there is a CPU
// profile, which says more, or no heap profile.
func (a *account) allocators() (list []Allocator) {
	if a.ev.CPU != nil && a.unknown == "" || a.ev.Heap[1] == nil {
		return nil
	}
	var top []*site
	for _, measure := range measures {
		for _, s := range a.topBy(measure) {
			if !slices.Contains(top, s) {
				top = append(top, s)
			}
		}
	}
	slices.SortStableFunc(top, func(s, t *site) int {
		return cmp.Or(cmp.Compare(t.allocBytes, s.allocBytes), cmp.Compare(t.inuseBytes, s.inuseBytes))
	})
	inuse := total(a.sites, measures[2])
	part := func(v, all float64) float64 {
		if all == 0 {
			return 0
		}
		return v / all
	}
	for _, s := range top {
		list = append(list, Allocator{
			Site: siteAt(s.at), Owner: siteAt(s.owner), AllocBytes: s.allocBytes, AllocBytesShare: part(s.allocBytes, a.allocBytes),
			AllocObjects: s.allocObjects, AllocObjectsShare: part(s.allocObjects, a.allocObjects), InUseBytes: s.inuseBytes, InUseShare: part(s.inuseBytes, inuse),
		})
	}
	return list
}

func (a *account) topBy(measure func(*site) float64) []*site {
	sites := slices.DeleteFunc(slices.Clone(a.sites), func(s *site) bool { return measure(s) <= 0 })
	slices.SortStableFunc(sites, func(s, t *site) int { return cmp.Compare(measure(t), measure(s)) })
	return sites[:min(len(sites), topAllocators)]
}

// verdictAllocators is the verdict on heap profiles alone: the first line by each measure.
func (a *account) verdictAllocators() string {
	text := "The cost is unknown: there is no CPU profile."
	for i, says := range []string{"allocates %s of the bytes", "allocates %s of the objects", "holds %s of the bytes in use"} {
		top := a.topBy(measures[i])
		if len(top) == 0 {
			continue
		}
		share := measures[i](top[0]) / total(a.sites, measures[i])
		text += fmt.Sprintf(" %s "+says+".", stack.ShortName(top[0].at.Func), terminal.Percent(share))
	}
	return text
}
