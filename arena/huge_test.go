// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

// tooHuge is larger than any block. A Typed of it does not compile, because NewFrom takes the value.
type tooHuge [maxBytes + 1]byte

// TestHugeType: a value larger than any block is refused in each kind of arena, and on the Go heap,
// where Go would end the process.
func TestHugeType(t *testing.T) {
	a, shared, off := NewArena(), NewShared(), NewOffHeap(Options{})
	defer a.Free()
	defer shared.Free()
	defer off.Free()
	for _, a := range []*Arena{nil, a, shared, off} {
		for name, try := range map[string]func() error{
			"TryNew":       func() error { _, err := TryNew[tooHuge](a); return err },
			"TryMakeSlice": func() error { _, err := TryMakeSlice[tooHuge](a, 1, 1); return err },
			"New":          func() error { err, _ := caught(func() { New[tooHuge](a) }).(error); return err },
		} {
			if err := try(); !errors.Is(err, offheap.ErrOutOfMemory) {
				t.Errorf("%s in %s: error %v", name, a.name(), err)
			}
		}
	}
}
