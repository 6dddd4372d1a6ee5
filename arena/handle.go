// SPDX-License-Identifier: Apache-2.0

package arena

// noCopy makes `go vet` report copies of the struct that has it as a field.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// A seal distinguishes an arena from a copy of it. Two arenas with the same chunks would return the
// same memory.
//
//   - A copy has the self of its original.
//   - A copy that is written over its original has the self of the original, but an old version:
//     each change of an arena's lists of chunks or of its types, and Free, makes the version beside
//     the Arena a new one.
//
// Slow paths compare both. The fast paths compare neither: a copy's fast paths lead to a cursor,
// which is closed once its chunk is freed.
type seal struct {
	self    *Arena  // Keeps the original from being collected, so that its address stays its own.
	last    *uint64 // The present version, which all copies read.
	version uint64
}

// changed gives the arena a new version. Its lists of chunks or of types are about to change, or
// have just changed.
func (a *Arena) changed() {
	a.version++
	*a.last = a.version
}

// outdate makes the arena, and every copy of it, one that [Arena.broken] finds.
func (a *Arena) outdate() { *a.last = ^uint64(0) }

// broken says that a is not an arena in use: it is freed, a copy, or no function of the package
// made it.
func (a *Arena) broken() bool { return a.self != a || a.version != *a.last }

// check panics if a is not an arena in use.
func (a *Arena) check(op string) {
	if a.broken() {
		a.misused(op)
	}
	if a.kind == kindShared && a.rec.over.Load() {
		a.parts[0].misused(op)
	}
}

// misused panics with the mistake that made an arena unusable.
//
//go:noinline
func (a *Arena) misused(op string) {
	switch {
	case a.rec == nil:
		panic(misuse(op, useOfZero, "on an Arena that no function of the package made; use NewArena"))
	case a.self != a:
		panic(misuse(op, useOfCopy, "on a copy of arena %d, which was made by %s; use *Arena, never copy the value", a.id, a.place()))
	case a.kind != kindFreed:
		panic(misuse(op, concurrentUse, "on arena %d, whose version is not that of its last change; it was made by %s. Probably two goroutines use it at once: give each goroutine an arena of its own, or make it with NewShared. If one goroutine uses it, an older copy of it was written over it: use *Arena, never copy the value", a.id, a.place()))
	}
	panic(a.ended(op))
}
