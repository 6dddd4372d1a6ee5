// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

// TestSame compares the two ways, with a budget that spills.
func TestSame(t *testing.T) {
	offheap.CheckLeaks(t)
	var plain, sorted bytes.Buffer
	if err := Plain(&plain, 5, 2000); err != nil {
		t.Fatal(err)
	}
	if err := Sorted(t.Context(), &sorted, 5, 2000, 1<<20); err != nil {
		t.Fatal(err)
	}
	if plain.Len() < 1000 || !bytes.Equal(plain.Bytes(), sorted.Bytes()) {
		t.Fatalf("the indexes have %d and %d bytes, or differ", plain.Len(), sorted.Len())
	}
}
