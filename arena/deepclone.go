// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"cmp"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/freehold-go/freehold/internal/graph"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// DeepClone copies v, and everything that can be reached from it through pointers, slices, strings,
// maps and interfaces, to a. The copy has the shape of the original:
//
//   - Cycles stay cycles. Equal pointers of one type stay equal, and so do equal maps and slices of
//     one type, address and length.
//   - Slices of different lengths or addresses get arrays of their own, even if they overlap, and so
//     do pointers to arrays that are parts of slices. The capacity of a copy is its length.
//   - A pointer into a struct, an array or a slice that is copied as well is refused, as &v.field is
//     if v is copied, too.
//   - Nil stays nil, and empty stays empty.
//
// Exported fields are copied, and unexported fields with numbers and strings. Unexported fields that
// lead to memory in another way are copied if their struct type is declared in the main module, if
// it is one of those of errors, fmt, math/big, bytes.Buffer and sync/atomic, if it has
// the method UnsafeCloneFields, or if [CloneOptions].UnsafeTrust names a type of its package. In all
// other types they are refused unless they are nil, because a package may use package unsafe to
// store data there that differs from the field's type, as log/slog and time do. A test binary does
// not say which modules it has: in it, modules whose paths lie below that of the main module count
// as the main module.
//
// By the following method, which is never called, a type promises that its fields hold values of
// their types:
//
//	func (T) UnsafeCloneFields() (_ T)
//
// Some values are not copied but shared, because they are identities or never change: the targets of
// a reflect.Type, a *time.Location, a *regexp.Regexp, a *strings.Replacer, a unique.Handle and a
// weak.Pointer; errors made by errors.New; an Arena, a Pool, an offheap.Local or Purpose behind a
// pointer; what the pointers of an [offheap.UnsafeSelfContained] lead to; what the options name. If a
// shared value lies in an arena or leads into one, the copy must not outlive that arena. Other
// sentinels, such as variables that fmt.Errorf made, are copied: name their types in
// [CloneOptions].Share.
//
// Maps are copied to Go maps, which live on the Go heap and keep the arena's memory alive, as any
// pointer does; their keys and values lead to the arena. Such a map must not be used after a is freed.
// The copy of a *[Map] is a Map in a, or one without an arena, as NewMap(nil, n) makes it. An
// arenajson.Value is copied with all of its part of the document. A lock is copied with its state, as an
// assignment copies it.
//
// DeepClone returns an error that errors.Is [ErrUncloneable] and names the path of the field for
// channels, functions and unsafe.Pointers that are not nil, handles of freehold and Maps by value,
// pointers into copied values, and fields that are refused. It returns an error that errors.Is
// [offheap.ErrLimit] or [offheap.ErrOutOfMemory] if a cannot take the copy. After an error the memory
// that the copy took stays in a until a is reset or freed. DeepClone panics if a was freed, and if a
// value that holds pointers would go to an arena off the heap.
//
// In an arena made by NewShared, calls of other goroutines wait for the end of the clone, and a *Map is
// refused, because its copy would allocate without the lock.
//
// The program must not change v meanwhile. If v holds memory of an arena that
// was reset or freed, the copy holds whatever lies there now, or DeepClone refuses it; like any use of such
// values it may take long, and the hash of a key that leads to itself ends the process.
func DeepClone[T any](a *Arena, v T, options ...CloneOptions) (T, error) {
	if a != nil {
		a.check("DeepClone")
	}
	return deepClone("DeepClone", a, v, options)
}

// Heap copies v, and everything that can be reached from it, to the Go heap. The copy may outlive
// all arenas. The rules are those of [DeepClone]. Each variable becomes one of its own there, so
// the collector frees each one when the program drops it. If there is no memory, the process ends, as it does
// after a make.
func Heap[T any](v T, options ...CloneOptions) (T, error) { return deepClone("Heap", nil, v, options) }

func deepClone[T any](op string, a *Arena, v T, options []CloneOptions) (T, error) {
	r := &plainRules
	if len(options) > 0 {
		r = rulesFor(options)
	}
	p := r.plan(reflect.TypeFor[T]())
	if p.flat() {
		return v, nil
	}
	return cloneValue(op, a, v, r, p)
}

