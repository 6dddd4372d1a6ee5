package debugmode

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
)

// A LeakGroup are blocks that were allocated at one place and not freed.
type LeakGroup struct {
	Alloc       Stack
	Owner, Type string // of Block; arenas are not told apart
	Blocks      int
	Bytes       int64
}

// Leaks groups the blocks of seq that must be freed, the group with most bytes first. For the process's own, seq is Live.
func Leaks(seq iter.Seq[Block]) []LeakGroup {
	type key struct {
		alloc      Stack
		owner, typ string
	}
	groups := map[key]*LeakGroup{}
	for b := range seq {
		if !b.Leak || b.FreeOp != "" {
			continue
		}
		k := key{b.Alloc, b.Owner, b.Type}
		g := groups[k]
		if g == nil {
			g = &LeakGroup{Alloc: b.Alloc, Owner: b.Owner, Type: b.Type}
			groups[k] = g
		}
		g.Blocks++
		g.Bytes += int64(b.Size)
	}
	list := make([]LeakGroup, 0, len(groups))
	for _, g := range groups {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b LeakGroup) int {
		switch {
		case a.Bytes != b.Bytes:
			return int(max(-1, min(1, b.Bytes-a.Bytes)))
		case a.Blocks != b.Blocks:
			return b.Blocks - a.Blocks
		}
		return strings.Compare(a.Owner+a.Type+a.Alloc.String(), b.Owner+b.Type+b.Alloc.String())
	})
	return list
}

// maxLeakGroups bounds what a report of leaks lists.
const maxLeakGroups = 50

// WriteLeaks writes the report of the leaks, the first 50 groups in full; nothing if there are none.
func WriteLeaks(w io.Writer, groups []LeakGroup) error {
	if len(groups) == 0 {
		return nil
	}
	var blocks, arenas int
	var bytes int64
	for _, g := range groups {
		if g.arenas() {
			arenas += g.Blocks
		} else {
			blocks += g.Blocks
		}
		bytes += g.Bytes
	}
	var b strings.Builder
	fmt.Fprintf(&b, "freehold: leak: %s of %s in all, from %s, not freed\n",
		blocksAndArenas(blocks, arenas), count(uint64(bytes), "byte"), count(uint64(len(groups)), "place"))
	for i, g := range groups {
		if i == maxLeakGroups {
			fmt.Fprintf(&b, "  ... and %s more\n", count(uint64(len(groups)-i), "place"))
			break
		}
		b.WriteString(g.String())
	}
	b.WriteString("  What to do: free each at the end of its last use, or keep it where the end of the program frees it.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// String is the paragraph of the group in the report: how many and how large, and the stack.
func (g LeakGroup) String() string {
	var b strings.Builder
	if g.arenas() {
		fmt.Fprintf(&b, "  %s, %s allocated by:\n", count(uint64(g.Blocks), "off-heap arena"), count(uint64(g.Bytes), "byte"))
	} else {
		what := g.Owner
		if g.Type != "" {
			what = g.Type + ", " + g.Owner
		}
		fmt.Fprintf(&b, "  %s, %s (%s) allocated by:\n", count(uint64(g.Blocks), "block"), count(uint64(g.Bytes), "byte"), what)
	}
	if g.Alloc == 0 {
		b.WriteString("    (no stack was kept)\n")
	}
	b.WriteString(g.Alloc.String())
	return b.String()
}

// arenas says whether the group is of arenas, each of which counts as a block.
func (g LeakGroup) arenas() bool { return g.Owner == "arena" }

// blocksAndArenas names those that there are any of.
func blocksAndArenas(blocks, arenas int) string {
	switch {
	case arenas == 0:
		return count(uint64(blocks), "block")
	case blocks == 0:
		return count(uint64(arenas), "off-heap arena")
	}
	return count(uint64(blocks), "block") + " and " + count(uint64(arenas), "off-heap arena")
}
