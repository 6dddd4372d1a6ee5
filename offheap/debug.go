// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"math"
	"strings"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/vmem"
)

func init() { debugmode.OnEnd(Check) }

// chooseTracked returns what serves the blocks of h in place of its slabs, or nil if nothing does.
//
// With the kill switch, and where there is no other memory, blocks come from the Go heap; then
// there are no guarded pages, and addresses of the Go heap cannot be distinguished from others.
// Under the race detector, too, blocks come from the Go heap, because it sees no other memory; but
// a mode that needs memory of its own goes before it.
func chooseTracked(h *heap) *tracked {
	onGoHeap := freehold.HeapMode() || !vmem.Supported // HeapMode freezes the modes, which starts those for debugging.
	modes := debugmode.Current()
	modes.Sample = 0 // The slabs serve sampled blocks.
	if onGoHeap {
		modes.Pointers = false
	}
	race := sanitize.Race && !raceOnSlabs
	if !onGoHeap && !modes.On() && !race {
		return nil
	}
	t := newTracked(h)
	t.unpaged = onGoHeap
	t.debug(modes)
	if !onGoHeap && (!race || modes.Guard || modes.Pointers) {
		t.under = newHeap(vmem.System())
		t.under.growthHook = freehold.SyncMemoryLimit
		t.under.announces = sanitize.Enabled
	}
	return t
}

// raceOnSlabs is for the slabs' own tests under the race detector.
var raceOnSlabs = false

// quarantineShare: poisoned blocks in quarantine take a sixteenth of the budget at most. Guarded
// ones take address space, these memory.
const quarantineShare = 16

// debug sets the modes.
func (t *tracked) debug(modes debugmode.Config) {
	t.modes = modes
	if modes.Guard {
		t.freed.most, t.freed.bytesMost = math.MaxInt, uintptr(modes.GuardBytes/quarantineShare)
	}
	if sanitize.Enabled {
		t.freed.most, t.freed.bytesMost = math.MaxInt, sanitizedQuarantine
	}
	if modes.Pointers {
		t.goes.refresh()
	}
}

// mark does to a new block what the modes ask for, and enters it in the table that reports are made
// from.
func (t *tracked) mark(b *block, zero bool) {
	if t.modes.Guard {
		if !zero {
			paint(b.addr, b.size, t.pattern(b, debugmode.PoisonFresh))
		}
		paint(b.addr+b.size, b.room-b.size, t.pattern(b, debugmode.Canary))
	}
	if b.stack == 0 {
		b.stack = debugmode.Callers(0)
	}
	debugmode.Add(debugmode.Block{Addr: b.addr, Size: b.size, Owner: "offheap", Type: b.holds(), Alloc: b.stack, Leak: true})
}

// holds is what the block was allocated for: "[]byte", "main.node" or "[]main.node".
func (b *block) holds() string {
	switch {
	case b.desc == nil:
		return "[]byte"
	case b.size > b.desc.size:
		return b.desc.names.slice
	}
	return b.desc.names.one
}

// guard puts b on guarded pages, if that is possible.
func (t *tracked) guard(b *block, align uintptr) bool {
	if align > vmem.PageSize() {
		return false // A block could end at a page's end and be aligned only by chance.
	}
	if b.kind.typed() {
		b.addr, b.guarded = debugmode.GuardAllocFor(b.desc.key, b.size, align)
	} else {
		b.addr, b.guarded = debugmode.GuardAlloc(b.size, align)
	}
	return b.guarded
}

// A canaryLen is how many bytes behind a block bear a canary at least, so that the next block is
// not reached by a small overflow.
const canaryLen = 16

// margin is the bytes behind a block that bear its canary.
func (t *tracked) margin(q request) uintptr {
	switch {
	case !t.modes.Guard && !sanitize.Enabled:
		return 0
	case t.under == nil && q.kind.pointers:
		return 0 // The collector follows the pointers in it.
	case t.under == nil && q.kind.typed():
		return roundUpTo(canaryLen, q.kind.typ.Size())
	}
	return roundUp(q.n+canaryLen, 8) - q.n
}

func roundUpTo(n, step uintptr) uintptr { return (n + step - 1) / step * step }

// pattern is the byte to write over memory of b in place of a pattern, so that a stale value has
// valid bools, and no pointer that the collector could mind (C1).
func (t *tracked) pattern(b *block, wish byte) byte {
	if b.kind.typed() {
		return debugmode.TypedPattern
	}
	return wish
}

// poison overwrites a freed block with the pattern.
func (t *tracked) poison(b *block) {
	if !t.bare(b) {
		paint(b.addr, b.room, t.pattern(b, debugmode.PoisonFreed))
	}
}

// bare says that nothing may be written over b, because the collector follows the pointers in it.
func (t *tracked) bare(b *block) bool { return t.under == nil && b.kind.pointers }

// inspect searches a live block for traces of mistakes.
func (t *tracked) inspect(b *block, op string) *MisuseError {
	if e := t.inspectCanary(b, op); e != nil {
		return e
	}
	if t.modes.Pointers {
		look := t.goes.lookup()
		return t.inspectPointers(b, op, &look)
	}
	return nil
}

