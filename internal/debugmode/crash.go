// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"strconv"
	"strings"
)

// A crash is what Go's text says of a fault that ended a process.
type crash struct {
	addr      uintptr
	goroutine int64
	stack     string // of the access, as Stack.String has it; "" if the text has none
}

// parseCrash reads the text that Go writes when a process dies, false if it did not die of a fault.
// What it looks for (GC-9):
//
//	[signal SIGSEGV: segmentation violation code=0x2 addr=0x7f2d99404fd0 pc=0x564960]
//
//	goroutine 1 gp=0x3561891841e0 m=0 mp=0x75ac40 [running]:
//
// or, if C or assembly called by cgo faulted:
//
//	SIGSEGV: segmentation violation
//	PC=0x46c6a1 m=0 sigcode=2 addr=0x7f2d99404fd0
//	signal arrived during cgo execution
//
//	goroutine 1 gp=0x3561891841e0 m=0 mp=0x75ac40 [syscall]:
//
// Regular expressions would be compiled in every program, for the sake of those that crash.
func parseCrash(text string) (c crash, ok bool) {
	all := text
	_, text, found := cutLine(all, "[signal ", " addr=0x")
	if !found {
		_, text, found = cutLine(all, "PC=0x", " addr=0x")
	}
	digits := text[:len(text)-len(strings.TrimLeft(text, "0123456789abcdef"))]
	addr, err := strconv.ParseUint(digits, 16, strconv.IntSize)
	if !found || err != nil {
		return crash{}, false
	}
	c.addr = uintptr(addr)
	number, trace, found := cutLine(text, "goroutine ", " ")
	if c.goroutine, err = strconv.ParseInt(number, 10, 64); found && err == nil {
		_, trace, _ = strings.Cut(trace, "\n")
		trace, _, _ = strings.Cut(trace, "\n\n")
		c.stack = parseTrace(trace)
	}
	return c, true
}

// cutLine finds the first line that begins with prefix and goes on with anything and then with sep,
// and returns what lies between the two, and all behind.
func cutLine(text, prefix, sep string) (between, rest string, found bool) {
	for text != "" {
		line, next, _ := strings.Cut(text, "\n")
		if after, ok := strings.CutPrefix(line, prefix); ok && strings.Contains(after, sep) {
			return strings.Cut(text[len(prefix):], sep)
		}
		text = next
	}
	return "", "", false
}

// parseTrace reads a traceback: for each call a line with the function and its arguments, and one
// with the place. What lies within the call of runtime.sigpanic was done about the fault, and the
// runtime's calls before it on the program's behalf.
func parseTrace(trace string) string {
	var b strings.Builder
	lines := strings.Split(trace, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		function, place := lines[i], strings.TrimSpace(lines[i+1])
		if !strings.HasPrefix(function, "created by ") {
			if args := strings.LastIndexByte(function, '('); args >= 0 {
				function = function[:args]
			}
		}
		if function == "runtime.sigpanic" {
			b.Reset()
			continue
		}
		if function == "runtime.goexit" {
			continue // What a "created by" stands behind.
		}
		place, _, _ = strings.Cut(place, " +0x")
		place, _, _ = strings.Cut(place, " fp=0x")
		writeFrame(&b, function, place)
	}
	return dropRuntime(dropOuter(b.String()))
}

// explainCrash makes the report of a crash from the records that the process left.
func explainCrash(c crash, records []record) (Report, bool) {
	best := nearest(uint64(c.addr), records)
	if best == nil {
		return Report{}, false
	}
	return c.report(best.block()), true
}

// nearest is the record that explains an access best, nil if none does.
func nearest(addr uint64, records []record) (best *record) {
	for i := range records {
		if r := &records[i]; r.flags&flagUsed != 0 && addr-r.lo < r.hi-r.lo && r.nearer(best, addr) {
			best = r
		}
	}
	return best
}

// report is the report of a crash by an access to or near a block.
func (c crash) report(b Block) Report {
	r := describe(c.addr, b)
	r.Access, r.AccessBy = c.stack, c.goroutine
	if r.Access == "" {
		r.Access = "    (the text of the crash has no stack: see GOTRACEBACK)\n"
	}
	return r
}
