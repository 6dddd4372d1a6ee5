// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"
	"strings"
	"time"

	"github.com/freehold-go/freehold/cmd/doctor/source"
	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

const (
	// arenaLife is how long the objects of one unit of work live at most for an arena to be proposed:
	// what lives longer is in a queue, a connection or a cache.
	arenaLife = 500 * time.Millisecond
	// arenaOwn is the least part of a group's cost that the user's own code must allocate: the code
	// of others takes no arena.
	arenaOwn = 0.8
	// arenaKept is a part of the bytes allocated in the window. If more than that is in use at its
	// end, some of the values leave their unit of work.
	arenaKept = 0.1
	// mainSite is the least part of a group's cost at which a site is checked for itself.
	mainSite = 0.1
)

// arenaUnit is the unit of work for which an arena suits a group. If none does, why says the reason
// in words that follow "because". An arena suits if the user's own code makes the memory, in a
// function that returns or in a loop that is known, and none of it is seen to leave.
func (a *account) arenaUnit(g group) (u unit, why string) {
	all, own := total(g.sites, a.cost), 0.0
	for _, s := range g.sites {
		if s.at.User {
			own += a.cost(s)
		}
	}
	if own < arenaOwn*all {
		return u, a.makers(g.sites) + " makes the memory, and takes no arena"
	}
	u = a.unitOf(g)
	if u, why = a.loopOf(g, u); why != "" {
		return u, why
	}
	t := a.sum(g.sites)
	age, known := a.ageOf(g.sites)
	switch {
	case !known && !benchmarked(g.sites[0]):
		return u, "it is not known how long the values live; two heap profiles, from the start and the end of the window, would show it"
	case known && age >= arenaLife:
		return u, "the values live too long for one unit of work"
	case t.allocBytes > 0 && t.inuseBytes > arenaKept*t.allocBytes:
		return u, "some of the values stay in use"
	}
	for _, s := range g.sites {
		if a.cost(s) < mainSite*all {
			continue
		}
		if a.leaves(s, u) {
			return u, "values are handed to other goroutines, or to a pool, at " + s.at.Place()
		}
	}
	return u, ""
}

// benchmarked reports whether a benchmark of package testing makes a site's memory. Its heap profile
// is taken at the end, and shows what an iteration leaves in use, because there are many alike.
func benchmarked(s *site) bool {
	return slices.ContainsFunc(s.frames, func(f *stack.Frame) bool { return f.Package == "testing" })
}

// loopOf corrects a unit by the source of its function: a function that calls the makers in a loop
// does not return between two rounds, as the reader of a connection does not.
func (a *account) loopOf(g group, u unit) (unit, string) {
	frames := g.sites[0].frames
	i := slices.IndexFunc(frames, func(f *stack.Frame) bool { return f.Func == u.fn })
	if i < 0 {
		return u, "it is not known where the use of the memory ends"
	}
	loop, read := a.lines.InLoop(frames[i])
	switch {
	case read && loop && !u.loop:
		u.loop, u.may = true, false
		if i > 0 {
			u.calls = frames[i-1].Func
		}
	case read && !loop && u.loop:
		return u, "the loop around it is not in " + stack.ShortName(u.fn)
	case u.may:
		return u, "it is not known where the use of the memory ends"
	}
	return u, ""
}

// leaves reports whether a site's values are seen to leave the unit for good: by the source of its
// line, and of the lines that call it up to the unit, or by what the compiler says of it.
func (a *account) leaves(s *site, u unit) bool {
	for _, f := range s.frames {
		if f.User && a.lines.Sends(f) {
			return true
		}
		if f.Func == u.fn {
			break
		}
	}
	if m := a.sources(); m != nil && s.at.User {
		reason := m.EscapeReason(a.src.ctx, s.at, source.KindOf(s.entries))
		return strings.HasSuffix(reason, "(send)") || strings.Contains(reason, "captured by a closure")
	}
	return false
}

// makers names the package, apart from the user's, that allocates most of the sites' memory.
func (a *account) makers(sites []*site) string {
	cost := map[string]float64{}
	top := ""
	for _, s := range sites {
		if s.at.User {
			continue
		}
		pkg := s.library().Package
		cost[pkg] += a.cost(s)
		if top == "" || cost[pkg] > cost[top] {
			top = pkg
		}
	}
	return "package " + top
}
