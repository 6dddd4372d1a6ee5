// SPDX-License-Identifier: Apache-2.0

package offheap

import "testing"

// sparseBytes is the length of a block of which the tests write a page.
const sparseBytes = 256 << 20

// TestSparse: no operation on a large block of which one page was written gives memory to the pages
// that were never written.
func TestSparse(t *testing.T) {
	needSlabs(t)
	needNoSamples(t)
	quiet(t)
	Purge() // What tests before have left dirty would be cleared.
	p := NewPurposeWith("wiped when freed", PurposeOptions{Wipe: true})
	before := resident(t)
	want := func(what string) {
		t.Helper()
		// A huge page for each page that was written, and the ends of ranges.
		if now := resident(t); now-before > 16<<20 {
			t.Errorf("%s: %d MiB are resident, %d were before", what, now>>20, before>>20)
		}
	}
	for _, alloc := range []func(int) []byte{p.Alloc, Alloc} {
		b := alloc(sparseBytes)
		fillSecret(b[sparseBytes/2:][:100:100])
		want("Alloc")
		b = Realloc(b, sparseBytes-1)
		b = Realloc(b, sparseBytes)
		want("Realloc where the block is")
		Free(b)
		want("Free")
		b = alloc(sparseBytes) // Its granules count as written.
		want("Alloc after Free")
		if b[sparseBytes/2] != 0 {
			t.Error("a new block is not zero")
		}
		Free(b)
		b = alloc(2 << 20)
		b[0] = 1
		stop := Alloc(2 << 20) // Behind the block, which must move to grow.
		b = Realloc(b, sparseBytes)
		want("Realloc to another block")
		if b[0] != 1 || b[2<<20] != 0 {
			t.Error("a block that moved holds other bytes")
		}
		Free(b)
		Free(stop)
	}
}
