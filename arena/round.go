// SPDX-License-Identifier: Apache-2.0

package arena

// A Round is a moment in the life of an arena. Code that keeps memory of an arena from call to call,
// as a container or a decoder does, notes the Round when it takes memory, and asks Ended before it
// uses the memory again. The zero Round never ends. [Builder] and [Map] do this by themselves.
type Round struct {
	life *record
	at   uint64
}

// Round returns the present round of a. It panics if a was freed. The round of a nil Arena never
// ends.
func (a *Arena) Round() Round {
	if a == nil {
		return Round{}
	}
	a.check("Round")
	return Round{a.rec, a.rec.round.Load()}
}

// Ended reports how the arena freed the values that it made in the round: "reset", which may have
// been Free, "rewound", or "" if it has not freed them. It takes some nanoseconds. In a shared arena
// a round that is noted before memory is taken, and has not ended afterwards, is the memory's, unless
// another goroutine noted a checkpoint in between: then it says nothing about a Rewind to that one.
func (r Round) Ended() (how string) {
	if r.life == nil || r.life.round.Load() == r.at {
		return ""
	}
	how, _ = r.life.since(r.at)
	return how
}