// cloneValue has v on the heap.
func cloneValue[T any](op string, a *Arena, v T, r *rules, p *plan) (T, error) {
	var out, zero T
	in, shared := a, false
	if a != nil {
		target, lock := a.lock(op)
		defer lock.unlock()
		in, shared = target, lock != nil
	}
	err := clone(op, in, shared, r, p, unsafex.PtrOf(&v), unsafex.PtrOf(&out))
	runtime.KeepAlive(&v)
	if err != nil {
		return zero, err
	}
	return out, nil
}

// A walker copies one value; see the picture in deepclone_types.go.
type walker struct {
	op     string
	a      *Arena
	shared bool // It is the arena behind a shared one.
	rules  *rules

	blocks []block  // All that has a copy.
	table  []found  // The memo: finds blocks. A power of 2 of them, at most half full.
	stack  []uint32 // Blocks that are not copied yet.
	maps   []mapCopy
	cuts   cuts

	types    map[unsafex.Ptr]*plan // Of values in interfaces, by the interface's first word.
	lastWord unsafex.Ptr           // What types was asked last.
	lastPlan *plan
	reaches  []*reach
	inner    bool // Pointers may lead into variables that are copied.

	current uint32 // The block that is copied now.
	depth   int
	err     error
}

// A block is the memory of n values of a type in a row.
type block struct {
	src, dst unsafex.Ptr
	plan     *plan
	n        uintptr
	at       uintptr // Where in the parent the pointer to it stands. Of the keys and values of a map: which map.
	parent   uint32
	kind     blockKind
}

type blockKind uint8

const (
	isRoot    blockKind = iota
	isPointer           // A variable that a pointer leads to.
	isSlice
	isText
	isBox // The value in an interface.
	isMap
	isKeys // Scratch memory with the keys of a map.
	isValues
)

// A found is one more than a block's number, and a part of its hash. 0 is none.
type found struct{ number, hash uint32 }

const (
	fewFound   = 64      // Places of the first table.
	mostKept   = 1 << 18 // Blocks that an idle walker has room for.
	mostBlocks = 1 << 31
	mostDepth  = 64 // Blocks that are copied in one another. It is faster than by the stack.
	longText   = 64 // Bytes. It costs more to find a shorter string than to copy it again.
)

// idle are walkers for reuse. The collector frees those that are not used.
var idle = sync.Pool{New: func() any {
	return &walker{table: make([]found, fewFound), types: make(map[unsafex.Ptr]*plan)}
}}

// clone copies the value at src, of p's type, to dst.
func clone(op string, a *Arena, shared bool, r *rules, p *plan, src, dst unsafex.Ptr) error {
	w := idle.Get().(*walker)
	w.op, w.a, w.shared, w.rules = op, a, shared, r
	w.join(p)
	w.push(block{src: src, dst: dst, plan: p, n: 1})
	w.walk()
	if w.err == nil && w.inner {
		w.checkInner()
	}
	for i := 0; w.err == nil && i < len(w.maps); i++ { // All that the keys lead to is complete.
		w.err = w.maps[i].fill(op)
	}
	err := w.err
	w.release()
	return err
}

// release leaves w without anything of the value, for another clone, if it is not too large.
func (w *walker) release() {
	if len(w.blocks) > mostKept {
		return
	}
	size := len(w.table)
	if 16*len(w.blocks) < size { // Clearing it would cost small clones too much.
		size = fewFound
	}
	clear(w.blocks)
	clear(w.table) // The rest of its memory is zero.
	clear(w.maps)
	clear(w.types)
	clear(w.reaches)
	*w = walker{blocks: w.blocks[:0], table: w.table[:size], stack: w.stack[:0], maps: w.maps[:0], cuts: cuts{spans: w.cuts.spans[:0]}, types: w.types, reaches: w.reaches[:0]}
	idle.Put(w)
}

