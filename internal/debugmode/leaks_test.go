// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"slices"
	"strings"
	"testing"
)

func TestLeaks(t *testing.T) {
	a, b := Callers(0), Callers(0)
	groups := Leaks(slices.Values([]Block{
		{Size: 10, Owner: "offheap", Type: "[]byte", Alloc: a, Leak: true},
		{Size: 10, Owner: "offheap", Type: "main.T", Alloc: a, Leak: true},
		{Size: 30, Owner: "arena", Arena: 1, Alloc: b, Leak: true},
		{Size: 40, Owner: "arena", Arena: 2, Alloc: b, Leak: true},
		{Size: 10, Owner: "offheap", Type: "[]byte", Alloc: a, Leak: true},
		{Size: 1000, Owner: "offheap", Alloc: a, Leak: true, FreeOp: "Free"},
		{Size: 1000, Owner: "arena", Alloc: a},
	}))
	want := []LeakGroup{
		{Alloc: b, Owner: "arena", Blocks: 2, Bytes: 70},
		{Alloc: a, Owner: "offheap", Type: "[]byte", Blocks: 2, Bytes: 20},
		{Alloc: a, Owner: "offheap", Type: "main.T", Blocks: 1, Bytes: 10},
	}
	if !slices.Equal(groups, want) {
		t.Errorf("groups %+v\nwant %+v", groups, want)
	}
	var text strings.Builder
	if err := WriteLeaks(&text, groups); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"freehold: leak: 3 blocks and 2 off-heap arenas of 100 bytes in all, from 3 places, not freed\n  2 off-heap arenas, 70 bytes allocated by:\n    ",
		"debugmode.TestLeaks\n", "\n  1 block, 10 bytes (main.T, offheap) allocated by:\n    ", "\n  What to do: ",
	} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("%q is missing in\n%s", line, &text)
		}
	}
	text.Reset()
	handles := []LeakGroup{{Owner: "offheap", Blocks: 1, Bytes: 5}, {Owner: OwnerLocal, Blocks: 2}, {Owner: OwnerLocal, Blocks: 1}}
	if err := WriteLeaks(&text, handles); err != nil || !strings.Contains(text.String(), "leak: 1 block and 3 Locals of 5 bytes in all, from 3 places") ||
		!strings.Contains(text.String(), "  2 Locals, not closed, allocated by:\n") {
		t.Errorf("of handles: %v\n%s", err, &text)
	}
	text.Reset()
	if err := WriteLeaks(&text, handles[1:]); err != nil || !strings.Contains(text.String(), "leak: 3 Locals, from 2 places") {
		t.Errorf("of handles alone: %v\n%s", err, &text)
	}
	text.Reset()
	if err := WriteLeaks(&text, nil); err != nil || text.Len() > 0 {
		t.Errorf("of no leaks: %v, %q", err, &text)
	}
	many := make([]LeakGroup, maxLeakGroups+3)
	for i := range many {
		many[i] = LeakGroup{Owner: "offheap", Blocks: 1, Bytes: 1}
	}
	if err := WriteLeaks(&text, many); err != nil || !strings.Contains(text.String(), "\n  ... and 3 places more\n") || strings.Count(text.String(), "allocated by:") != maxLeakGroups {
		t.Errorf("of many leaks: %v\n%s", err, &text)
	}
}
