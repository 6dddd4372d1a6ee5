// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
)

// hotPathID names the finding about allocations that no arena, pool or size suits.
const hotPathID = "allocation-hot-path"

const (
	// hotPathPart is the assumed saving of a change, as a part of the cost of the place's allocations.
	// The true saving depends on the change, which the doctor does not know.
	hotPathPart = 0.5
	// hotPathGain is the least gain at which a place without a known remedy is reported.
	hotPathGain = 0.02
	// hotPathDoubt is the uncertain part of that gain: all may be saved, or nothing.
	hotPathDoubt = 1.0
)

// findHotPath finds the places that allocate much which is dropped soon, where no other finding has
// a remedy of its own.
func findHotPath(a *account) (found []Finding) {
	for _, g := range a.shortGroups(wayArena) {
		_, why := a.arenaUnit(g)
		if why == "" {
			continue
		}
		t := a.sum(g.sites)
		most := a.gainOf(t, 0)
		gain := Gain{SameGOGC: hotPathPart * most.SameGOGC, SameMemory: hotPathPart * most.SameMemory}
		gain.Error = max(hotPathDoubt*gain.Best(), most.Error)
		if gain.Best() < hotPathGain {
			continue
		}
		f := a.finding(g.sites, gain)
		f.guessed = true
		f.Detail = fmt.Sprintf("%s from %s%s; %s.", a.made(t), a.places(g.sites), a.under(g), lifetime(a, g.sites))
		f.Evidence["mean_object_bytes"] = meanSize(t)
		f.Evidence["no_arena_because"] = why
		f.Evidence["most_cpu_share"] = round(most.Best())
		f.Remedy = a.hotPathRemedy(g)
		f.Check = []string{
			"The objects and bytes of these lines in a new heap profile (-sample_index=alloc_space).",
			"CPU per operation before and after: freehold compare.",
		}
		found = append(found, f)
	}
	return found
}

func (a *account) hotPathRemedy(g group) Remedy {
	at := g.sites[0].at
	if at.User {
		return Remedy{
			Text: "Allocate less in " + at.Place() + ": skip the work whose result is not used, do it once for equal input, give slices and maps their size, reuse a buffer or object that the caller keeps, " +
				"and use numbers and arrays in place of pointers and strings.",
			Snippet: "- func (s *server) names(list []item) []string { out := []string{}; … }\n" +
				"+ func (s *server) appendNames(out []string, list []item) []string { … } // the caller keeps out",
		}
	}
	lib := g.sites[0].library()
	text := fmt.Sprintf("Call package %s less often: ", lib.Package)
	if caller := g.sites[0].owner; caller.User {
		text = fmt.Sprintf("In %s, call package %s less often: ", caller.Place(), lib.Package)
	}
	text += "keep the result for equal input, and ask for no more than you read. "
	text += "Look for its functions that append to, decode into or reset memory of yours, and for its options that avoid work. " +
		"If none helps, only the settings of the collector are left."
	return Remedy{Text: text}
}