// push puts a block that is not in the table on the list and on the stack.
func (w *walker) push(b block) {
	w.stack = append(w.stack, uint32(len(w.blocks)))
	w.blocks = append(w.blocks, b)
}

func (w *walker) walk() {
	for len(w.stack) > 0 && w.err == nil {
		i := w.stack[len(w.stack)-1]
		w.stack = w.stack[:len(w.stack)-1]
		w.copyBlock(i)
	}
}

// copyBlock copies the values of block i.
func (w *walker) copyBlock(i uint32) {
	w.current = i
	b := &w.blocks[i]
	p, src, dst, n := b.plan, b.src, b.dst, b.n
	w.copyUnit(p, src, dst)
	for k := uintptr(1); k < n && w.err == nil; k++ {
		w.copyUnit(p, unsafex.Add(src, k*p.size), unsafex.Add(dst, k*p.size))
	}
}

// copyUnit copies one value of p's type. It reads each header once, before it writes: the copy may lie
// where the original lies, if that belonged to an arena that was reset. It writes all words, because
// a stale value may have left others there.
func (w *walker) copyUnit(p *plan, src, dst unsafex.Ptr) {
	for i := range p.runs {
		copyRun(&p.runs[i], src, dst)
	}
	for i := range p.ops {
		o := &p.ops[i]
		from, to := unsafex.Add(src, o.off), unsafex.Add(dst, o.off)
		switch o.kind {
		case opPointer:
			q := load(from)
			if q != nil && o.to.size != 0 { // Without bytes there is nothing to copy.
				q = w.copyOf(o.to, q, 1, isPointer, from)
			}
			put(to, q)
		case opString:
			q, n := load(from), loadWord(from, 1)
			q = w.text(o.to, q, n, from)
			if w.err != nil {
				return
			}
			put(to, q)
			putWord(to, 1, n)
		case opSlice:
			q, n := load(from), loadWord(from, 1)
			switch {
			case q == nil:
			case n == 0 || o.to.size == 0:
				q = unsafex.PtrOf(&empty)
			default:
				q = w.copyOf(o.to, q, n, isSlice, from)
			}
			if w.err != nil {
				return
			}
			put(to, q)
			putWord(to, 1, n)
			putWord(to, 2, n)
		case opMap:
			q := load(from)
			if q != nil {
				q = w.mapOf(o.to, q, from)
			}
			put(to, q)
		case opInterface:
			w.copyInterface(o, from, to)
		case opArray:
			for k := uintptr(0); k < o.size; k += o.to.size {
				w.copyUnit(o.to, unsafex.Add(from, k), unsafex.Add(to, k))
			}
		case opShare:
			copyBits(o, from, to)
		case opOwn:
			w.copyOwn(o, from, to)
		case opRefuse:
			if !isZero(from, o.size) {
				w.refuse(o, from)
				return
			}
			copyBits(o, from, to)
		}
		if w.err != nil { // Of the first part that fails; the others would copy all that they lead to.
			return
		}
	}
}

// empty is where pointers to no bytes lead.
var empty struct{}

// copyRun copies a run, a few words without a call.
func copyRun(r *run, src, dst unsafex.Ptr) {
	from, to := unsafex.Add(src, r.off), unsafex.Add(dst, r.off)
	if (r.off|r.n)%wordSize != 0 || r.n > 4*wordSize {
		copyBytes(to, from, r.n)
		return
	}
	for i := range r.n / wordSize {
		putWord(to, i, loadWord(from, i))
	}
}

func copyBytes(dst, src unsafex.Ptr, n uintptr) {
	copy(unsafex.SliceOf[byte](dst, int(n), int(n)), unsafex.SliceOf[byte](src, int(n), int(n)))
}

// copyBits copies a part as an assignment does.
func copyBits(o *op, from, to unsafex.Ptr) {
	reflect.NewAt(o.typ, to).Elem().Set(reflect.NewAt(o.typ, from).Elem())
}

