// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"reflect"

	"github.com/freehold-go/freehold/internal/graph"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// The copy in one pass serves most values: those in which no two variables overlap, so that each is
// copied as the object that it was found as. The pass reads each variable once. For a pointer in it
// the pass looks the address up in the ledger. If the address has no twin yet, the pass allocates
// the copy, makes a twin, copies the variable, and then writes the pointer to the copy. It goes 64
// variables deep in this way; deeper variables become tasks for later.
//
// The pass gives up when it finds an interior pointer, two slices of one array, a part that is
// refused, a variable in memory that is for the copies, or no memory. The caller then undoes it and
// takes the long way, which copes with the first two and has good messages for the others.
//
// The pass never follows what it wrote, although values of an arena that was reset may lie where the
// copies go: before it cuts the first copy from a chunk, the ledger claims the rest of the chunk,
// with all variables and values in interfaces that were found there before. So a variable does not
// change while it is copied, no copy is seen half done, and the pass ends, because it copies each
// address once. Plain values in interfaces are not claimed: they are copied at once, and lead
// nowhere.
//
// Each header in the copy has the memory that it says: the pass reads a header once, allocates what
// the header says, and writes the new header when it is complete.

// A task is a row of units that must be copied yet. The memory of the copy is zero.
type task struct {
	plan     *plan
	src, dst unsafex.Ptr
	n        uintptr
}

// claims are the chunks whose rest the ledger has claimed.
type claims []*cursor

// tryOnePass copies the value at src to dst in one pass, and says whether that worked. If not,
// everything is as it was before.
func (c *cloner) tryOnePass(p *plan, src, dst unsafex.Ptr) (done bool) {
	if !c.suitsOnePass(p, src) {
		return false
	}
	undo := c.a.attempt(c.op)
	defer func() {
		undo(done)
		c.endOnePass()
	}()
	c.ledger.open()
	if c.onePass(p, src, dst) {
		return true
	}
	p.tangled.Store(tangledFor)
	reflect.NewAt(p.whole, dst).Elem().SetZero()
	return false
}

// endOnePass forgets the value.
func (c *cloner) endOnePass() {
	c.ledger.close()
	const mostTasks = 1 << 14
	if cap(c.tasks) > mostTasks {
		c.tasks = nil
	} else {
		clear(c.tasks[:max(c.mostTasks, len(c.tasks))])
	}
	clear(c.maps)
	clear(c.sources)
	for _, cut := range c.claimed {
		cut.claimed = false
	}
	clear(c.claimed)
	c.tasks, c.maps, c.sources, c.claimed, c.failed, c.mostTasks = c.tasks[:0], c.maps[:0], c.sources[:0], c.claimed[:0], false, 0
}

// tangledFor is how many clones of a type take the long way at once after one had to.
const tangledFor = 15

// suitsOnePass says whether a copy in one pass is worth trying.
func (c *cloner) suitsOnePass(p *plan, src unsafex.Ptr) bool {
	if c.a != nil && (!c.a.from.onGo() || c.a.debug != nil) {
		return false
	}
	if p.tangled.Load() > 0 && p.tangled.Add(-1) >= 0 {
		return false
	}
	// The variable that the root points to is copied wherever it lies, and its parts with it: the
	// long way does that.
	return p.whole.Kind() != reflect.Pointer || load(src) == nil || c.grounds.Of(load(src)) == graph.OnHeap
}

func (c *cloner) onePass(p *plan, src, dst unsafex.Ptr) bool {
	c.tasks = append(c.tasks, task{p, src, dst, p.units})
	for len(c.tasks) > 0 && !c.failed {
		c.mostTasks = max(c.mostTasks, len(c.tasks))
		t := c.tasks[len(c.tasks)-1]
		c.tasks = c.tasks[:len(c.tasks)-1]
		c.depth = 0
		c.copyRow(t.plan, t.src, t.dst, t.n)
	}
	if c.failed {
		return false
	}
	c.fillMaps()
	return true
}

