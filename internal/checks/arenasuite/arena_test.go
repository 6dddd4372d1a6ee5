// SPDX-License-Identifier: Apache-2.0

package arenasuite

import (
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/trial"
)

// TestArenaReference runs the arena suite on an arena that keeps its promises.
func TestArenaReference(t *testing.T) { Test(t, refArenaConfig(faults{})) }

// TestFailEachArenaReference runs the refusals on it.
func TestFailEachArenaReference(t *testing.T) { FailEach(t, refArenaConfig(faults{})) }

// FuzzArenaReference shows that any stream is valid: a stream must not find fault with a correct
// arena.
func FuzzArenaReference(f *testing.F) {
	for _, s := range Seeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, ops []byte) { Ops(t, ops, refArenaConfig(faults{})) })
}

// TestArenaBroken breaks the reference arena in one way at a time. The check named must notice, by
// a message that has the words in it.
func TestArenaBroken(t *testing.T) {
	for _, c := range []struct {
		name  string
		f     faults
		check string
		words string
	}{
		{"dirty", faults{dirty: true}, "Model", "want the zero value"},
		{"dirtySlice", faults{dirtySlice: true}, "Model", "want the zero value"},
		{"crooked", faults{crooked: true}, "Model", "misaligned"},
		{"alias", faults{alias: true}, "Model", "want the zero value"},
		{"growOver", faults{growOver: true}, "AppendPlace", ""},
		{"sharedClip", faults{sharedClip: true}, "AppendPlace", "changed"},
		{"loseTail", faults{loseTail: true}, "AppendPlace", "other elements"},
		{"loseTail, elsewhere", faults{loseTail: true}, "AppendElsewhere", "other elements"},
		{"rewindTooFar", faults{rewindTooFar: true}, "Checkpoints", "the model has"},
		{"rewindTooFar, model", faults{rewindTooFar: true}, "Model", "the model has"},
		{"resetKeeps", faults{resetKeeps: true}, "Drops", "reachable"},
		{"cloneShares", faults{cloneShares: true}, "Model", "the clone of"},
		{"spoils", faults{spoils: true, dirty: false}, "Stale", ""},
		{"silentFree", faults{silentFree: true}, "DoubleFree", "Free after Free"},
		{"silentFree, model", faults{silentFree: true}, "Model", "Free after Free"},
		{"silentUse", faults{silentUse: true}, "UseAfterFree", "after Free"},
		{"anyCheckpoint", faults{anyCheckpoint: true}, "Checkpoints", "another arena's"},
		{"anyCheckpoint, model", faults{anyCheckpoint: true}, "Model", "stale checkpoint"},
		{"noLimit", faults{noLimit: true}, "Limits", ""},
		{"limitSticks", faults{limitSticks: true}, "Limits", "limit"},
		{"limitPanics", faults{limitPanics: true}, "Limits", "too much"},
		{"badLength", faults{badLength: true}, "Lengths", "no panic"},
		{"hugeLength", faults{hugeLength: true}, "Lengths", "cannot be had"},
		{"disowns", faults{disowns: true}, "Model", "Owns denies"},
		{"endless", faults{endless: true}, "Iteration", "does not end"},
		{"vagueIterate", faults{vagueIterate: true}, "Iteration", "inside the iteration"},
		{"recyclesLive", faults{recyclesLive: true}, "Forgets", ""},
		{"torn", faults{torn: true}, "Parallel", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.f.torn && trial.RaceEnabled {
				t.Skip("the race detector would end the test first")
			}
			cfg := refArenaConfig(c.f).withDefaults()
			check := func(t testing.TB) {
				for _, k := range checks() {
					if k.name == c.check {
						k.run(t, &cfg)
						return
					}
				}
				t.Fatalf("no check has the name %s", c.check)
			}
			r := trial.Record(check)
			// Whether goroutines meet in a torn arena at all, the scheduler decides.
			for try := 1; c.f.torn && r == "" && try < 20; try++ {
				r = trial.Record(check)
			}
			if r == "" {
				t.Fatalf("the check %s did not notice", c.check)
			}
			if !strings.Contains(r, c.words) {
				t.Errorf("the check %s says %q, want %q in it", c.check, r, c.words)
			}
		})
	}
}