// isZero says whether the n bytes at p are zero.
func isZero(p unsafex.Ptr, n uintptr) bool {
	for _, x := range unsafex.SliceOf[byte](p, int(n), int(n)) {
		if x != 0 {
			return false
		}
	}
	return true
}

func (w *walker) copyInterface(o *op, from, to unsafex.Ptr) {
	word, data := load(from), load(unsafex.Add(from, wordSize))
	if word == nil {
		put(to, nil)
		put(unsafex.Add(to, wordSize), nil)
		return
	}
	p := w.dynamic(o, word, from)
	second := unsafex.Add(to, wordSize)
	switch {
	case p.direct:
		put(to, nil) // The type of one value must not stand beside another value.
		w.copyUnit(p, unsafex.Add(from, wordSize), second)
	case p.size == 0:
		put(to, nil)
		put(second, unsafex.PtrOf(&empty))
	default:
		data = w.copyOf(p, data, 1, isBox, from)
		put(to, nil)
		put(second, data)
	}
	if w.err == nil {
		put(to, word)
	}
}

// dynamic returns the plan for the value in the interface at from. The first word of an interface
// says of what type the value is, also to interfaces with methods, if in another way (GC-8).
func (w *walker) dynamic(o *op, word, from unsafex.Ptr) *plan {
	if word == w.lastWord {
		return w.lastPlan
	}
	p := w.types[word]
	if p == nil {
		t := reflect.NewAt(o.typ, from).Elem().Elem().Type()
		p = w.rules.plan(t)
		w.types[word] = p
		w.join(p)
	}
	w.lastWord, w.lastPlan = word, p
	return p
}

// join notes that a value of p's type is a part of the graph.
func (w *walker) join(p *plan) {
	r := p.reached()
	if len(r.targets)+len(r.held) == 0 || slices.Contains(w.reaches, r) {
		return
	}
	w.reaches = append(w.reaches, r)
	for _, s := range w.reaches {
		w.inner = w.inner || r.meets(s) || s.meets(r)
	}
}

// copyOf returns the copy of the n values at q, and makes it if there is none. The header that leads
// to them stands at from. After an error it returns nil.
func (w *walker) copyOf(p *plan, q unsafex.Ptr, n uintptr, kind blockKind, from unsafex.Ptr) unsafex.Ptr {
	h := hashOf(p, q, n)
	slot, b := w.find(h, p, q, n, kind)
	if b != nil {
		return b.dst
	}
	if !p.flat() && w.cuts.has(unsafex.PtrAddr(q)) {
		w.fail("leads to memory that this call has taken for the copy: it belongs to an arena that was reset or freed", from)
		return nil
	}
	dst := w.take(p.desc, n)
	if dst == nil {
		return nil
	}
	i := w.note(slot, h, p, q, dst, n, kind, from)
	switch {
	case p.flat():
		copyBytes(dst, q, n*p.size)
	case w.depth < mostDepth:
		parent := w.current
		w.depth++
		w.copyBlock(i)
		w.depth--
		w.current = parent
	default:
		w.stack = append(w.stack, i)
	}
	return dst
}

// offset is where in the current block the header at from stands.
func (w *walker) offset(from unsafex.Ptr) uintptr {
	return unsafex.PtrAddr(from) - unsafex.PtrAddr(w.blocks[w.current].src)
}

// text returns the copy of the n bytes of a string.
func (w *walker) text(p *plan, q unsafex.Ptr, n uintptr, from unsafex.Ptr) unsafex.Ptr {
	switch {
	case n == 0:
		return nil
	case n >= longText:
		return w.copyOf(p, q, n, isText, from)
	}
	dst := w.take(p.desc, n)
	if dst != nil {
		copyBytes(dst, q, n)
	}
	return dst
}

// hashOf mixes the key of the memo: address, type and length. Blocks that lie near each other have
// places near each other, so that the walk over a large graph stays in the cache.
func hashOf(p *plan, q unsafex.Ptr, n uintptr) uint32 {
	addr := unsafex.PtrAddr(q)
	h := uint32((uint64(addr>>9^p.desc.key) + uint64(n)<<40) * golden >> 32)
	return h&^31 | uint32(addr>>4&31)
}

