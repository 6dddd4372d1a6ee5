// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// odd has a size that divides neither a granule nor its class.
type odd struct {
	a bool
	b [16]byte
}

// TestSlabsKeepAwayFromLargeBlocks: a stale slice of a freed large block must see bools that are 0
// or 1 for ever, also when slabs of the same type, whose values begin elsewhere, come after it.
func TestSlabsKeepAwayFromLargeBlocks(t *testing.T) {
	needSlabs(t)
	needNoSamples(t)
	unpurged(t)
	s := MakeSlice[odd](80<<10/17, 80<<10/17)
	FreeSlice(s)
	for range 20000 {
		p := New[odd]()
		p.a = true
		for i := range p.b {
			p.b[i] = 0xAB
		}
		defer Delete(p)
	}
	bad := 0
	for i := range s { // stale
		v := *unsafex.At[uint8](unsafex.Addr(&s[i].a))
		if v > 1 {
			bad++
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d stale bools are neither 0 nor 1", bad, len(s))
	}
}
