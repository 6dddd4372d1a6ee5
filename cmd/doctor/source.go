// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/freehold-go/freehold/cmd/doctor/source"
	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// sourceSites is the number of sites, the most important ones, whose source is read.
const sourceSites = 60

// sources is the source at hand, nil if there is none.
func (a *account) sources() *source.Module {
	if !a.src.tried && a.ev.Root != "" {
		a.src.tried = true
		a.src.module, a.src.err = source.Open(a.src.ctx, source.Options{Root: a.ev.Root, Cache: source.CacheFolder(), Limit: a.src.limit}, a.hotFrames())
	}
	return a.src.module
}

// missingSource says what the program's source would add to the report, or which parts of it could
// not be read.
func (a *account) missingSource() (list []Missing) {
	if len(a.sites) == 0 {
		return nil
	}
	const why = "it shows which calls repeat work, where values end, and which structs would be smaller in another order"
	s := a.sources()
	switch {
	case s == nil && a.src.err == nil:
		return []Missing{{"the program's source", why, "run the doctor in the folder of the program's module, or name the folder with -source"}}
	case s == nil:
		return []Missing{{"the program's source", why, a.src.err.Error()}}
	}
	for _, problem := range s.Problems {
		list = append(list, Missing{"a part of the program's source", why, problem})
	}
	return list
}

// hotFrames are the lines of the most important sites: by time in the allocator, by bytes
// allocated, or by bytes in use.
func (a *account) hotFrames() (hot []*stack.Frame) {
	inuse := 0.0
	for _, s := range a.sites {
		inuse += s.inuseBytes
	}
	weight := func(s *site) float64 {
		w := a.share(s.cpuNow())
		if a.allocBytes > 0 {
			w = max(w, s.allocBytes/a.allocBytes)
		}
		if inuse > 0 {
			w = max(w, s.inuseBytes/inuse)
		}
		return w
	}
	sites := slices.Clone(a.sites)
	slices.SortStableFunc(sites, func(s, t *site) int { return cmp.Compare(weight(t), weight(s)) })
	for _, s := range sites[:min(len(sites), sourceSites)] {
		for _, f := range []*stack.Frame{s.at, s.owner} {
			if !f.Std && !f.Runtime {
				hot = append(hot, f)
			}
		}
	}
	return hot
}

// allocatesAt lists what a line allocates, as far as its source is at hand.
func (a *account) allocatesAt(at *stack.Frame) []source.Expression {
	if s := a.sources(); s != nil {
		return s.Expressions(at)
	}
	return nil
}

// sortOffer is the sentence that offers sortbuf, if the function or the file around a line of the
// user's sorts strings or slices of bytes, and the line makes some as far as its source is at hand.
func (a *account) sortOffer(at *stack.Frame) string {
	s := a.sources()
	if s == nil || !at.User {
		return ""
	}
	sort, made := s.Sort(at), s.Expressions(at)
	if sort.Type == "" || len(made) > 0 && !slices.ContainsFunc(made, func(m source.Expression) bool { return m.Type.Text }) {
		return ""
	}
	return fmt.Sprintf(" If this is the %s that %s:%d sorts, and it takes many megabytes, a sortbuf.Sorter keeps the records off the heap and sorts them there (docs/sorting.md).",
		sort.Type, stack.Base(at.File), sort.Line)
}

// cacheOffer is the sentence that offers package cache, if a line of the sites, whose memory lives
// long, assigns to a map, as far as its source is at hand. The map may be a cache or an index.
func (a *account) cacheOffer(sites []*site) string {
	for _, s := range sites {
		for _, m := range a.allocatesAt(s.owner) {
			if s.owner.User && m.Kind == source.KindMapAssign {
				return fmt.Sprintf(" If %s is a cache, package cache keeps its entries off the heap within a budget of bytes, and drops those that are used least; a cache.Map drops none (docs/cache.md).", m.Into)
			}
		}
	}
	return ""
}