// find returns the block with that key, or nil and its place in the table.
func (w *walker) find(h uint32, p *plan, q unsafex.Ptr, n uintptr, kind blockKind) (slot uint32, b *block) {
	mask := uint32(len(w.table) - 1)
	for slot = h & mask; w.table[slot].number != 0; slot = (slot + 1) & mask {
		if f := w.table[slot]; f.hash == h {
			if b := &w.blocks[f.number-1]; b.src == q && b.plan == p && b.n == n && b.kind == kind {
				return slot, b
			}
		}
	}
	return slot, nil
}

// note puts a block that find did not find on the list and into the table.
func (w *walker) note(slot, h uint32, p *plan, q, dst unsafex.Ptr, n uintptr, kind blockKind, from unsafex.Ptr) (number uint32) {
	number = uint32(len(w.blocks))
	if number == mostBlocks {
		w.err = outOfMemory("%s: more than %d variables", w.op, number)
	}
	if int(number) == cap(w.blocks) { // Twice as many; append would copy a large list four times as often.
		w.blocks = slices.Grow(w.blocks, max(16, len(w.blocks)))
	}
	w.blocks = w.blocks[:number+1]
	b := &w.blocks[number]
	b.src, b.dst, b.plan, b.n, b.at, b.parent, b.kind = q, dst, p, n, w.offset(from), w.current, kind
	w.table[slot] = found{number + 1, h}
	if int(number) >= len(w.table)/2 {
		w.grow()
	}
	return number
}

// grow makes the table four times as large.
func (w *walker) grow() {
	if n := 4 * len(w.table); n <= cap(w.table) {
		clear(w.table)
		w.table = w.table[:n]
	} else {
		w.table = make([]found, n)
	}
	mask := uint32(len(w.table) - 1)
	for i := range w.blocks {
		b := &w.blocks[i]
		if b.kind == isRoot || b.kind >= isKeys { // Those that push has added.
			continue
		}
		h := hashOf(b.plan, b.src, b.n)
		slot := h & mask
		for w.table[slot].number != 0 {
			slot = (slot + 1) & mask
		}
		w.table[slot] = found{uint32(i + 1), h}
	}
}

// take returns memory for n values, or nil after an error. If it comes from an arena, a copy must
// write all of it.
func (w *walker) take(d *typeDesc, n uintptr) unsafex.Ptr {
	if w.a == nil {
		return makeOnHeap(d, n)
	}
	q := w.a.probe(d.key).takeAligned(n*d.size, d.align)
	if q == nil {
		var err error
		if q, err = w.a.alloc(w.op, d, int(n), false); err != nil {
			w.err = err
			return nil
		}
		if q == nil {
			return makeOnHeap(d, n)
		}
	}
	w.cuts.add(unsafex.PtrAddr(q), n*d.size)
	return q
}

// makeOnHeap is memory for n values on the Go heap. Package unsafe lets memory be made as one type
// and used as another of equal layout, so that types with a common layout need no call of package
// reflect.
func makeOnHeap(d *typeDesc, n uintptr) unsafex.Ptr {
	if !d.scan {
		return unsafex.DataOf(make([]byte, n*d.size))
	}
	switch d.typ.Kind() {
	case reflect.Pointer, reflect.Map:
		return unsafex.DataOf(make([]unsafex.Ptr, n))
	case reflect.String:
		return unsafex.DataOf(make([]string, n))
	case reflect.Interface:
		return unsafex.DataOf(make([]any, n))
	}
	if n == 1 {
		return reflect.New(d.typ).UnsafePointer()
	}
	return reflect.MakeSlice(d.slice, int(n), int(n)).UnsafePointer()
}

// cuts is the memory of an arena that this call has taken. Pointers of a value of an arena that was
// reset may lead there. The walk would then copy its own copies, without end.
type cuts struct {
	spans []span // By address. They do not touch each other.
	last  int    // What add extended last.
	gap   span   // None of them is here.
}

// A span is a range of addresses.
type span struct{ from, end uintptr }

