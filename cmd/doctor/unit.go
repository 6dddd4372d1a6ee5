// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// A unit of work is the life of memory that dies together: a call of a function that returns none
// of the memory, or an iteration of a loop.
type unit struct {
	fn string
	// loop: the function runs once, so an iteration of a loop in it is the unit. calls is the
	// function that the loop calls, "" if the loop makes the memory itself.
	loop  bool
	calls string
	// may: the function possibly returns the memory.
	may bool
}

// unitOf is the first function, from a group's scope outwards, that neither makes the memory itself
// nor is in a recursion with functions that do, because such functions return the memory. If the
// source is at hand, functions whose results hold pointers are skipped, too.
func (a *account) unitOf(g group) unit {
	frames, scope := g.sites[0].frames, scopeName(g)
	from := max(stack.Outermost(frames, func(f *stack.Frame) bool { return f.Func == scope }), 0)
	makers := makersOf(g)
	last, inner := -1, ""
	for i, f := range frames {
		if !f.User {
			continue
		}
		if last = i; i < from || makers[f.Func] {
			inner = f.Func
			continue
		}
		if runsOnce(frames, i) {
			return unit{fn: f.Func, loop: true, calls: inner}
		}
		pointers, known := a.returnsPointers(frames, i)
		if !pointers {
			return unit{fn: f.Func, may: !known}
		}
		inner = f.Func
	}
	switch {
	case last < 0:
		return unit{fn: scope, may: true}
	case served(frames, last):
		return unit{fn: frames[last].Func}
	case slices.ContainsFunc(frames[last+1:], func(f *stack.Frame) bool { return !f.Runtime }):
		return unit{fn: frames[last].Func, may: true} // a handler, or another function that other modules' code calls
	}
	return unit{fn: frames[last].Func, loop: true} // it has no caller that gets a result
}

// makersOf are the functions that may pass a group's memory to each other: the functions that make
// it, and on each stack all functions inside the outermost of them or inside a recursion.
func makersOf(g group) map[string]bool {
	makes, makers := map[string]bool{}, map[string]bool{}
	for _, s := range g.sites {
		makes[s.at.Func] = true
	}
	for _, s := range g.sites {
		last, seen := 0, map[string]bool{}
		for i, f := range s.frames {
			if f.User && (makes[f.Func] || seen[f.Func]) {
				last = i
			}
			seen[f.Func] = true
		}
		for _, f := range s.frames[:min(last+1, len(s.frames))] {
			makers[f.Func] = true
		}
	}
	return makers
}

// runsOnce reports whether a function is called once in the program's life, as far as names show:
// main and the goroutines that it starts. Benchmarks count, too, because they have a loop as well.
func runsOnce(frames []*stack.Frame, i int) bool {
	f := frames[i]
	switch {
	case f.Func == "main.main":
		return true
	case i+1 == len(frames) || frames[i+1].Runtime:
		return strings.HasPrefix(f.Func, "main.main.")
	}
	name := f.Func[len(f.Package):]
	return frames[i+1].Package == "testing" && (strings.HasPrefix(name, ".Benchmark") || strings.HasPrefix(name, ".Test"))
}

// returnsPointers reports whether the results of the function at frames[i] hold pointers, errors and
// strings aside, and whether its source or its caller shows that: a handler of package net/http has
// no results.
func (a *account) returnsPointers(frames []*stack.Frame, i int) (yes, known bool) {
	if served(frames, i) {
		return false, true
	}
	if nothing, known := a.lines.ReturnsNothing(frames[i]); known && nothing {
		return false, true
	}
	s := a.sources()
	if s == nil {
		return false, false
	}
	return s.ReturnsPointers(frames[i])
}

// served reports whether the function at frames[i] is a handler that package net/http calls, or a
// router that has its methods: it has no results.
func served(frames []*stack.Frame, i int) bool {
	return i+1 < len(frames) && strings.HasSuffix(frames[i+1].Func, ".ServeHTTP") && !frames[i+1].User
}

// each names the unit behind "for": each call of main.serve, each iteration of the loop in
// main.main that calls main.build.
func (u unit) each() string {
	fn := stack.ShortName(u.fn)
	switch {
	case u.loop && u.calls != "":
		return fmt.Sprintf("each iteration of the loop in %s that calls %s", fn, stack.ShortName(u.calls))
	case u.loop:
		return fmt.Sprintf("each iteration of the loop in %s", fn)
	case u.may:
		return fmt.Sprintf("each call of %s, or of its caller if it returns any of the memory", fn)
	}
	return "each call of " + fn
}

// end says in words when the unit ends.
func (u unit) end() string {
	if u.loop {
		return "an iteration of the loop in " + stack.ShortName(u.fn) + " ends"
	}
	return stack.ShortName(u.fn) + " returns"
}

// arena is the code that makes and frees an arena for the unit.
func (u unit) arena() string {
	const made = "+ a := arena.NewArena()\n+ defer a.Free()\n"
	if !u.loop {
		return "  // in " + stack.ShortName(u.fn) + ":\n" + made
	}
	round := "      …\n"
	if u.calls != "" {
		round = "      … " + stack.ShortName(u.calls) + "(a, …)\n"
	}
	return "  // in " + stack.ShortName(u.fn) + ":\n" + made + "  for … {\n+     a.Reset(arena.Keep) // ends the use of all that the last iteration allocated\n" + round + "  }\n"
}