// copyOnce copies one unit and makes tasks for what it leads to.
func (c *cloner) copyOnce(p *plan, src, dst unsafex.Ptr) {
	for i := range p.runs {
		r := &p.runs[i]
		copyRun(r, src, dst)
	}
	for i := range p.ops {
		o := &p.ops[i]
		from, to := unsafex.Add(src, o.off), unsafex.Add(dst, o.off)
		switch o.kind {
		case opPointer:
			if q := load(from); q != nil {
				put(to, c.pointerOnce(o.to, q))
			}
		case opString:
			if q, n := load(from), loadWord(from, 1); n != 0 {
				if row := c.rowOnce(o.to, q, isMemory, n, n); row != nil {
					put(to, row)
					putWord(to, 1, n)
				}
			}
		case opSlice:
			c.sliceOnce(o, from, to)
		case opMap:
			if q := load(from); q != nil {
				put(to, c.mapOnce(o.to, q))
			}
		case opInterface:
			c.interfaceOnce(o, from, to)
		case opRepeat:
			for n := range o.n {
				c.copyOnce(o.to, unsafex.Add(from, n*o.to.size), unsafex.Add(to, n*o.to.size))
			}
		case opKeep:
			copyKept(o, from, to)
		case opHold:
			if !c.holdsAsIs(o, from) {
				c.failed = true
				return
			}
			copyKept(o, from, to)
		case opRefuse, opOwn:
			if !isZero(from, o.n) {
				c.failed = true
			}
		case opSelf, opOther:
			copySelf(o, from, to)
		}
	}
}

// pointerOnce is the copy of the variable at q.
func (c *cloner) pointerOnce(p *plan, q unsafex.Ptr) unsafex.Ptr {
	addr := unsafex.PtrAddr(q)
	if p.size == 0 {
		if c.isOurs(addr) {
			return unsafex.PtrOf(&empty)
		}
		return q
	}
	first := c.ledger.first(addr)
	if *first != 0 {
		t, dst := c.ledger.find(first, addr, p.desc, isMemory)
		switch {
		case t == nil || p.units > uintptr(t.live):
		case p.size > 1 || t.kind == isShared || !c.isSharedOnce(q): // Else it is the twin of a string.
			return dst
		}
	}
	if c.isSharedOnce(q) {
		c.ledger.add(first, addr, p.desc, isShared, mostUnits, mostUnits, q)
		return q
	}
	return c.newCopy(p, q, first, isMemory, p.units, p.units)
}

// isSharedOnce is isShared. It asks once for the variables of a region on the heap.
func (c *cloner) isSharedOnce(q unsafex.Ptr) bool {
	region := unsafex.PtrAddr(q) >> graph.RegionBits
	if region == c.ledger.region {
		return false
	}
	if c.grounds.Of(q) == graph.OnHeap {
		c.ledger.region = region
		return false
	}
	return c.isShared(q)
}

func (c *cloner) sliceOnce(o *op, from, to unsafex.Ptr) {
	q, n, room := load(from), loadWord(from, 1), loadWord(from, 2)
	if q == nil {
		return
	}
	kind := isMemory
	if c.isSharedOnce(q) {
		kind = isArray
	}
	if row := c.rowOnce(o.to, q, kind, n, room); row != nil {
		put(to, row)
		putWord(to, 2, room)
		putWord(to, 1, n)
	}
}

// rowOnce is the copy of n elements in a row, with room for more.
func (c *cloner) rowOnce(p *plan, q unsafex.Ptr, kind blockKind, n, room uintptr) unsafex.Ptr {
	if room == 0 || p.size == 0 {
		return unsafex.PtrOf(&empty)
	}
	n, room = n*p.units, room*p.units
	addr := unsafex.PtrAddr(q)
	first := c.ledger.first(addr)
	t, dst := c.ledger.find(first, addr, p.desc, kind)
	if t == nil {
		return c.newCopy(p, q, first, kind, n, room)
	}
	if room > uintptr(t.room) || t.kind != kind {
		return c.giveUp()
	}
	if live := uintptr(t.live); n > live {
		t.live = uint32(n)
		c.copyRow(p, unsafex.Add(q, live*p.size), unsafex.Add(dst, live*p.size), n-live)
	}
	return dst
}

// newCopy allocates and fills the copy of n units at q, with room for more. The twin goes on the
// list at first.
func (c *cloner) newCopy(p *plan, q unsafex.Ptr, first *uint32, kind blockKind, n, room uintptr) unsafex.Ptr {
	addr := unsafex.PtrAddr(q)
	if c.failed || room > mostUnits || !c.claim(p, addr, kind, room) {
		return c.giveUp()
	}
	dst := c.take(p.desc, room)
	if dst == nil {
		return c.giveUp()
	}
	c.ledger.add(first, addr, p.desc, kind, uint32(room), uint32(n), dst)
	if n != 0 {
		c.copyRow(p, q, dst, n)
	}
	return dst
}

// claim notes that n units at addr are one variable, and says whether none of its memory is another's or
// for copies. Plain values in interfaces need no claim.
func (c *cloner) claim(p *plan, addr uintptr, kind blockKind, n uintptr) bool {
	switch {
	case kind != isBox:
		return c.ledger.claim(addr, n*p.size)
	case p.flat():
		return true
	}
	return c.ledger.claimBox(addr, n*p.size)
}