func (t *tracked) inspectCanary(b *block, op string) *MisuseError {
	off, whole := 0, true
	if b.guarded {
		off, whole = debugmode.CheckCanary(b.addr)
	} else if t.modes.Guard {
		var n uintptr
		n, whole = unpainted(b.addr+b.size, b.room-b.size, t.pattern(b, debugmode.Canary))
		off = int(b.size + n)
	}
	if whole {
		return nil
	}
	where := "right behind"
	switch n := off - int(b.size); {
	case off < 0:
		where = fmt.Sprintf("%s before", bytesText(-off))
	case n > 0:
		where = fmt.Sprintf("%s behind", bytesText(n))
	}
	known := b.known()
	r := misuseReport("damaged canary", fmt.Sprintf("a byte %s a %s was written", where, known), op, b.addr+uintptr(off), known)
	r.Advice = "Look for a write past the block's end, or before its start, between the allocation and now; with FREEHOLD=guard it faults if it leaves the page."
	return newMisuse(op, r)
}

// inspectFreed checks a block in quarantine, and paints it anew if it was written.
func (t *tracked) inspectFreed(b *block) *MisuseError {
	if t.bare(b) || !t.modes.Guard {
		return nil
	}
	p := t.pattern(b, debugmode.PoisonFreed)
	off, whole := unpainted(b.addr, b.room, p)
	if whole {
		return nil
	}
	paint(b.addr, b.room, p)
	known := b.known()
	r := misuseReport("write after "+freeOp(known), fmt.Sprintf("byte %d of a %s that was freed was written", off, known), "", b.addr+off, known)
	r.Advice = "The write came between the free and now; with FREEHOLD=guard it faults."
	return newMisuse("Check", r)
}

func freeOp(b debugmode.Block) string {
	if b.FreeOp == "" {
		return "Free"
	}
	return b.FreeOp
}

// known is what the table of reports says of b, or what b itself does.
func (b *block) known() debugmode.Block {
	if k, ok := debugmode.Find(b.addr); ok && k.Addr == b.addr {
		return k
	}
	return debugmode.Block{Addr: b.addr, Size: b.size, Owner: "offheap", Type: b.holds(), Alloc: b.stack}
}

// diagnose names the mistake of passing addr to op: no live block begins there.
func (t *tracked) diagnose(op string, addr uintptr) *MisuseError {
	known, ok := debugmode.Find(addr)
	if b, alive := t.blocks.containing(addr); alive {
		known, ok = b.known(), true
	}
	in := addr - known.Addr
	var r debugmode.Report
	switch {
	case !ok || known.Owner != "offheap" || in >= max(known.Size, 1):
		r = misuseReport("foreign pointer", fmt.Sprintf("%s of %#x, where no block of offheap lies", op, addr), op, addr, debugmode.Block{})
		r.Advice = sentence(foreignDetail(op))
	case op == "RefOf":
		r = misuseReport("use after free", fmt.Sprintf("RefOf of a pointer to a %s that was freed", known), op, addr, known)
		r.Advice = "Make a Ref of a value that is in use."
	case in == 0:
		r = misuseReport("double free", fmt.Sprintf("%s of a %s that was freed already", op, known), op, addr, known)
		r.Advice = "Keep one owner for each block."
	case known.FreeOp != "":
		r = misuseReport("interior pointer", fmt.Sprintf("%s of an address %s into a %s that was freed already", op, bytesText(int(in)), known), op, addr, known)
		r.Advice = "Keep one owner for each block, and free the slice that Alloc returned, or a prefix of it."
	default:
		r = misuseReport("interior pointer", fmt.Sprintf("%s of an address %s into a %s", op, bytesText(int(in)), known), op, addr, known)
		r.Advice = "Free the slice that Alloc returned, or a prefix of it."
	}
	return newMisuse(op, r)
}

// sentence is a detail as a sentence of its own.
func sentence(detail string) string {
	return strings.ToUpper(detail[:1]) + detail[1:] + "."
}

// staleRef panics with the report of a Ref into a freed block, or of a SliceRef if n is not 0.
func (t *tracked) staleRef(off uint64, d *typeDesc, n uintptr) {
	addr := uintptr(off)
	if !t.marked() {
		if t.freed.has(addr) {
			panic(fmt.Errorf("offheap: Ref %#x does not lead to a %s: the value was deleted; let no Ref to it live longer", off, d.typ))
		}
		return
	}
	known, ok := debugmode.Find(addr)
	if !ok || known.FreeOp == "" || addr-known.Addr >= known.Size {
		return
	}
	op, what := "Ref.Ptr", d.names.one
	if n > 0 {
		op, what = "SliceRef.Slice", d.names.slice
	}
	r := misuseReport("use after "+known.FreeOp, fmt.Sprintf("%s of a Ref to a %s, %s into a %s that was freed", op, what, bytesText(int(addr-known.Addr)), known), op, addr, known)
	r.Advice = "Free a block after its last use, and let no Ref to it live longer."
	panic(newMisuse(op, r))
}

// misuseReport is the report of a mistake found by op, or by no function in particular.
func misuseReport(kind, what, op string, addr uintptr, b debugmode.Block) debugmode.Report {
	verb := "found"
	if op != "" {
		verb = "found in offheap." + op + ", called"
	}
	return debugmode.Misuse(kind, what, verb, addr, b, 1)
}

func newMisuse(op string, r debugmode.Report) *MisuseError {
	return &MisuseError{Op: op, Addr: r.Addr, Kind: r.Kind, Detail: r.What, Report: r.Error(),
		Here: r.Access, Allocated: r.Block.Alloc.String(), Freed: r.Block.Free.String()}
}

func bytesText(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}
