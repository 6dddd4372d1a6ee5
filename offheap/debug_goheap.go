// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// goRanges knows which addresses belong to the Go heap, where goroutines' stacks lie, too. The
// runtime has no API for it, so goRanges infers them from the outside. The heap takes address space
// in units of goUnit, so that all of the unit around a known object is the heap's. Linux shows the
// mappings of the process besides: those that adjoin the one around such a unit, without a file or
// a foreign name, are the heap's, too, because it grows upwards from where it began, far from
// everything else on 64-bit systems; and newer kernels show the runtime's own names for them. On
// 32-bit systems without such names a unit can stay unknown.
type goRanges struct {
	mu   sync.Mutex
	list []addrRange // Sorted, apart from each other.
}

// addrRange is the addresses from lo up to, but not including, hi.
type addrRange struct{ lo, hi uintptr }

// goUnit is the least of the units in which the heap takes address space, on the systems that there
// are; it is 64 MiB on most.
const goUnit = 4 << 20

// goWindow is how far apart two addresses of the heap may lie before the second is not looked for:
// where the ranges may be out of date they are read anew, which takes long.
const goWindow = 1 << (24 + 16*is64Int)

// refresh finds the ranges anew. Known ranges stay: the heap never returns address space.
func (g *goRanges) refresh() {
	known := probeGoHeap()
	g.mu.Lock()
	defer g.mu.Unlock()
	list := g.list
	for _, addr := range known {
		list = append(list, addrRange{addr &^ (goUnit - 1), addr&^(goUnit-1) + goUnit})
	}
	list = append(list, mappedGoHeap(known)...)
	g.list = mergeRanges(list)
}

// largestProbe is the size of the largest objects by which the heap's units are found: larger ones
// where these alone tell.
const largestProbe = 64 << 10 << (4 * (1 - is64Int))

// probeGoHeap returns addresses of objects on the Go heap of sizes for which it has different
// places, and of the stack.
func probeGoHeap() (addrs []uintptr) {
	for n := 16; n <= largestProbe; n *= 4 {
		addrs = append(addrs, unsafex.SliceAddr(make([]byte, n)), unsafex.SliceAddr(make([]*byte, n/8)))
	}
	var here byte
	return append(addrs, unsafex.Addr(&here))
}

// mergeRanges sorts ranges and joins those that touch.
func mergeRanges(list []addrRange) (merged []addrRange) {
	slices.SortFunc(list, func(a, b addrRange) int {
		if a.lo < b.lo {
			return -1
		}
		return int(min(a.lo-b.lo, 1))
	})
	for _, r := range list {
		if n := len(merged); n > 0 && r.lo <= merged[n-1].hi {
			merged[n-1].hi = max(merged[n-1].hi, r.hi)
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

// lookup is goRanges for one search: it reads the ranges anew once at most.
type lookup struct {
	ranges    *goRanges
	list      []addrRange
	refreshed bool
}

func (g *goRanges) lookup() lookup {
	g.mu.Lock()
	defer g.mu.Unlock()
	return lookup{ranges: g, list: g.list}
}

// has says whether addr is the Go heap's.
func (l *lookup) has(addr uintptr) bool {
	near := false
	for _, r := range l.list {
		if addr-r.lo < r.hi-r.lo {
			return true
		}
		near = near || addr-r.lo < goWindow
	}
	if !near || l.refreshed {
		return false
	}
	l.refreshed = true
	l.ranges.refresh()
	l.list = l.ranges.lookup().list
	return l.has(addr)
}

// search finds the first word of n bytes at addr, from offset from on, that is an address of the Go heap.
//
//go:norace
func (l *lookup) search(addr, n, from uintptr) (off, word uintptr, found bool) {
	first := roundUp(addr+from, ptrSize)
	if n < from || first+ptrSize > addr+n {
		return 0, 0, false
	}
	words := unsafex.Slice[uintptr](first, int((addr+n-first)/ptrSize), int((addr+n-first)/ptrSize))
	for i := range words {
		if w := words[i]; w != 0 && l.has(w) {
			return first + uintptr(i)*ptrSize - addr, w, true
		}
	}
	return 0, 0, false
}

// mappedGoHeap reads which mappings of the process are the Go heap's: those with the runtime's
// name, and those that hold a known address or adjoin one that does, with nothing but anonymous
// memory between them.
func mappedGoHeap(known []uintptr) []addrRange {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil // Other systems have no such file. The units around known objects must do.
	}
	return goMappings(string(text), known)
}

func goMappings(text string, known []uintptr) (found []addrRange) {
	var run addrRange // Anonymous mappings, one right behind the other.
	end := func() {
		for _, addr := range known {
			if is64 && addr-run.lo < run.hi-run.lo {
				found = append(found, run) // Where address space is short, anything may adjoin the heap.
				break
			}
		}
		run = addrRange{}
	}
	for line := range strings.Lines(text) {
		r, name, ok := parseMapping(line)
		if !ok {
			continue
		}
		switch {
		case strings.HasPrefix(name, "[anon: Go: heap"):
			found = append(found, r)
		case name != "" && !strings.HasPrefix(name, "[anon: Go:"):
			end()
			continue
		}
		if r.lo != run.hi {
			end()
			run.lo = r.lo
		}
		run.hi = r.hi
	}
	end()
	return found
}

// parseMapping reads one line of /proc/self/maps: the range, and the name of the file or of the
// anonymous memory.
func parseMapping(line string) (r addrRange, name string, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 5 {
		return r, "", false
	}
	lo, hi, ok := strings.Cut(fields[0], "-")
	from, err1 := strconv.ParseUint(lo, 16, 64)
	to, err2 := strconv.ParseUint(hi, 16, 64)
	if !ok || err1 != nil || err2 != nil {
		return r, "", false
	}
	return addrRange{uintptr(from), uintptr(to)}, strings.Join(fields[5:], " "), true
}
