// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/terminal"
)

const (
	// shortLife is the longest life of an object of one request or batch. Objects that live longer
	// are the program's state.
	shortLife = 2 * time.Second
	// keptPart is the part of the bytes allocated in the window that may be in use at its end if they
	// count as short-lived.
	keptPart = 0.2
	// largeObject is the size in bytes from which clearing and sweeping a buffer costs more than
	// finding a free one, so that a pool of buffers pays.
	largeObject = 4 << 10
	// hugeObject is the size above which Go has no size classes: each such object is a span of its
	// own, whatever type it has.
	hugeObject = 32 << 10
	// pooledObject is the size in bytes from which one object is worth a Get and a Put: allocating
	// it costs some 50 ns and more, these two 15 ns.
	pooledObject = 256
	// arenaPart is the cost of an arena's allocation as a part of the Go heap's, without clearing,
	// which costs the same in both.
	arenaPart = 0.1
	// poolNanoseconds is the time of a Get and a Put of sync.Pool together.
	poolNanoseconds = 15
	// poolGain is the least gain of a pool of objects: a value that is used after it was put back is a
	// fault that no test may show.
	poolGain = 0.03
)

// shortLived reports whether the site's objects die soon: the bytes in use are few beside the bytes
// allocated, and the objects' age is low if it is known.
func (a *account) shortLived(s *site) bool {
	switch {
	case s.cpuNow() == 0 && s.allocBytes == 0:
		return false
	case s.inuseBytes > keptPart*s.allocBytes:
		return false // Most of it is kept, however short the window.
	case s.age >= 0:
		return s.age < shortLife
	}
	return true // in the CPU profile alone
}

// A remedyKind is a way to avoid short-lived allocations.
type remedyKind int

const (
	wayArena remedyKind = iota
	wayPool
	wayBuffers
)

// shortWay returns the way that suits a group, by the sizes of the objects that make up most of its
// cost.
func (a *account) shortWay(g group) remedyKind {
	var buffers, pooled, all float64
	for _, s := range g.sites {
		c := a.cost(s)
		all += c
		switch {
		case s.isBuffer():
			buffers += c
		case s.objectSize() >= pooledObject && s.oneSize() && !makesStrings(s):
			pooled += c
		}
	}
	switch {
	case buffers > all/2:
		return wayBuffers
	case pooled+buffers > all/2 && pooledObjects(g) <= 4:
		return wayPool
	}
	return wayArena
}

// isBuffer reports whether the site makes large slices, or objects so large that their type does
// not matter.
func (s *site) isBuffer() bool {
	if makesStrings(s) {
		return false // A string is a result, which no code gives back.
	}
	size := s.objectSize()
	return size >= hugeObject || size >= largeObject && s.isSlice()
}

// pooledObjects is the number of the group's sites that pools would have to replace. A pool holds
// one type, so for many sites an arena is easier.
func pooledObjects(g group) (n int) {
	top := total(g.sites, (*site).cpuNow)
	for _, s := range g.sites {
		if s.cpuNow() > 0.1*top {
			n++
		}
	}
	return n
}

// isSlice reports whether the site makes slices or strings, and not single values, as far as the
// stacks show.
func (s *site) isSlice() bool {
	slice, sum := 0.0, 0.0
	for entry, ns := range s.entries {
		sum += ns
		switch entry {
		case "runtime.newobject", "reflect.unsafe_New":
		default:
			slice += ns
		}
	}
	if sum == 0 {
		return !s.oneSize()
	}
	return slice > sum/2
}

// refillsPool reports whether the site makes objects for a sync.Pool that was found empty. Each
// collection empties pools, so fewer collections are the remedy.
func (s *site) refillsPool() bool {
	return s.poolGet() >= 0
}

// poolGet is the index of the frame of sync.Pool's Get, or -1.
func (s *site) poolGet() int {
	return slices.IndexFunc(s.frames, func(f *stack.Frame) bool { return f.Func == "sync.(*Pool).Get" })
}

// oneSize reports whether nearly all objects have one size, as those of one type have.
func (s *site) oneSize() bool {
	top, sum := 0.0, 0.0
	for _, n := range s.sizes {
		top = max(top, n)
		sum += max(n, 0)
	}
	return sum == 0 || top >= most*sum
}

// shortGroups are the groups of short-lived sites that no finding has claimed, for which the way fits.
func (a *account) shortGroups(want remedyKind) (list []group) {
	var sites []*site
	for _, s := range a.sites {
		if s.claimed == "" && a.shortLived(s) && !s.refillsPool() && (want == wayArena || s.belongsToUser() && !a.leaves(s) && !a.lines.Spare(s.owner)) {
			sites = append(sites, s)
		}
	}
	for _, g := range a.groups(sites, a.cost, minGain/3*a.total) {
		if a.shortWay(g) == want {
			list = append(list, g)
		}
	}
	return list
}

// belongsToUser reports whether the user can put a site's memory into a pool: the user's code allocates
// it, or calls a function of others that makes a value, or the method of a value that makes what it
// consists of at its first use.
func (s *site) belongsToUser() bool {
	i := slices.IndexFunc(s.frames, func(f *stack.Frame) bool { return f.User })
	switch {
	case i < 1:
		return i == 0
	case verb(s.frames[i-1], making):
		return true
	case !strings.Contains(s.frames[i-1].Func, ".(*"):
		return false
	}
	return slices.ContainsFunc(s.frames[:i], func(f *stack.Frame) bool { return strings.HasPrefix(calledAs(f), "New") }) ||
		strings.HasPrefix(s.frames[i-1].Func, "bytes.(*Buffer).") && s.at.Package == "bytes"
}

