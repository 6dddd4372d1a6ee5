// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"

	"github.com/freehold-go/freehold/cmd/doctor/source"
	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/terminal"
)

const (
	// growingMapShare is the least share of CPU time that growing must take.
	growingMapShare = 0.01
	// growingMapOutgrown is the part of the allocated memory that belongs to outgrown tables when
	// the map stops growing. Each table has twice the size of the one before, so all earlier tables
	// together are as large as the last.
	growingMapOutgrown = 0.5
	// growingMapDoubt is the uncertain part of the gain: a map that begins large may have been
	// given too much or too little.
	growingMapDoubt = 0.25
)

// mapGrowth are the functions that move a map's entries to larger tables: of Go 1.24 and later, and
// of those before.
var mapGrowth = []string{
	"internal/runtime/maps.(*table).rehash", "internal/runtime/maps.(*table).grow", "internal/runtime/maps.(*table).split", "internal/runtime/maps.(*Map).growTo",
	"runtime.hashGrow", "runtime.growWork", "runtime.evacuate",
}

// growingUse is the cost of growing maps in one function of the user's.
type growingUse struct {
	*bundle
	moving, allocating float64        // CPU time in growth: outside and in the allocator
	seen               map[*site]bool // sites whose allocations happen in growth
	lines              map[*stack.Frame]float64
}

// findGrowingMap finds maps that begin small and are filled: with each doubling all entries are
// hashed and moved again.
func findGrowingMap(a *account) []Finding {
	growing := stack.Prefixed(mapGrowth...)
	var all bundles
	uses := map[*bundle]*growingUse{}
	for _, st := range a.samples {
		// A map that other modules' code fills cannot be sized by the user.
		if st.site == nil || !ownMap(st.site.at) || st.site.claimed != "" || st.class.IsGC() || stack.Outermost(st.frames, growing) < 0 {
			continue
		}
		u := all.of(st.site.owner)
		use := uses[u]
		if use == nil {
			use = &growingUse{bundle: u, seen: map[*site]bool{}, lines: map[*stack.Frame]float64{}}
			uses[u] = use
		}
		use.lines[st.site.owner] += st.ns
		if st.class == stack.Mutator {
			use.moving += st.ns
		} else {
			use.allocating += st.ns
		}
		if !use.seen[st.site] {
			use.seen[st.site] = true
			u.sites = append(u.sites, st.site)
		}
	}
	var found []Finding
	for _, u := range all.list {
		if use := uses[u]; a.share(use.moving+use.allocating) >= growingMapShare {
			found = append(found, use.finding(a))
		}
	}
	return ranked(found)
}

// ownMap reports whether the map is filled by code of the user's, or for it by package maps.
func ownMap(at *stack.Frame) bool { return at.User || at.Std && at.Package == "maps" }

func (u *growingUse) finding(a *account) Finding {
	t := a.sum(u.sites)
	part := t.dead().times(growingMapOutgrown)
	part.cpu = min(growingMapOutgrown*u.allocating, t.cpu)
	f := a.findingAt(u.owner, u.sites, a.gainWith(part, u.moving, growingMapDoubt), u.moving)
	f.Evidence["growth_cpu_share"] = round(a.share(u.moving + u.allocating))
	at := u.owner
	for line, ns := range u.lines {
		if ns > u.lines[at] {
			at = line
		}
	}
	f.Owner, f.Site = siteAt(at), siteAt(u.sites[0].at)
	f.Detail = fmt.Sprintf("%s fills maps that start empty. Growing them step by step takes %s of the CPU time.", at.Place(), terminal.Percent(a.share(u.moving+u.allocating)))
	kept := slices.DeleteFunc(slices.Clone(u.sites), func(s *site) bool { return !a.longLived(s) })
	f.Remedy = Remedy{
		Text:    "Give make the number of entries that the map will hold. If maps of this kind come and go, keep one map and clear it: clear(m) keeps its tables." + a.cacheOffer(kept),
		Snippet: a.mapSnippet(at),
	}
	f.Check = []string{
		"internal/runtime/maps.(*table).rehash in a new CPU profile.",
		"The size is close to the real number of entries: a map never shrinks, and a size that is far too large costs memory and cache misses.",
	}
	return f
}

// mapSnippet shows the type of the map if the source is at hand.
func (a *account) mapSnippet(at *stack.Frame) string {
	for _, m := range a.allocatesAt(at) {
		if m.Kind == source.KindMapAssign || m.Kind == source.KindMap {
			return fmt.Sprintf("- m := %s{}\n+ m := make(%s, n) // n: the number of entries", m.Type.Short, m.Type.Short)
		}
	}
	return "- m := map[K]V{}\n+ m := make(map[K]V, len(input))"
}
