// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"fmt"
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