// reuse is the first sentence of a pool's remedy: about the value of others that has the memory, if
// there is one.
func reuse(g group, own string) string {
	s := g.sites[0]
	i := slices.IndexFunc(s.frames, func(f *stack.Frame) bool { return f.User })
	if i < 1 {
		return own
	}
	return fmt.Sprintf("Keep the value of %s in a sync.Pool, or in a pool.Pool if values grow or are dear to make, and reset it before its next use.", stack.ShortName(s.frames[i-1].Func))
}

func findShortLived(a *account) (found []Finding) {
	for _, g := range a.shortGroups(wayArena) {
		u, why := a.arenaUnit(g)
		if why != "" {
			continue // findHotPath has it.
		}
		t := a.sum(g.sites)
		gain := a.gainOf(t, t.zero+arenaPart*(t.cpu-t.zero))
		if gain.Best() < minGain {
			continue
		}
		f := a.finding(g.sites, gain)
		f.Detail = fmt.Sprintf("%s from %s%s; %s.", a.made(t), a.places(g.sites), a.under(g), lifetime(a, g.sites))
		f.Evidence["mean_object_bytes"] = meanSize(t)
		f.Remedy = arenaRemedy(u)
		f.Check = []string{
			"No pointer into the arena remains after " + u.end() + ": results, and values in maps, channels, caches and goroutines, are copied out first (arena.Clone).",
			"FREEHOLD=guard in the tests finds values that are used after their arena was reset or freed.",
			"Compare CPU per operation before and after: freehold compare.",
		}
		found = append(found, f)
	}
	return found
}

func arenaRemedy(u unit) Remedy {
	return Remedy{
		Text: fmt.Sprintf("Allocate the objects in an arena that is made, or reset, for %s.", u.each()),
		Snippet: u.arena() +
			"  // where the memory is allocated, with a as a parameter:\n" +
			"- n := &node{…}\n" +
			"+ n := arena.New[node](a)\n" +
			"+ *n = node{…}\n" +
			"- list := make([]item, 0, n)\n" +
			"+ list := arena.MakeSlice[item](a, 0, n)",
	}
}

func findRecycledType(a *account) (found []Finding) {
	for _, g := range a.shortGroups(wayPool) {
		t := a.sum(g.sites)
		gain := a.gainOf(t, poolNanoseconds*t.allocObjects)
		if gain.Best() < poolGain {
			continue
		}
		f := a.finding(g.sites, gain)
		f.Detail = fmt.Sprintf("%s of one type (%s each) are allocated and dropped at %s; %s in use at a time.",
			a.madeObjects(t), terminal.Bytes(g.sites[0].mainSize()), a.places(g.sites), about(inFlight(g.sites)))
		f.Evidence["mean_object_bytes"] = meanSize(t)
		f.Evidence["in_use_objects"] = inFlight(g.sites)
		f.Remedy = Remedy{
			Text: reuse(g, "Keep the objects in a sync.Pool, or in a pool.Pool if they grow or are dear to make, and reset them before their next use; or keep one object if only one goroutine works at a time.") + " " + putText(g),
			Snippet: "+ var states = sync.Pool{New: func() any { return new(state) }}\n" +
				"- s := &state{…}\n" +
				"+ s := states.Get().(*state)\n" +
				"  // after the last use of s:\n" +
				"+ s.reset()\n" +
				"+ states.Put(s)",
		}
		f.Check = []string{"No pointer to the object remains after Put.", "Reset clears every field that the next user reads, and all pointers, which would keep other objects alive."}
		found = append(found, f)
	}
	return found
}

// putText says where to put memory back into the pool: never in a function that returns the memory.
func putText(g group) string {
	return "Put it back after its last use: if " + stack.ShortName(g.sites[0].at.Func) + " returns it, call Put in a caller, not in a defer beside Get."
}

func findLargeBuffers(a *account) (found []Finding) {
	for _, g := range a.shortGroups(wayBuffers) {
		// The small objects beside them are for the recognisers that follow.
		g.sites = slices.DeleteFunc(g.sites, func(s *site) bool { return !s.isBuffer() })
		t := a.sum(g.sites)
		gain := a.gainOf(t, poolNanoseconds*t.allocObjects)
		if gain.Best() < minGain {
			continue
		}
		f := a.finding(g.sites, gain)
		f.Detail = fmt.Sprintf("%s in buffers of %s, allocated at %s. Clearing them takes %s of CPU.",
			a.madeBytes(t), terminal.Bytes(g.sites[0].mainSize()), a.places(g.sites), terminal.Percent(a.share(t.zero)))
		f.Evidence["mean_object_bytes"] = meanSize(t)
		f.Evidence["zeroing_cpu_share"] = a.share(t.zero)
		f.Remedy = Remedy{
			Text: reuse(g, "Reuse buffers: keep pointers to slices in a sync.Pool, or one buffer for each worker; or write to a pool.Buffer, which needs no pool, because its blocks lie off the Go heap.") + " " + putText(g),
			Snippet: "+ var buffers = sync.Pool{New: func() any { b := make([]byte, 0, size); return &b }}\n" +
				"- buf := make([]byte, size)\n" +
				"+ p := buffers.Get().(*[]byte)\n" +
				"+ buf := (*p)[:size]\n" +
				"  // after the last use of buf:\n" +
				"+ buffers.Put(p)",
		}
		f.Check = []string{"No slice of the buffer remains after Put.", "Buffers that grew far beyond the usual size are not put back: the pool would keep the largest ones."}
		found = append(found, f)
	}
	return found
}
