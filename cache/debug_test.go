// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/debugmode"
)

// TestViewedLine: with FREEHOLD=leaks a view that is held is listed with its line, and one that has ended is not.
func TestViewedLine(t *testing.T) {
	if !testenv.InChild(t, "FREEHOLD=leaks") {
		return
	}
	c, err := New(Options{Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Set([]byte("a"), []byte("value"))
	views := func() (n int) {
		for b := range debugmode.Live() {
			if b.Owner == "cache" && b.Leak && b.Size == 5 && strings.Contains(b.Alloc.String(), "TestViewedLine") {
				n++
			}
		}
		return n
	}
	c.View([]byte("a"), func([]byte) {
		c.GetMany([][]byte{[]byte("a")}, func(int, []byte) {
			if n := views(); n != 2 {
				t.Errorf("%d views are listed, 2 are held", n)
			}
		})
	})
	if n := views(); n != 0 {
		t.Errorf("%d views are listed, none is held", n)
	}
}
