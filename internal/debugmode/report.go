// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"fmt"
	"strconv"
	"strings"
)

// The kinds of mistakes, as the first line of a report has them. Uses after a free are "use after "
// and the operation.
const (
	KindUseAfter  = "use after "
	KindOverflow  = "overflow"
	KindUnderflow = "underflow"
)

// A Report is a mistake, with all that is known of it.
type Report struct {
	Kind     string  // "use after Free", "overflow", "double free", ...
	Addr     uintptr // that was accessed, or that was passed
	What     string  // the rest of the first line: the operation and the block
	Block    Block   // zero if none is known
	Verb     string  // the operation at the stack of the mistake: "accessed", "freed again"
	Access   string  // the stack of the mistake, as Stack.String has it; "" if not known
	AccessBy int64   // its goroutine, 0 if not known
	Advice   string  // what to do, in one sentence
}

// String is the whole report: the first line, up to three stacks, what to do. It ends in a newline.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "freehold: %s: %s\n", r.Kind, r.What)
	verb := r.Verb
	if verb == "" {
		verb = "accessed"
	}
	part(&b, verb, r.AccessBy, "", r.Access)
	if !r.Block.tomb || r.Block.Alloc != 0 {
		part(&b, "allocated", r.Block.AllocBy, "", r.Block.Alloc.String())
	}
	if r.Block.FreeOp != "" {
		part(&b, "freed", r.Block.FreeBy, ", by "+r.Block.freedBy(), r.Block.Free.String())
	}
	if r.Advice != "" {
		b.WriteString("  What to do: " + r.Advice + "\n")
	}
	return b.String()
}

// Error is the report without the newline at its end.
func (r Report) Error() string { return strings.TrimSuffix(r.String(), "\n") }

// part writes one stack under its title, or that it is not known.
func part(b *strings.Builder, verb string, goroutine int64, by, stack string) {
	if stack == "" {
		if by != "" {
			fmt.Fprintf(b, "  %s%s\n", verb, by)
		}
		return
	}
	b.WriteString("  " + verb)
	if goroutine != 0 {
		fmt.Fprintf(b, " by goroutine %d", goroutine)
	}
	b.WriteString(by + ":\n" + stack)
}

// Misuse makes the report of a mistake that was found by a check and not by a fault: kind and what
// make the first line, verb names the mistaken operation, such as "freed again". The stack of the
// mistake begins with the caller of Misuse for skip 0.
func Misuse(kind, what, verb string, addr uintptr, b Block, skip int) Report {
	return Report{
		Kind: kind, Addr: addr, What: what, Block: b, Verb: verb, Access: Callers(skip + 1).String(), AccessBy: Goroutine(),
	}
}

// Explain returns the report of an address at which an access faulted, false if the address is
// unknown. In a deferred function that recovers from the fault the stack of the access is still
// there, and becomes part of the report; elsewhere it is left out.
func Explain(addr uintptr) (Report, bool) {
	b, ok := blocks.find(addr)
	if !ok {
		return Report{}, false
	}
	r := describe(addr, b)
	if r.Access = faultStack(); r.Access != "" {
		r.AccessBy = Goroutine()
	}
	return r, true
}

// describe makes the report of an access to or near a block.
func describe(addr uintptr, b Block) Report {
	r := Report{Addr: addr, Block: b}
	where := place(addr, b)
	switch {
	case b.tomb:
		r.Kind = KindUseAfter + b.FreeOp
		r.What = fmt.Sprintf("access through a pointer out of a %s that was given up", b)
		r.Advice = "The pointer was read from memory that was given up: keep the arena until the last use, or copy what outlives it."
	case b.FreeOp != "":
		r.Kind = KindUseAfter + b.FreeOp
		r.What = fmt.Sprintf("access %s a %s that was freed", where, b)
		r.Advice = "Free a block after its last use, and let no pointer, slice or string into it live longer."
	case addr < b.Addr:
		r.Kind = KindUnderflow
		r.What = fmt.Sprintf("access %s a %s", where, b)
		r.Advice = "Check the offset: it lies before the block."
	case addr-b.Addr >= b.Size:
		r.Kind = KindOverflow
		r.What = fmt.Sprintf("access %s a %s", where, b)
		r.Advice = "Check the index against the length, or allocate more."
	default:
		r.Kind = "fault"
		r.What = fmt.Sprintf("access %s a %s that is alive", where, b)
		r.Advice = "The memory is protected by somebody else, or was freed and allocated again meanwhile."
	}
	return r
}

// place says where addr lies: "at the start of", "16 bytes into", "3 bytes behind", "8 bytes
// before".
func place(addr uintptr, b Block) string {
	switch {
	case addr < b.Addr:
		return count(uint64(b.Addr-addr), "byte") + " before"
	case addr == b.Addr && b.Size > 0:
		return "at the start of"
	case addr-b.Addr < b.Size:
		return count(uint64(addr-b.Addr), "byte") + " into"
	case addr == b.Addr+b.Size:
		return "right behind"
	}
	return count(uint64(addr-b.Addr-b.Size), "byte") + " behind"
}

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
