// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// finding is a finding about sites, with the fields that every such finding has.
func (a *account) finding(sites []*site, g Gain) Finding {
	f := Finding{Gain: g, Evidence: map[string]any{}, Places: a.placesOf(sites), sites: sites}
	if len(sites) == 0 {
		return f
	}
	t := a.sum(sites)
	f.Site, f.Owner = siteAt(sites[0].at), siteAt(sites[0].owner)
	f.CPUShare = a.share(total(sites, a.cost) + t.touch)
	f.Evidence["alloc_cpu_share"] = a.share(t.cpu)
	f.Evidence["in_use_bytes"] = t.inuseBytes
	if a.window > 0 {
		f.Evidence["alloc_bytes_per_second"] = t.allocBytes / a.window.Seconds()
		f.Evidence["alloc_objects_per_second"] = t.allocObjects / a.window.Seconds()
	}
	if age, ok := a.ageOf(sites); ok {
		f.Evidence["age_seconds"] = age.Seconds()
	}
	if len(sites) > 1 {
		f.Evidence["sites"] = len(sites)
	}
	return f
}

// ageOf is the mean age over sites, and whether it is known.
func (a *account) ageOf(sites []*site) (time.Duration, bool) {
	objects, inuse := 0.0, 0.0
	for _, s := range sites {
		objects += s.allocObjects
		inuse += s.inuseObjects
	}
	if a.window == 0 || objects == 0 || a.noInuse {
		return 0, false
	}
	return time.Duration(min(inuse/objects*a.window.Seconds(), maxAge.Seconds()) * float64(time.Second)), true
}

// lifetime says how long the objects of the sites live.
func lifetime(a *account, sites []*site) string {
	age, ok := a.ageOf(sites)
	switch {
	case !ok:
		return "their lifetime is unknown"
	case age < time.Millisecond:
		return "they live less than a millisecond on average"
	}
	return "they live " + terminal.Seconds(age.Seconds()) + " on average"
}

// places names the first sites of a finding.
func (a *account) places(sites []*site) string {
	text := placeText(sites[0])
	switch n := len(sites) - 1; {
	case n == 1:
		text += " and one more place"
	case n > 1:
		text += fmt.Sprintf(" and %d more places", n)
	}
	return text
}

// placeText is a site with its owner if that is another line.
func placeText(s *site) string {
	text := stack.ShortName(s.at.Func)
	if s.owner != s.at {
		text += fmt.Sprintf(" (called from %s, %s:%d)", stack.ShortName(s.owner.Func), stack.Base(s.owner.File), s.owner.Line)
	} else if s.at.File != "" {
		text += fmt.Sprintf(" (%s:%d)", stack.Base(s.at.File), s.at.Line)
	}
	return text
}

func (a *account) under(g group) string {
	if len(g.sites) > 1 && g.scope != nil && g.scope.Func != g.sites[0].at.Func {
		return ", all under " + stack.ShortName(g.scope.Func)
	}
	return ""
}

func meanSize(t toll) float64 {
	if t.allocObjects == 0 {
		return 0
	}
	return t.allocBytes / t.allocObjects
}

func inFlight(sites []*site) (n float64) {
	for _, s := range sites {
		n += s.inuseObjects
	}
	return n
}

// about writes a number of objects in use.
func about(n float64) string {
	if n < 1 {
		return "hardly any is"
	}
	return "about " + terminal.Quantity(n) + " are"
}

// made writes the allocated objects and bytes.
func (a *account) made(t toll) string {
	if t.allocObjects == 0 {
		return "Objects"
	}
	return fmt.Sprintf("%s of %s each", a.madeObjects(t), terminal.Bytes(meanSize(t)))
}

func (a *account) madeObjects(t toll) string {
	switch {
	case t.allocObjects == 0:
		return "Objects"
	case a.window == 0:
		return terminal.Quantity(t.allocObjects) + " objects"
	}
	return terminal.Quantity(t.allocObjects/a.window.Seconds()) + " objects a second"
}

func (a *account) madeBytes(t toll) string {
	switch {
	case t.allocBytes == 0:
		return "Memory"
	case a.window == 0:
		return terminal.Bytes(t.allocBytes)
	}
	return terminal.Bytes(t.allocBytes/a.window.Seconds()) + " a second"
}

func (a *account) cycleRate() string {
	if a.cycles == 0 || a.window == 0 {
		return "too often"
	}
	return terminal.Significant(a.cycles/a.window.Seconds()) + " times a second"
}

func (a *account) cycleCount() string {
	if a.cycles == 0 {
		return ""
	}
	return terminal.Count(a.cycles) + " "
}

// siteAt is the line of a frame in the form of the report.
func siteAt(f *stack.Frame) Site { return Site{Func: f.Func, File: f.File, Line: f.Line} }

// placesOf lists the sites of a finding by their cost, the largest first.
func (a *account) placesOf(sites []*site) []Place {
	list := []Place{}
	for _, s := range sites {
		p := Place{Site: siteAt(s.at), Owner: siteAt(s.owner), CPUShare: a.share(a.cost(s) + a.sum([]*site{s}).touch)}
		if a.window > 0 {
			p.AllocBytesPerSecond = s.allocBytes / a.window.Seconds()
		}
		list = append(list, p)
	}
	slices.SortStableFunc(list, func(p, q Place) int {
		return cmp.Or(cmp.Compare(q.CPUShare, p.CPUShare), cmp.Compare(q.AllocBytesPerSecond, p.AllocBytesPerSecond))
	})
	return list
}
