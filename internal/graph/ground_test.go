// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"runtime"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
)

var (
	inData    = &member{id: 1}
	inBss     member
	inNoptr   = [3]int{1, 2, 3}
	inNoptrBs [100]int
)

type member struct {
	id   int
	next *member
}

// TestGround keeps GC-7.
func TestGround(t *testing.T) {
	large := make([]member, 10000)
	tiny := new(byte)
	for name, p := range map[string]unsafex.Ptr{"data": unsafex.PtrOf(inData), "bss": unsafex.PtrOf(&inBss), "noptrdata": unsafex.PtrOf(&inNoptr[2]),
		"noptrbss": unsafex.PtrOf(&inNoptrBs[50]), "a field": unsafex.PtrOf(&inBss.next)} {
		if g := groundOf(p); g != InGlobals {
			t.Errorf("%s: %d", name, g)
		}
	}
	for name, p := range map[string]unsafex.Ptr{"a small object": unsafex.PtrOf(new(member)), "a tiny one": unsafex.PtrOf(tiny),
		"an element": unsafex.PtrOf(&large[7777]), "a string": unsafex.StringData(strings.Repeat("x", 100))} {
		for range 2 { // The second time from memory.
			if g := groundOf(p); g != OnHeap {
				t.Errorf("%s: %d", name, g)
			}
		}
	}
	if g := groundOf(unsafex.StringData("a constant")); g != Elsewhere {
		t.Errorf("a constant: %d", g)
	}
	runtime.GC() // No cleanup runs, and nothing of the runtime's is out of order.
	runtime.KeepAlive(large)
}

// TestGroundsOfMixedPage: a page may hold package-level variables and other memory. The answer for one does not depend on what was
// asked before.
func TestGroundsOfMixedPage(t *testing.T) {
	if !Asking() {
		t.Skip("the runtime does not say what is on the heap")
	}
	mixed := 0
	middle := unsafex.PtrAddr(unsafex.PtrOf(&heapRegions)) >> pageBits
	for page := middle - min(middle, 1<<8); page <= middle; page++ { // The variables begin there. The heap may begin where they end.
		global, other := unsafex.Pointer(page<<pageBits), unsafex.Pointer(page<<pageBits+1<<pageBits-1)
		if groundOf(global) == Elsewhere {
			global, other = other, global
		}
		if groundOf(global) != InGlobals || groundOf(other) != Elsewhere {
			continue
		}
		mixed++
		var g Grounds
		if g.Of(other) != Elsewhere || g.Of(global) != InGlobals || g.Of(other) != Elsewhere {
			t.Errorf("the page %#x: a package-level variable is taken for other memory", page<<pageBits)
		}
	}
	if mixed == 0 {
		t.Skip("no page has both here")
	}
}