// giveUp ends the pass after this unit, in which the pointer is nil.
func (c *cloner) giveUp() unsafex.Ptr {
	c.failed = true
	return nil
}

// mostDepth is how many variables deep the pass recurses. Deeper variables wait as tasks.
const mostDepth = 64

// copyRow copies n units, or makes a task for them.
func (c *cloner) copyRow(p *plan, src, dst unsafex.Ptr, n uintptr) {
	switch {
	case p.flat():
		copyBytes(dst, src, n*p.size)
	case c.depth == mostDepth:
		c.tasks = append(c.tasks, task{p, src, dst, n})
	default:
		c.depth++
		c.copyOnce(p, src, dst)
		for i := uintptr(1); i < n && !c.failed; i++ {
			c.copyOnce(p, unsafex.Add(src, i*p.size), unsafex.Add(dst, i*p.size))
		}
		c.depth--
	}
}

// take is memory for n values, or nil if there is none.
func (c *cloner) take(d *typeDesc, n uintptr) unsafex.Ptr {
	if c.a == nil {
		return makeOnHeap(d, n)
	}
	if size := d.size * n; d.size%8 == 0 && n <= d.most && size-1 < smallSlice {
		if cut := c.a.cursorOf(d.key); cut.claimed {
			if p := cut.take(size); p != nil {
				return p
			}
		}
	}
	p, err := c.a.alloc(c.op, d, int(n), true)
	if err != nil || !c.claimRest(d, p) {
		return nil
	}
	return p
}

// claimRest claims the rest of the chunk that p was cut from, of which p is the first part, unless the pass
// has cut from the chunk before.
func (c *cloner) claimRest(d *typeDesc, p unsafex.Ptr) bool {
	b := c.a.bumpFor(d)
	from := b.chunk
	if b.large != nil && b.large.base == p {
		from = b.large
	}
	if from.claimed {
		return true
	}
	from.claimed = true
	c.claimed = append(c.claimed, &from.cursor)
	return c.ledger.claimRest(unsafex.PtrAddr(p), from.size-(unsafex.PtrAddr(p)-unsafex.PtrAddr(from.base)))
}

func (c *cloner) interfaceOnce(o *op, from, to unsafex.Ptr) {
	word, data := load(from), unsafex.Add(from, wordSize)
	p := c.dynamicPlan(o, from)
	switch {
	case p == nil:
		return
	case p.direct:
		clearInterface(to)
		c.copyOnce(p, data, unsafex.Add(to, wordSize))
	case p.size == 0:
		put(unsafex.Add(to, wordSize), unsafex.PtrOf(&empty))
	default:
		put(unsafex.Add(to, wordSize), c.boxOnce(p, load(data)))
		if c.failed {
			return
		}
	}
	put(to, word)
}

// boxOnce is the copy of the value in an interface.
func (c *cloner) boxOnce(p *plan, q unsafex.Ptr) unsafex.Ptr {
	addr := unsafex.PtrAddr(q)
	first := c.ledger.first(addr)
	if t, dst := c.ledger.find(first, addr, p.desc, isBox); t != nil && p.units <= uintptr(t.live) {
		return dst
	}
	return c.newCopy(p, q, first, isBox, p.units, p.units)
}

// mapOnce is the copy of the map q, which is filled at the end.
func (c *cloner) mapOnce(p *plan, q unsafex.Ptr) unsafex.Ptr {
	if c.failed {
		return nil
	}
	addr := unsafex.PtrAddr(q)
	first := c.ledger.first(addr)
	if t, dst := c.ledger.find(first, addr, p.desc, isMap); t != nil {
		return dst
	}
	to := reflect.MakeMapWithSize(p.whole, 0)
	c.ledger.add(first, addr, p.desc, isMap, 1, 1, to.UnsafePointer())
	c.sources = append(c.sources, q)
	m := reflect.NewAt(p.whole, unsafex.PtrOf(&c.sources[len(c.sources)-1])).Elem()
	if m.Len() == 0 {
		return to.UnsafePointer()
	}
	x := entriesOf(p, m)
	x.to = to
	x.keysTo, x.elemsTo = c.scratchOnce(p.key, x.keys), c.scratchOnce(p.elem, x.elems)
	c.maps = append(c.maps, x)
	return to.UnsafePointer()
}

// scratchOnce is where the copies of the keys or the elements of a map go.
func (c *cloner) scratchOnce(p *plan, s reflect.Value) reflect.Value {
	if p.flat() || s.Len() == 0 {
		return s
	}
	to := reflect.MakeSlice(s.Type(), s.Len(), s.Len())
	c.tasks = append(c.tasks, task{p, s.UnsafePointer(), to.UnsafePointer(), uintptr(s.Len()) * p.units})
	return to
}
