// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"math"
	"slices"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// free are the sites that no finding has claimed.
func (a *account) free() (list []*site) {
	for _, s := range a.sites {
		if s.claimed == "" {
			list = append(list, s)
		}
	}
	return list
}

// bundle is the sites that one place in the user's code causes, and the CPU time that the place
// takes besides.
type bundle struct {
	owner *stack.Frame
	sites []*site
	ns    float64 // CPU time that the remedy saves outside the allocator
	spent float64 // CPU time that the pattern takes outside the allocator
}

// bundles collects sites and CPU time by function of the user's.
type bundles struct {
	list []*bundle
	by   map[string]*bundle
}

func (b *bundles) of(owner *stack.Frame) *bundle {
	if b.by == nil {
		b.by = map[string]*bundle{}
	}
	u := b.by[owner.Func]
	if u == nil {
		u = &bundle{owner: owner}
		b.by[owner.Func] = u
		b.list = append(b.list, u)
	}
	return u
}

// add adds a site to the bundle of its owner's function. The owner line of the first site stands
// for the bundle; it costs the most, because an account sorts sites by cost.
func (b *bundles) add(s *site) *bundle {
	u := b.of(s.owner)
	u.sites = append(u.sites, s)
	return u
}

// findingAt is a finding about sites, or only about CPU time, that a place in the user's code
// causes. This place is the finding's owner, even if the sites have other owners. cost is the CPU
// time in nanoseconds that the pattern takes besides its sites' memory; it includes the time of the
// sites' lines.
func (a *account) findingAt(owner *stack.Frame, sites []*site, g Gain, cost float64) Finding {
	f := a.finding(sites, g)
	f.CPUShare += a.share(cost - a.sum(sites).touch)
	if owner != nil {
		f.Owner = siteAt(owner)
		if len(sites) == 0 {
			f.Site = siteAt(owner)
		}
	}
	return f
}

// round keeps three digits behind the point: what a profile with a hundred samples a second can
// tell.
func round(x float64) float64 { return math.Round(x*1000) / 1000 }

// ranked sorts findings by gain and drops those below minGain.
func ranked(list []Finding) []Finding {
	list = slices.DeleteFunc(list, func(f Finding) bool { return f.Gain.Best() < minGain })
	slices.SortStableFunc(list, func(f, g Finding) int { return cmp.Compare(g.Gain.Best(), f.Gain.Best()) })
	return list
}

// ladder reads sizes as the steps of memory that grows, each step a new and larger object. Only the
// last object of each growth is needed; the others are outgrown. ladder returns the outgrown part
// of the bytes and of the objects, and the number of sizes.
//
// An object of size s was either followed by one of the next larger size s', or was the last of its
// growth. So n(s) - n(s') of the n(s) objects of size s were the last, or none if that is negative.
func ladder(sizes map[int64]float64) (bytes, objects float64, steps int) {
	var list []int64
	for s, n := range sizes {
		if n > 0 && s > 0 {
			list = append(list, s)
		}
	}
	slices.Sort(list)
	var all, last, allObjects, lastObjects float64
	for i, s := range list {
		n, next := sizes[s], 0.0
		if i+1 < len(list) {
			next = sizes[list[i+1]]
		}
		all += n * float64(s)
		allObjects += n
		last += max(n-next, 0) * float64(s)
		lastObjects += max(n-next, 0)
	}
	if all == 0 {
		return 0, 0, 0
	}
	return 1 - last/all, 1 - lastObjects/allObjects, len(list)
}
