// SPDX-License-Identifier: Apache-2.0

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
	Owner, Type string // of Block; all arenas count as one
	Blocks      int
	Bytes       int64
}

// Leaks groups the blocks of seq that must be freed, the group with most bytes first. For the
// process's own, seq is Live.
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

// WriteLeaks writes the report of the leaks, the first 50 groups in full; nothing if there are
// none.
func WriteLeaks(w io.Writer, groups []LeakGroup) error {
	if len(groups) == 0 {
		return nil
	}
	var total amounts
	for _, g := range groups {
		total.add(g)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "freehold: leak: %s, from %s, not freed\n", total, count(uint64(len(groups)), "place"))
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

// lostLeaks is the line about blocks that had no room in the table, "" for none.
func lostLeaks(lost uint64) string {
	if lost == 0 {
		return ""
	}
	return fmt.Sprintf("freehold: the table of blocks was full: it had no room for %s, and more may not be freed\n", count(lost, "block"))
}

// String is the paragraph of the group in the report: how many and how large, and the stack.
func (g LeakGroup) String() string {
	var b strings.Builder
	switch noun := g.noun(); {
	case g.handles():
		fmt.Fprintf(&b, "  %s, not closed, allocated by:\n", count(uint64(g.Blocks), noun))
	case noun != "block":
		fmt.Fprintf(&b, "  %s, %s allocated by:\n", count(uint64(g.Blocks), noun), count(uint64(g.Bytes), "byte"))
	default:
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

// OwnerLocal is the owner of what must be closed and takes no bytes of its own.
const OwnerLocal = "Local"

// noun is the word for one member of the group.
func (g LeakGroup) noun() string {
	switch g.Owner {
	case "arena":
		return "off-heap arena"
	case OwnerLocal:
		return g.Owner
	}
	return "block"
}

// handles says whether the group consists of Locals, which are closed and not freed.
func (g LeakGroup) handles() bool { return g.Owner == OwnerLocal }

// amounts counts what a report lists.
type amounts struct {
	number [len(leakNouns)]int
	bytes  int64
}

// leakNouns are the nouns of groups, in the order of a report's first line.
var leakNouns = [...]string{"block", "off-heap arena", OwnerLocal}

func (a *amounts) add(g LeakGroup) {
	a.number[slices.Index(leakNouns[:], g.noun())] += g.Blocks
	a.bytes += g.Bytes
}

// String names the numbers that are not 0: "3 blocks, 2 off-heap arenas and 1 Local of 100 bytes in
// all".
func (a amounts) String() string {
	var parts []string
	for i, n := range a.number {
		if n > 0 {
			parts = append(parts, count(uint64(n), leakNouns[i]))
		}
	}
	text := strings.Join(parts, ", ")
	if i := strings.LastIndex(text, ", "); i >= 0 {
		text = text[:i] + " and " + text[i+2:]
	}
	if a.number[0]+a.number[1] > 0 { // A Local has no bytes of its own.
		text += " of " + count(uint64(a.bytes), "byte") + " in all"
	}
	return text
}
