// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"strings"
)

// A Placement is the class of a stack, and its entry to the allocator.
type Placement struct {
	Class Class
	Entry string // outermost function of the allocator among the runtime's innermost frames, "" if there is none
	Site  int    // index of the frame that called it, -1 if there is none
}

// Classify returns the class of a stack, innermost frame first.
func Classify(frames []*Frame) Placement {
	best := len(oneOf)
	for _, f := range frames {
		best = min(best, f.rank)
	}
	p := Placement{Site: -1}
	core, zero, last := false, false, -1
	for i, f := range frames {
		if !f.Runtime {
			break
		}
		if f.entry {
			p.Entry, last = f.Func, i
		}
		core = core || f.core
		zero = zero || strings.HasPrefix(f.Func, "runtime.memclrNoHeapPointers")
	}
	for i := last + 1; last >= 0 && i < len(frames); i++ {
		if !frames[i].Runtime {
			p.Site = i
			break
		}
	}
	switch {
	case best < len(oneOf):
		p.Class = oneOf[best].class
	case core && zero:
		p.Class = Zero
	case core:
		p.Class = Alloc
	}
	return p
}

// PointersOf reports whether a stack in the allocator allocates memory with pointers, and whether
// that is known. It is unknown for large objects.
func PointersOf(frames []*Frame) (has, known bool) {
	for _, f := range frames {
		if !f.Runtime {
			break
		}
		name, ok := strings.CutPrefix(f.Func, "runtime.malloc")
		switch {
		case strings.HasPrefix(f.Func, "runtime.rawstring"), strings.HasPrefix(f.Func, "runtime.rawbyteslice"), strings.HasPrefix(f.Func, "runtime.rawruneslice"),
			f.Func == "internal/bytealg.MakeNoZero":
			return false, true
		case !ok:
		case strings.Contains(name, "Tiny"), strings.Contains(name, "Noscan"), strings.Contains(name, "NoScan"):
			return false, true
		case strings.Contains(name, "Scan"):
			return true, true
		}
	}
	return false, false
}

// ActivityOf returns the activity of a stack of the class Mutator.
func ActivityOf(frames []*Frame) Activity {
	best := len(activities)
	for _, f := range frames {
		best = min(best, f.activity)
	}
	if best == len(activities) {
		return OwnWork
	}
	return activities[best].activity
}
