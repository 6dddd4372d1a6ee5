// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"
	"time"

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
// in words that follow "because". An arena suits if the user's own code makes the memory, many
// objects in a unit, and the source shows that nothing holds them when the unit ends.
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
		v, why := a.unitOf(s)
		switch {
		case why != "":
			return v, why
		case u.fn != "" && u.fn != v.fn:
			return v, "the values end at different places: in " + stack.ShortName(u.fn) + " and in " + stack.ShortName(v.fn)
		}
		v.many = v.many || u.many
		u = v
	}
	if !u.many {
		return u, "there are few of them for " + u.each()
	}
	return u, ""
}

// benchmarked reports whether a benchmark of package testing makes a site's memory. Its heap profile
// is taken at the end, and shows what an iteration leaves in use, because there are many alike.
func benchmarked(s *site) bool {
	return slices.ContainsFunc(s.frames, func(f *stack.Frame) bool { return f.Package == "testing" })
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
