package alloctest

import (
	"strings"
	"testing"
)

// TestArenaReference runs the arena suite on an arena that keeps its promises.
func TestArenaReference(t *testing.T) { TestArena(t, refArenaConfig(arenaFaults{})) }

// TestFailEachArenaReference runs the refusals on it.
func TestFailEachArenaReference(t *testing.T) { FailEachArena(t, refArenaConfig(arenaFaults{})) }

// FuzzArenaReference shows that any stream is valid: a stream must not find fault with a correct arena.
func FuzzArenaReference(f *testing.F) {
	for _, s := range ArenaSeeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, ops []byte) { ArenaOps(t, ops, refArenaConfig(arenaFaults{})) })
}

// TestArenaBroken breaks the reference arena in one way at a time. The check named must notice, by a
// message that has the words in it.
func TestArenaBroken(t *testing.T) {
	for _, c := range []struct {
		name  string
		f     arenaFaults
		check string
		words string
	}{
		{"dirty", arenaFaults{dirty: true}, "Model", "want the zero value"},
		{"dirtySlice", arenaFaults{dirtySlice: true}, "Model", "want the zero value"},
		{"crooked", arenaFaults{crooked: true}, "Model", "misaligned"},
		{"alias", arenaFaults{alias: true}, "Model", "want the zero value"},
		{"growOver", arenaFaults{growOver: true}, "AppendPlace", ""},
		{"sharedClip", arenaFaults{sharedClip: true}, "AppendPlace", "changed"},
		{"loseTail", arenaFaults{loseTail: true}, "AppendPlace", "other elements"},
		{"loseTail, elsewhere", arenaFaults{loseTail: true}, "AppendElsewhere", "other elements"},
		{"rewindTooFar", arenaFaults{rewindTooFar: true}, "Checkpoints", "the model has"},
		{"rewindTooFar, model", arenaFaults{rewindTooFar: true}, "Model", "the model has"},
		{"resetKeeps", arenaFaults{resetKeeps: true}, "Drops", "reachable"},
		{"cloneShares", arenaFaults{cloneShares: true}, "Model", "the clone of"},
		{"spoils", arenaFaults{spoils: true, dirty: false}, "Stale", ""},
		{"silentFree", arenaFaults{silentFree: true}, "DoubleFree", "Free after Free"},
		{"silentFree, model", arenaFaults{silentFree: true}, "Model", "Free after Free"},
		{"silentUse", arenaFaults{silentUse: true}, "UseAfterFree", "after Free"},
		{"anyCheckpoint", arenaFaults{anyCheckpoint: true}, "Checkpoints", "another arena's"},
		{"anyCheckpoint, model", arenaFaults{anyCheckpoint: true}, "Model", "stale checkpoint"},
		{"noLimit", arenaFaults{noLimit: true}, "Limits", ""},
		{"limitSticks", arenaFaults{limitSticks: true}, "Limits", "limit"},
		{"limitPanics", arenaFaults{limitPanics: true}, "Limits", "too much"},
		{"badLength", arenaFaults{badLength: true}, "Lengths", "no panic"},
		{"hugeLength", arenaFaults{hugeLength: true}, "Lengths", "cannot be had"},
		{"disowns", arenaFaults{disowns: true}, "Model", "Owns denies"},
		{"endless", arenaFaults{endless: true}, "Iteration", "does not end"},
		{"vagueIterate", arenaFaults{vagueIterate: true}, "Iteration", "inside the iteration"},
		{"recyclesLive", arenaFaults{recyclesLive: true}, "Forgets", ""},
		{"torn", arenaFaults{torn: true}, "Parallel", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.f.torn && raceEnabled {
				t.Skip("the race detector would end the test first")
			}
			cfg := refArenaConfig(c.f).withDefaults()
			check := func(t testing.TB) {
				for _, k := range arenaChecks() {
					if k.name == c.check {
						k.run(t, &cfg)
						return
					}
				}
				t.Fatalf("no check has the name %s", c.check)
			}
			r := record(check)
			// Whether goroutines meet in a torn arena at all, the scheduler decides.
			for try := 1; c.f.torn && !r.Failed() && try < 20; try++ {
				r = record(check)
			}
			if !r.Failed() {
				t.Fatalf("the check %s did not notice", c.check)
			}
			if !strings.Contains(r.message(), c.words) {
				t.Errorf("the check %s says %q, want %q in it", c.check, r.message(), c.words)
			}
		})
	}
}
