// SPDX-License-Identifier: Apache-2.0

package arena

// noCopy makes `go vet` report copies of the struct that has it as a field.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// check is the state of a. It panics if a is not an arena in use: it is freed, a copy, or no function
// of the package made it. Two copies with the same lists would return the same memory, so every path
// that needs more than a cursor begins here.
func (a *Arena) check(op string) *state {
	s := a.state
	if s == nil || s.self != a {
		a.misused(op)
	}
	if s.shared != nil && s.shared.freed.Load() {
		s.shared.in.misused(op)
	}
	return s
}

// direct says whether a is an arena in use that is not shared.
func (a *Arena) direct() bool { return a.state != nil && a.self == a && a.shared == nil }

// misused panics with the mistake that made an arena unusable.
//
//go:noinline
func (a *Arena) misused(op string) {
	switch {
	case a.state == nil:
		panic(misuse(op, useOfZero, "on an Arena that no function of the package made; use NewArena"))
	case a.self == nil:
		panic(a.ended(op))
	}
	panic(misuse(op, useOfCopy, "on a copy of arena %d, which was made by %s; use *Arena, never copy the value", a.id, a.place()))
}
