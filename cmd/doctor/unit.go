// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/source"
	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// A unit of work is the life of memory that dies together: a call of a function, or an iteration of
// a loop.
type unit struct {
	fn string
	// loop: the function runs once, so an iteration of a loop in it is the unit. calls is the
	// function that the loop calls, "" if the loop makes the memory itself.
	loop  bool
	calls string
	// many: a loop or a recursion inside the unit makes the memory.
	many bool
}

// unitOf is the first unit, from a site outwards, that no value of the site outlives. The source of
// each function on the way says whether it returns the value or stores it in what a parameter leads
// to; then the value is the caller's.
func (a *account) unitOf(s *site) (u unit, why string) {
	var fate source.Fate
	callee, literal := "", ""
	for i, f := range s.frames {
		if len(fate.Captured) > 0 && !strings.HasPrefix(literal, f.Func+".") {
			continue // to the function around the literal
		}
		loops, known := a.lines.Loops(f)
		if !f.User || !known {
			break
		}
		recursive := slices.ContainsFunc(s.frames[:i], func(inner *stack.Frame) bool { return inner.Func == f.Func })
		once := runsOnce(s.frames, i)
		if once && loops == 0 {
			break
		}
		if fate, known = a.lines.Fate(f, callee, fate, once); !known {
			break
		}
		if fate.Kept {
			return u, "the values stay in what outlives " + stack.ShortName(f.Func)
		}
		if fate.Ends() {
			inside := loops
			if u.fn, u.loop = f.Func, once; once && i > 0 {
				u.calls = s.frames[i-1].Func
			}
			if once {
				inside--
			}
			u.many = u.many || inside > 0 || recursive
			return u, ""
		}
		u.many = u.many || loops > 0 || recursive
		callee, literal = calledAs(f), f.Func
	}
	return u, "it is not known where the use of the memory ends"
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

// each names the unit behind "for": each call of main.serve, each iteration of the loop in
// main.main that calls main.build.
func (u unit) each() string {
	fn := stack.ShortName(u.fn)
	switch {
	case u.loop && u.calls != "":
		return fmt.Sprintf("each iteration of the loop in %s that calls %s", fn, stack.ShortName(u.calls))
	case u.loop:
		return fmt.Sprintf("each iteration of the loop in %s", fn)
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