func (s span) has(p uintptr) bool { return p >= s.from && p < s.end }

// after is the index of the first span that ends behind addr.
func (c *cuts) after(addr uintptr) int {
	return sort.Search(len(c.spans), func(i int) bool { return c.spans[i].end > addr })
}

func (c *cuts) add(addr, n uintptr) {
	if addr < c.gap.end && addr+n > c.gap.from {
		c.gap = span{}
	}
	if c.last < len(c.spans) && c.spans[c.last].end == addr {
		c.spans[c.last].end += n
		return
	}
	i := c.after(addr)
	if c.last = i - 1; i > 0 && c.spans[i-1].end == addr {
		c.spans[i-1].end += n
		return
	}
	c.last = i
	c.spans = slices.Insert(c.spans, i, span{addr, addr + n})
}

// has says whether the memory at addr was cut.
func (c *cuts) has(addr uintptr) bool {
	if c.gap.has(addr) {
		return false
	}
	i := c.after(addr)
	if i < len(c.spans) && c.spans[i].has(addr) {
		return true
	}
	c.gap = span{0, ^uintptr(0)}
	if i > 0 {
		c.gap.from = c.spans[i-1].end
	}
	if i < len(c.spans) {
		c.gap.end = c.spans[i].from
	}
	return false
}

// checkInner refuses a pointer into a variable that was copied as a whole: its copy leads to a copy
// of its own. Slices have copies of their own wherever they lead.
func (w *walker) checkInner() {
	var order []uint32
	for i := range w.blocks {
		if k := w.blocks[i].kind; k == isPointer || k == isSlice {
			order = append(order, uint32(i))
		}
	}
	start := func(i uint32) uintptr { return unsafex.PtrAddr(w.blocks[i].src) }
	size := func(i uint32) uintptr { return w.blocks[i].n * w.blocks[i].plan.size }
	may := make(map[*plan]bool)
	mayLead := func(p *plan) bool {
		is, ok := may[p]
		if !ok {
			is = slices.ContainsFunc(w.reaches, func(r *reach) bool { return r.held[p.typ] })
			may[p] = is
		}
		return is
	}
	slices.SortFunc(order, func(i, k uint32) int {
		switch {
		case start(i) != start(k):
			return cmp.Compare(start(i), start(k))
		case size(i) != size(k):
			return cmp.Compare(size(k), size(i))
		}
		if b, c := &w.blocks[i], &w.blocks[k]; b.kind != c.kind {
			return int(c.kind) - int(b.kind) // A slice of one element before a pointer to it.
		} else if inner := mayLead(b.plan); inner != mayLead(c.plan) {
			if inner { // A struct or an array before a pointer to its only part.
				return 1
			}
			return -1
		}
		return cmp.Compare(i, k)
	})
	end := uintptr(0) // Of what begins before.
	for _, i := range order {
		b := &w.blocks[i]
		if b.kind == isPointer && start(i)+size(i) <= end && mayLead(b.plan) {
			w.current = b.parent
			w.fail("leads into a variable that is copied as a whole", unsafex.Add(w.blocks[b.parent].src, b.at))
			return
		}
		end = max(end, start(i)+size(i))
	}
}

// refuse ends the walk because of the part at from, which o is for.
func (w *walker) refuse(o *op, from unsafex.Ptr) {
	path := w.path(w.current, w.offset(from), o.typ)
	w.err = fmt.Errorf("arena: %s of %s: %s: %s %s: %w; %s", w.op, w.blocks[0].plan.typ, path, o.typ, o.why, ErrUncloneable, o.remedy)
}

// fail ends the walk because of the pointer, slice or interface at from.
func (w *walker) fail(why string, from unsafex.Ptr) {
	w.err = w.located(fmt.Errorf("%s: %w", why, ErrUncloneable), from)
}

// located says where in the value err happened.
func (w *walker) located(err error, from unsafex.Ptr) error {
	return fmt.Errorf("arena: %s of %s: %s: %w", w.op, w.blocks[0].plan.typ, w.path(w.current, w.offset(from), nil), err)
}

