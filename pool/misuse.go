// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/freehold-go/freehold/offheap"
)

// noCopy makes go vet report copies of a struct that has a field of this type.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// misuse is the mistake of a call of op, such as "Slab.New". before is where the call stands that
// made this one a mistake, or nil.
func misuse(op, kind, detail string, before *stack) *offheap.MisuseError {
	e := &offheap.MisuseError{Op: op, Kind: kind, Detail: detail, Here: callers().String()}
	e.Report = fmt.Sprintf("pool: %s: %s: %s", op, kind, detail)
	if before != nil {
		e.Freed = before.String()
		e.Report += fmt.Sprintf("\n  ended by:\n%s  this %s:\n%s", e.Freed, op, strings.TrimSuffix(e.Here, "\n"))
	}
	return e
}

// copied is the mistake of a call of op on a copy of a what.
func copied(op, what string) *offheap.MisuseError {
	return misuse(op, "use of a copy", "this "+what+" is a copy of one that is in use; pass a pointer to the original", nil)
}

// A stack is where something happened.
type stack struct {
	pcs [24]uintptr
	n   int
}

// callers is the stack of this goroutine.
func callers() *stack {
	s := new(stack)
	s.n = runtime.Callers(2, s.pcs[:])
	return s
}

// String lists the frames, the innermost first: a line for the function and one for file and line.
// The calls within this package at the inner end are left out.
func (s *stack) String() string {
	var b strings.Builder
	frames := runtime.CallersFrames(s.pcs[:s.n])
	for inside := true; ; {
		f, more := frames.Next()
		inside = inside && strings.HasPrefix(f.Function, ownPrefix) && !strings.HasSuffix(f.File, "_test.go")
		if !inside {
			fmt.Fprintf(&b, "    %s\n        %s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}

// ownPrefix begins the name of each function of this package.
const ownPrefix = "github.com/freehold-go/freehold/pool."
