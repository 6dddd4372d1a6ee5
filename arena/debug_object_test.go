// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"crypto/ed25519"
	"runtime"
	"strings"
	"testing"
	"time"
	"unique"
	"weak"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
)

// guardingWords are the modes in which values without pointers lie on guarded pages.
var guardingWords = []string{"guard", "sample=1"}

// TestGuardedValuesForTheRuntime calls what takes pointers to the Go heap alone with guarded values
// of arenas on Go memory. Go ends a process that passes any other pointer, so each call is its own
// proof.
func TestGuardedValuesForTheRuntime(t *testing.T) {
	for _, words := range guardingWords {
		t.Run(words, func(t *testing.T) {
			if inModes(t, words) {
				forTheRuntime(t)
			}
		})
	}
}

func forTheRuntime(t *testing.T) {
	before := debugmode.ReadGuardStats().Live
	a := NewArena()
	p := New[point](a)
	w := weak.Make(p)
	if w.Value() != p {
		t.Error("a weak pointer does not lead to the value")
	}
	page := New[[4096]byte](a) // It fills its page.
	if weak.Make(page).Value() != page {
		t.Error("a weak pointer does not lead to a value that fills its pages")
	}
	cleaned := make(chan int, 1)
	runtime.AddCleanup(p, func(n int) { cleaned <- n }, 7)
	key := ed25519.PrivateKey(Bytes(a, ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))))
	for range 2 {
		if sig := ed25519.Sign(key, []byte("text")); !ed25519.Verify(key.Public().(ed25519.PublicKey), []byte("text"), sig) {
			t.Error("a signature by a key in an arena is wrong")
		}
	}
	if s := String(a, "a string in an arena"); unique.Make(s).Value() != s {
		t.Error("a unique value is another")
	}
	var pin runtime.Pinner
	pin.Pin(p)
	pin.Unpin()
	if n := debugmode.ReadGuardStats().Live - before; n < 4 {
		t.Errorf("%d values are guarded, so that this test shows nothing", n)
	}
	runtime.KeepAlive(page)
	a.Free()
	if err := fault(func() { p.x++ }); err == nil || !strings.Contains(err.Error(), "freehold: use after Free: access at the start of a block of 16 bytes (arena.point, arena ") {
		t.Errorf("a use after Free: %v", err)
	}
	if w.Value() != p {
		t.Error("the quarantine does not keep what a weak pointer leads to")
	}
}

// TestForgottenGuardedValues: guarded values of arenas that are forgotten are the collector's, and
// so are their weak pointers and cleanups. So they leave the budgets, too.
func TestForgottenGuardedValues(t *testing.T) {
	for _, words := range guardingWords {
		t.Run(words, func(t *testing.T) {
			if inModes(t, words, "GODEBUG=clobberfree=1,gccheckmark=1", "GOGC=off") {
				forgottenValues(t)
			}
		})
	}
}

func forgottenValues(t *testing.T) {
	const arenas, values = 40, 50
	cleaned := make(chan int, arenas)
	last := func() (last weak.Pointer[[4096]byte]) {
		for i := range arenas {
			a := NewArena()
			for range values {
				New[point](a)
			}
			p := New[[4096]byte](a)
			runtime.AddCleanup(p, func(i int) { cleaned <- i }, i)
			last = weak.Make(p)
		}
		return last
	}()
	before := debugmode.ReadGuardStats()
	if before.Live < arenas*values {
		t.Fatalf("%d values are guarded, so that this test shows nothing", before.Live)
	}
	// A stale word on a stack may keep an arena.
	for end := time.Now().Add(time.Minute); debugmode.ReadGuardStats().Live > 2*values || len(cleaned) < arenas/2; {
		if time.Now().After(end) {
			t.Fatalf("%d values are guarded and %d cleanups ran after many collections", debugmode.ReadGuardStats().Live, len(cleaned))
		}
		runtime.GC()
	}
	if last.Value() != nil && debugmode.ReadGuardStats().Live == 0 {
		t.Error("a weak pointer leads to a value that was collected")
	}
	var all [][]byte // The collector's memory is accessible, or this would fault.
	for range 5000 {
		all = append(all, make([]byte, 8192))
	}
	for _, b := range all {
		b[4096], b[len(b)-1] = 1, 1
	}
}

// TestGuardedValuesUnderGC makes, frees, resets and forgets guarded values while the collector runs
// all the time, overwrites what it frees and marks twice. It holds GC-11: the collector never
// touches the pages.
func TestGuardedValuesUnderGC(t *testing.T) {
	if sanitize.Enabled && !sanitize.Race {
		t.Skip("nothing is guarded")
	}
	for _, words := range guardingWords {
		t.Run(words, func(t *testing.T) {
			if !inModes(t, words+",guardmaps=4000,guardbytes=16M", "GODEBUG=clobberfree=1,gccheckmark=1", "GOGC=1") {
				return
			}
			kept := New[[2]int64](NewArena())
			kept[1] = 7
			for round := range 60 {
				a := NewArena()
				for i := range 20 {
					s := MakeSlice[byte](a, i*300, i*300)
					for j := range s {
						if s[j] != 0 {
							t.Fatalf("round %d: byte %d of %d is %#x", round, j, len(s), s[j])
						}
						s[j] = 1
					}
				}
				switch round % 3 {
				case 0:
					a.Free()
				case 1:
					a.Reset(Keep)
					New[point](a)
				}
			}
			if kept[1] != 7 {
				t.Error("a value was overwritten")
			}
		})
	}
}