// mostSteps bounds a path: a list may have millions of nodes.
const mostSteps = 16

// path names the place at an offset in block i as Go code would: "order.items[3].mu". Of the values
// that begin there, stop is the type that is meant; nil is the innermost.
func (w *walker) path(i uint32, offset uintptr, stop reflect.Type) string {
	var steps []string // From the place to the root.
	for {
		b := &w.blocks[i]
		if len(steps) < mostSteps || i == 0 {
			steps = append(steps, w.step(b, offset, stop))
		} else if len(steps) == mostSteps {
			steps = append(steps, "…")
		}
		if i == 0 {
			break
		}
		if offset, stop = b.at, nil; b.kind == isKeys || b.kind == isValues {
			offset = 0
		}
		i = b.parent
	}
	slices.Reverse(steps)
	return strings.Join(steps, "")
}

// step is what block b and the place at an offset in it add to a path.
func (w *walker) step(b *block, offset uintptr, stop reflect.Type) string {
	if b.kind == isMap {
		return ""
	}
	index := offset / b.plan.size
	inner, _ := fieldPath(b.plan.typ, offset%b.plan.size, stop)
	switch b.kind {
	case isRoot:
		return rootName(b.plan.typ) + inner
	case isKeys:
		return " key " + keyName(w.maps[b.at].keys.Index(int(index))) + inner
	case isValues:
		return "[" + keyName(w.maps[b.at].keys.Index(int(index))) + "]" + inner
	case isSlice:
		inner = "[" + strconv.Itoa(int(index)) + "]" + inner
	}
	parent := &w.blocks[b.parent]
	if parent.kind == isMap || parent.plan.size == 0 {
		return inner
	}
	_, t := fieldPath(parent.plan.typ, b.at%parent.plan.size, nil)
	switch {
	case t.Kind() != reflect.Interface:
	case b.kind == isBox:
		inner = ".(" + b.plan.typ.String() + ")" + inner
	case b.kind == isPointer:
		inner = ".(*" + b.plan.typ.String() + ")" + inner
	}
	return inner
}

// fieldPath names the place at an offset in a t, and says which type stands there: stop, or the
// innermost.
func fieldPath(t reflect.Type, offset uintptr, stop reflect.Type) (path string, at reflect.Type) {
	for t != stop || offset != 0 {
		switch {
		case t.Kind() == reflect.Array && t.Len() > 0 && t.Elem().Size() > 0:
			path += fmt.Sprintf("[%d]", offset/t.Elem().Size())
			t, offset = t.Elem(), offset%t.Elem().Size()
		case t.Kind() == reflect.Struct:
			i := 0
			for i < t.NumField() && offset-t.Field(i).Offset >= t.Field(i).Type.Size() {
				i++
			}
			if i == t.NumField() {
				return path, t
			}
			path += "." + t.Field(i).Name
			t, offset = t.Field(i).Type, offset-t.Field(i).Offset
		default:
			return path, t
		}
	}
	return path, t
}

// keyName calls no method of the key: a String method may use or free the arena meanwhile.
func keyName(k reflect.Value) string {
	switch {
	case k.Kind() == reflect.String:
		return strconv.Quote(k.String())
	case k.CanInt():
		return strconv.FormatInt(k.Int(), 10)
	case k.CanUint():
		return strconv.FormatUint(k.Uint(), 10)
	}
	return "of type " + k.Type().String()
}

// rootName is what a path begins with.
func rootName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Name() == "" {
		return "v"
	}
	return t.Name()
}

// Maps, and values that copy themselves. The walk copies the keys and the values of a map as two
// slices. At the end, when all that the keys lead to is complete, it fills the new map.

// A mapCopy is a map with its contents on the way.
type mapCopy struct {
	plan             *plan
	keys, values     reflect.Value // Slices.
	keysTo, valuesTo reflect.Value
	to               reflect.Value // A Go map,
	own              ownMap        // or a *Map.
}

