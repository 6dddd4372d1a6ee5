// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"runtime"
	"strings"
	"testing"

	"github.com/freehold-go/freehold"
)

//go:noinline
func forgetsOften() { New[point](NewArena()) }

//go:noinline
func forgetsOnce() { New[*point](NewShared()) }

// TestForgottenPlaces: arenas that die without Free are counted by the call that made them.
func TestForgottenPlaces(t *testing.T) {
	if freehold.Modes().Heap {
		t.Skip("arenas with the kill switch count nowhere")
	}
	for range 40 {
		forgetsOften()
	}
	forgetsOnce()
	a := NewArena() // Freed ones do not count.
	a.Free()
	count := func(function string) (n uint64) {
		for _, p := range ForgottenPlaces() {
			if strings.Contains(p.Made, function+" at ") && strings.Contains(p.Made, "forgotten_test.go:") {
				n += p.Arenas
			}
		}
		return n
	}
	for range 3 {
		runtime.GC()
	}
	// A stale word on a stack may keep one.
	often, once, sum := count("forgetsOften"), count("forgetsOnce"), uint64(0)
	if often < 35 || often > 40 || once > 1 || count("TestForgottenPlaces") != 0 {
		t.Errorf("%d arenas of forgetsOften and %d of forgetsOnce: %+v", often, once, ForgottenPlaces())
	}
	list := ForgottenPlaces()
	for i, p := range list {
		if sum += p.Arenas; i > 0 && p.Arenas > list[i-1].Arenas {
			t.Errorf("the list is not sorted: %+v", list)
		}
	}
	if n := ReadTotals().Forgotten; sum > n {
		t.Errorf("the places sum up to %d, and %d arenas are forgotten", sum, n)
	}
}
