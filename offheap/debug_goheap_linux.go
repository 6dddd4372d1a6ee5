// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"os"
	"strconv"
	"strings"
)

// mappedGoHeap reads which mappings of the process are the Go heap's: those with the runtime's
// name, and those that hold a known address or adjoin one that does, with nothing but anonymous
// memory between them.
func mappedGoHeap(known []uintptr) []addrRange {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil // Without /proc the units around known objects must do.
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