// copyOwn copies a *Map, or a value with a Copier.
func (w *walker) copyOwn(o *op, from, to unsafex.Ptr) {
	if o.typ.Kind() == reflect.Pointer {
		q := load(from)
		if q != nil {
			q = w.mapOf(o.to, q, from)
		}
		put(to, q)
		return
	}
	err := graph.CopierOf(o.typ)(func(t reflect.Type, n int) (unsafex.Ptr, error) {
		p := w.take(describeType(t), uintptr(n))
		return p, w.err
	}, from, to)
	if err != nil && w.err == nil {
		w.err = w.located(err, from)
	}
}

// mapOf returns the copy of the map at q, of which the pointer stands at from.
func (w *walker) mapOf(p *plan, q, from unsafex.Ptr) unsafex.Ptr {
	h := hashOf(p, q, 1)
	slot, b := w.find(h, p, q, 1, isMap)
	if b != nil {
		return b.dst
	}
	x := mapCopy{plan: p}
	var dst unsafex.Ptr
	if m := reflect.NewAt(p.typ, from).Elem(); p.typ.Kind() == reflect.Map {
		n := m.Len()
		x.to = reflect.MakeMapWithSize(p.typ, n)
		dst = x.to.UnsafePointer()
		x.keys, x.values = reflect.MakeSlice(p.key.desc.slice, n, n), reflect.MakeSlice(p.elem.desc.slice, n, n)
		it := m.MapRange()
		for k := 0; k < n && it.Next(); k++ {
			x.keys.Index(k).SetIterKey(it)
			x.values.Index(k).SetIterValue(it)
		}
	} else {
		if w.shared {
			w.fail("a Map cannot be copied to an arena made by NewShared; make a new Map there", from)
			return nil
		}
		if x.own, dst, x.keys, x.values, w.err = m.Interface().(ownMap).cloneStart(w.op, w.a); w.err != nil {
			return nil
		}
	}
	i := w.note(slot, h, p, q, dst, 1, isMap, from)
	x.keysTo, x.valuesTo = w.scratch(i, p.key, x.keys, isKeys), w.scratch(i, p.elem, x.values, isValues)
	w.maps = append(w.maps, x)
	return dst
}

// scratch returns where the copies of the keys or values s of the map in block i go. A Map copies
// strings of keys itself.
func (w *walker) scratch(i uint32, p *plan, s reflect.Value, kind blockKind) reflect.Value {
	if n := s.Len(); n != 0 && !p.flat() && !(kind == isKeys && p.texts && w.blocks[i].plan.typ.Kind() != reflect.Map) {
		to := reflect.MakeSlice(s.Type(), n, n)
		w.push(block{s.UnsafePointer(), to.UnsafePointer(), p, uintptr(n), uintptr(len(w.maps)), i, kind})
		return to
	}
	return s
}

// fill puts the copied entries into the map.
func (x *mapCopy) fill(op string) error {
	if x.own != nil {
		return x.own.cloneFill(op, x.keysTo, x.valuesTo)
	}
	for k := range x.keysTo.Len() {
		x.to.SetMapIndex(x.keysTo.Index(k), x.valuesTo.Index(k))
	}
	return nil
}

func (*Map[K, V]) cloneTypes() (key, value reflect.Type) {
	return reflect.TypeFor[K](), reflect.TypeFor[V]()
}

func (m *Map[K, V]) cloneStart(op string, a *Arena) (to ownMap, at unsafex.Ptr, keys, values reflect.Value, err error) {
	m.check(op)
	out := new(Map[K, V])
	out.self = out
	k, v := make([]K, 0, m.Len()), make([]V, 0, m.Len())
	for key, value := range m.All() {
		k, v = append(k, key), append(v, value)
	}
	return out, unsafex.PtrOf(out), reflect.ValueOf(k), reflect.ValueOf(v), out.start(op, a, m.Len())
}

func (m *Map[K, V]) cloneFill(op string, keys, values reflect.Value) error {
	k, v := keys.Interface().([]K), values.Interface().([]V)
	for i := range k {
		if err := m.set(op, k[i], v[i]); err != nil {
			return err
		}
	}
	return nil
}
