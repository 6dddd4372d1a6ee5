// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"runtime"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/offheap"
)

// TestSampleKinds: where every value is sampled, a use of a freed value without pointers and
// bools faults, in all kinds of arenas on Go memory. The counts of bytes stay right.
// Off-heap arenas work as ever.
func TestSampleKinds(t *testing.T) {
	testenv.MisusesMemory(t)
	if !inModes(t, "sample=1,guardmaps=20000,guardbytes=1G") {
		return
	}
	for _, k := range kinds {
		for _, s := range stales() {
			for _, g := range giveUps {
				if s.goMem || s.name == "bool" || g.op == "Pool.Put" && !strings.Contains("NewArena Pool", k.name) {
					continue
				}
				a := k.make()
				New[int](a)
				c, before := a.Checkpoint(), a.Stats()
				use := s.make(a)
				if err := fault(use); err != nil {
					t.Errorf("%s, %s: before %s: %v", k.name, s.name, g.op, err)
				}
				if during := a.Stats(); during.InUse <= before.InUse || during.InUse > during.Held {
					t.Errorf("%s, %s: bytes %+v, before that %+v", k.name, s.name, during, before)
				}
				if g.op == "Rewind" {
					if a.Rewind(c); a.Stats().InUse != before.InUse {
						t.Errorf("%s, %s: bytes %+v after Rewind, want %+v", k.name, s.name, a.Stats(), before)
					}
				} else {
					g.end(a, c)
				}
				if !k.pointers { // Whether it faults depends on whether offheap has sampled the chunk.
					continue
				}
				if err := fault(use); err == nil || !strings.Contains(err.Error(), "freehold: use after "+g.op+": ") {
					t.Errorf("%s, %s: after %s: %v", k.name, s.name, g.op, err)
				}
			}
		}
	}
}

// TestSampleLongLived: sampled values of arenas that live leave enough of the budgets to offheap.
func TestSampleLongLived(t *testing.T) {
	testenv.MisusesMemory(t)
	if sanitize.Race {
		t.Skip("blocks of offheap come from the Go heap")
	}
	for _, words := range []string{"sample=10,guardmaps=2000", "sample=10,guardbytes=8M"} {
		t.Run(words, func(t *testing.T) {
			if inModes(t, words) {
				testSampleLongLived(t)
			}
		})
	}
}

func testSampleLongLived(t *testing.T) {
	var alive []*Arena
	defer func() { runtime.KeepAlive(alive) }()
	for _, made := range []func() *Arena{NewArena, NewShared} {
		for range 300 {
			a := made()
			alive = append(alive, a)
			for range 100 {
				New[point](a)
			}
		}
		runtime.GC()
	}
	before, skipped := debugmode.ReadGuardStats().Live, debugmode.SkippedSamples()
	if skipped == 0 {
		t.Error("no sample was skipped, so that this test shows nothing")
	}
	for range 500 {
		offheap.Alloc(100)
	}
	if n := debugmode.ReadGuardStats().Live - before; n < 10 {
		t.Errorf("%d of 500 blocks of offheap are guarded beside %d values in arenas, want about 50", n, before)
	}
	a := NewArena()
	for range 1000 {
		New[point](a)
	}
	if n := len(a.debug.values); n > 50 {
		t.Errorf("%d values are guarded, want few of about 100, because arenas have nearly used their part", n)
	}
}

// TestSampleFastAgain: a string that has reached a point takes the slow way. Those behind it, up to
// the next point, take the fast way again, in the same chunk, too.
func TestSampleFastAgain(t *testing.T) {
	testenv.MisusesMemory(t)
	if !inModes(t, "sample=1000") {
		return
	}
	a := NewArena()
	defer a.Free()
	String(a, strings.Repeat("x", firstWords/8))
	for i := range 20 {
		b := a.bytes
		b.look()
		b.sample.left = 3
		b.arm()
		String(a, "abcd")
		if want := min(b.chunk.size, b.chunk.used+b.sample.left-1); b.chunk.limit != want {
			t.Fatalf("behind string %d, which reached a point, the fast way goes from %d to %d, want to %d", i, b.chunk.used, b.chunk.limit, want)
		}
	}
}
