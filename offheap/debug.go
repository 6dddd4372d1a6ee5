// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

func init() {
	startStd = setStd
	debugmode.OnEnd(Check)
}

func setStd() {
	h := &std
	h.mem = vmem.System()
	h.init()
	t := chooseRecorder(h)
	if t != nil {
		h.recorder.Store(t)
	} else {
		h.onGrowth = freehold.SyncMemoryLimit
	}
	freehold.Register("offheap", func() freehold.Totals { return h.totals() })
	if every := debugmode.Current().Sample; every > 0 && t == nil {
		h.startSampling(every)
	}
}

// chooseRecorder returns what serves the blocks of h in place of its slabs, or nil if nothing does.
//
// With the kill switch, and where there is no other memory, blocks come from the Go heap; then
// there are no guarded pages, and addresses of the Go heap cannot be distinguished from others.
// Under the race detector, too, blocks come from the Go heap, because it sees no other memory; but
// a mode that needs memory of its own goes before it.
func chooseRecorder(h *heap) *recorder {
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
	t := newRecorder(h)
	t.unpaged = onGoHeap
	t.debug(modes)
	if !onGoHeap && (!race || modes.Guard || modes.Pointers) {
		t.under = newHeap(vmem.System())
		t.under.onGrowth = freehold.SyncMemoryLimit
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
func (t *recorder) debug(modes debugmode.Config) {
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
func (t *recorder) mark(b *block, zero bool) {
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
func (t *recorder) guard(b *block, align uintptr) bool {
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
func (t *recorder) margin(q request) uintptr {
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
func (t *recorder) pattern(b *block, wish byte) byte {
	if b.kind.typed() {
		return debugmode.TypedPattern
	}
	return wish
}

// poison overwrites a freed block with the pattern.
func (t *recorder) poison(b *block) {
	if !t.bare(b) {
		paint(b.addr, b.room, t.pattern(b, debugmode.PoisonFreed))
	}
}

// bare says that nothing may be written over b, because the collector follows the pointers in it.
func (t *recorder) bare(b *block) bool { return t.under == nil && b.kind.pointers }

// inspect searches a live block for traces of mistakes.
func (t *recorder) inspect(b *block, op string) *MisuseError {
	if e := t.inspectCanary(b, op); e != nil {
		return e
	}
	if t.modes.Pointers {
		look := t.goes.lookup()
		return t.inspectPointers(b, op, &look)
	}
	return nil
}

func (t *recorder) inspectCanary(b *block, op string) *MisuseError {
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
func (t *recorder) inspectFreed(b *block) *MisuseError {
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
func (t *recorder) diagnose(op string, addr uintptr) *MisuseError {
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
func (t *recorder) staleRef(off uint64, d *typeDesc, n uintptr) {
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

// inspectPointers searches a block for an address of the Go heap.
func (t *recorder) inspectPointers(b *block, op string, look *lookup) *MisuseError {
	off, word, found := look.search(b.addr, b.size, 0)
	if !found {
		return nil
	}
	known := b.known()
	r := misuseReport("heap pointer in off-heap memory",
		fmt.Sprintf("%s, %s into a %s, holds %#x, an address of the Go heap", b.field(off), bytesText(int(off)), known, word), op, b.addr+off, known)
	r.Advice = "The collector does not see it, and frees what it leads to: keep the value off the heap, too, or use package arena."
	return newMisuse(op, r)
}

// field names what lies off bytes into the block: "main.node.next", "[]main.node[3].next", "bytes
// of []byte".
func (b *block) field(off uintptr) string {
	if b.desc == nil {
		return fmt.Sprintf("[]byte[%d:%d]", off, off+ptrSize)
	}
	path := b.desc.typ.String()
	if b.size > b.desc.size {
		path = fmt.Sprintf("[]%s[%d]", path, off/b.desc.size)
	}
	return path + fieldAt(b.desc.typ, off%b.desc.size)
}

// fieldAt is the path to what lies off bytes into a value of type t: ".next", "[3].name".
func fieldAt(t reflect.Type, off uintptr) string {
	switch t.Kind() {
	case reflect.Array:
		if size := t.Elem().Size(); size > 0 {
			return fmt.Sprintf("[%d]%s", off/size, fieldAt(t.Elem(), off%size))
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); off-f.Offset < f.Type.Size() {
				return "." + f.Name + fieldAt(f.Type, off-f.Offset)
			}
		}
	}
	return ""
}

// Check searches all memory outside the Go heap for the traces of mistakes that the debug modes can
// find: bytes written behind a block, or to a freed one (FREEHOLD=guard), next to a block on its
// guarded pages (guard), and addresses of the Go heap (pointers). It compares the idle objects of
// package pool with what they were (guard). The error joins a [*MisuseError]
// for each block. It is nil if there are none, or if no such mode is on.
//
// Check reads each block once, at about the speed of memory. Any goroutine may call it at any time.
// If the program writes to a block at the same moment, Check reads the block as it is. Frees wait
// meanwhile.
//
// On 64-bit Linux the mode pointers knows all of the Go heap, which includes goroutines' stacks. On
// other systems it knows the parts of the heap that hold some present objects, so it does not find
// a word that leads to another part. A number that happens to be an address of the Go heap counts
// as one. So do bytes between the fields of a struct that lay in other memory before: an assignment
// may copy them. Package-level variables and constants are not on the heap, so pointers to them are
// allowed.
func Check() error {
	std.start()
	var err error
	if t := std.serving(); t != nil {
		err = t.check()
	} else if std.guards != nil {
		err = std.guards.check()
	}
	if others := debugmode.RunChecks(); others != nil {
		return errors.Join(err, others)
	}
	return err
}

func (t *recorder) check() error {
	if !t.marked() {
		return nil
	}
	var found []error
	note := func(e *MisuseError) {
		if e != nil {
			found = append(found, e)
		}
	}
	var look lookup
	if t.modes.Pointers {
		t.goes.refresh()
		look = t.goes.lookup()
	}
	t.blocks.each(func(b *block) {
		note(t.inspectCanary(b, "Check"))
		if t.modes.Pointers {
			note(t.inspectPointers(b, "Check", &look))
		}
	})
	t.freed.each(func(b *block) { note(t.inspectFreed(b)) })
	note(t.late.Swap(nil))
	return errors.Join(found...)
}

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

// search finds the first word of n bytes at addr, from offset from on, that is an address of the Go
// heap.
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

// With a sanitizer compiled in, every block is recorder. All memory that blocks are cut from is
// forbidden to the program; a block is allowed while it lives, so that its neighbourhood is what
// the sanitizers call red zones: at least what the block before leaves behind its end (see margin).
// Freed blocks are forbidden again, and not used again while they are in quarantine.

// sanitizedQuarantine bounds the freed blocks that a sanitizer keeps from being used again, in
// bytes. It is what AddressSanitizer keeps of malloc's.
const sanitizedQuarantine = 256 << 20

// marked says whether blocks are noted with their stacks: in the debug modes, and for a sanitizer
// to which they are reported. A nil t has no blocks.
func (t *recorder) marked() bool {
	return t != nil && (t.modes.Asked() || sanitize.Enabled && t.under != nil)
}

// sanitized says whether b is reported to a sanitizer. Blocks on the Go heap are the runtime's to
// report.
func (t *recorder) sanitized(b *block) bool {
	return sanitize.Enabled && t.under != nil && !b.guarded
}

// announce reports a new block to the sanitizer, and zeroes it if zero is set.
func (t *recorder) announce(b *block, zero bool) {
	if !t.sanitized(b) {
		return
	}
	sanitize.Fresh(b.addr, b.size, zero)
	if zero {
		unsafex.Clear(b.addr, b.size)
	}
}

// freeUnder gives the memory of a block back to the slabs, which may clear it.
func (t *recorder) freeUnder(b *block) {
	if t.sanitized(b) {
		sanitize.Unpoison(b.addr, b.room)
		defer sanitize.Poison(b.addr, b.room)
	}
	t.under.freeSlow(b.addr, nil, "Free")
}

// clearRest makes the elements of s from the n-th on zero.
func clearRest[T any](s []T, n int) {
	rest := s[n:]
	clear(rest)
	if sanitize.Enabled && len(rest) > 0 { // MemorySanitizer does not see what the builtin writes.
		sanitize.Unpoison(unsafex.SliceAddr(rest), uintptr(len(rest))*unsafex.Size[T]())
	}
}

// allowCopy comes before a copy of s, of which the program may have written a part: to
// MemorySanitizer, as Go uses it, a copy is a use. Bytes that were not written count as written
// afterwards.
func allowCopy[T any](s []T) {
	if sanitize.Kind == "msan" && len(s) > 0 {
		sanitize.Unpoison(unsafex.SliceAddr(s), uintptr(len(s))*unsafex.Size[T]())
	}
}

// A Leak describes the blocks that were allocated at one place, for one type, and have not been
// freed.
type Leak struct {
	Blocks int
	Bytes  int64
	Type   string // What they hold, such as "[]byte" or "main.node".
	Stack  string // The calls that allocated them, the innermost first: a line for the function, and one for file and line.

	group debugmode.LeakGroup
}

// String is the paragraph of a leak in a report: a line with the number of blocks and bytes, and
// the stack.
func (l Leak) String() string { return l.group.String() }

// Leaks lists the blocks in use, grouped by place of allocation and type, those with the most bytes
// first. At the end of a program or of a test, blocks in use are usually leaks. Leaks needs a debug
// mode (FREEHOLD=leaks is the cheapest) and returns nil without one. [ReadStats] has the number of
// bytes in use in any mode.
//
// Any goroutine may call Leaks at any time. It takes a fraction of a microsecond a block.
func Leaks() []Leak {
	std.start()
	t := std.serving()
	if !t.marked() {
		return nil
	}
	var list []Leak
	for _, g := range t.leaks(0) {
		list = append(list, Leak{g.Blocks, g.Bytes, g.Type, g.Alloc.String(), g})
	}
	return list
}

// leaks groups the blocks that are alive and were made after the first so many.
func (t *recorder) leaks(after uint64) []debugmode.LeakGroup {
	return debugmode.Leaks(func(yield func(debugmode.Block) bool) {
		more := true
		t.blocks.each(func(b *block) {
			if more && b.number > after {
				more = yield(debugmode.Block{Owner: "offheap", Type: b.holds(), Alloc: b.stack, Size: b.size, Leak: true})
			}
		})
		if more {
			openHandles(after, yield)
		}
	})
}

// TB is the part of testing.TB that [CheckLeaks] needs, so that programs do not import package
// testing.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// CheckLeaks makes a test fail at its end if blocks are in use that were allocated since the call.
// In a debug mode (run the test with FREEHOLD=leaks) the failure lists them by the stack of their
// allocation, and is exact. Without a mode CheckLeaks compares the bytes in use, so the free of an
// older block can hide a leak.
//
// Call it before you register cleanups that free blocks: cleanups run last in, first out. Blocks of
// tests that run in parallel count, too.
func CheckLeaks(t TB) {
	t.Helper()
	std.start()
	if r := std.serving(); r.marked() {
		after := r.made.Load()
		t.Cleanup(func() {
			t.Helper()
			if list := r.leaks(after); len(list) > 0 {
				var b strings.Builder
				_ = debugmode.WriteLeaks(&b, list) // A Builder takes everything.
				t.Errorf("%s", strings.TrimSuffix(b.String(), "\n"))
			}
		})
		return
	}
	before := ReadStats().InUse
	t.Cleanup(func() {
		t.Helper()
		if n := ReadStats().InUse; n > before {
			t.Errorf("freehold: leak: %s more than at the start are in use off the heap; run the test with FREEHOLD=leaks to see where they were allocated", bytesText(int(n-before)))
		}
	})
}

// handles are the handles that are not closed, in the modes that keep stacks. A dropped Local stays
// among them.
var handles struct {
	sync.Mutex
	open map[*handle]uint64 // The number of the last block that was made before.
}

const localType = "offheap." + debugmode.OwnerLocal

// openHandles yields the handles that are not closed and were made after the block of that number.
func openHandles(after uint64, yield func(debugmode.Block) bool) bool {
	handles.Lock()
	defer handles.Unlock()
	for n, since := range handles.open {
		if since >= after && !yield(debugmode.Block{Owner: debugmode.OwnerLocal, Type: localType, Alloc: n.made, Leak: true}) {
			return false
		}
	}
	return true
}
