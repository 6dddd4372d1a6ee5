// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"reflect"
	"sync"

	"github.com/freehold-go/freehold/internal/graph"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A cloner copies one value. It tries to do so in one pass (deepclone_onepass.go). If variables
// overlap, it takes the long way, which has four steps:
//
//  1. The walk notes every block of memory that the original leads to, and for each pointer the
//     block. The list of blocks keeps the memory alive.
//  2. The layout finds the blocks that are parts of others (deepclone_layout.go).
//  3. All blocks are allocated (deepclone_copy.go).
//  4. The copy goes through the original in the order of the walk, so that a pointer's block is the
//     next one on the list. It compares each header with what the walk found.
type cloner struct {
	op string
	a  *Arena
	*plans

	shared  bool    // a is a part of an arena made by NewShared.
	ownMaps ownMaps // The copies of Maps so far.
	nested  int     // How many Maps the value lies in.

	blocks [][]block // In pieces, which stay where they are; see at.
	count  uint32
	table  []found   // Finds blocks by address.
	empty  []found   // All zero.
	todo   []stretch // What has been or must be walked, in this order.
	walked walkedUnits
	refs   []uint32 // The blocks of the pointers in it, in this order.
	maps   []mapCopy

	ledger    ledger
	tasks     []task
	mostTasks int
	depth     int
	sources   []unsafex.Ptr // The maps that were found: the ledger knows them by address, whatever their type, so they must stay alive.
	claimed   claims
	failed    bool // The copy in one pass.

	current  uint32 // The block that is walked.
	lastType unsafex.Ptr
	lastPlan *plan
	dynamic  map[unsafex.Ptr]*plan // By the first word of an interface.
	lots     map[*typeDesc]*lot
	lotsOf   [32]*lot   // Of lots, by key.
	recent   [128]found // Blocks of plain data.
	places   []place
	spare    []place
	grounds  graph.Grounds
	regions  []span      // Of package offheap; nil if not asked yet.
	refsLeft []uint32    // Of the stretch that is copied.
	direct   unsafex.Ptr // The value in the interface that is copied, if it is one pointer.
	lead     span        // The variable that the root points to.
}

// A found is one more than a block's number, and bits of its address's hash; 0 is none.
type found struct{ number, hash uint32 }

// A span is a range of addresses.
type span struct{ from, end uintptr }

func (s span) has(p uintptr) bool { return p >= s.from && p < s.end }

// A block is memory of one or more values of a type in a row.
type block struct {
	src, dst unsafex.Ptr
	plan     *plan
	room     uintptr // Units that there is memory for.
	live     uintptr // Units that are copied.
	parent   uint32  // The block that leads to it, for paths.
	in       uint32  // The block that it is a part of; its own number if of none.
	at       uintptr // Where in the parent.
	kind     blockKind
	wide     bool // Plain memory in which any number is aligned as in the original.
}

type blockKind uint8

const (
	isMemory  blockKind = iota // Variables, which may be parts of others.
	isBox                      // The value in an interface. No pointer leads to it.
	isScratch                  // Memory of the clone itself: the root, keys and elements of maps.
	isMap
	isArray  // As isMemory, but slices lead to it, and pointers to it are shared: see isShared.
	isShared // Not copied: dst is src.
)

// What refs has for pointers without a block.
const (
	refSame  uint32 = 1<<32 - 1 - iota // Shared, because the target has no size.
	refEmpty                           // To no bytes.
	refLimit
)

// A stretch is a part of a block.
type stretch struct {
	block    uint32
	once     bool    // Its units are in no other such stretch of units of the type.
	from, to uintptr // Units.
	refs     int     // How many refs there were before,
	refsEnd  int     // and how many after it.
}

// A mapCopy is a map with its contents on the way.
type mapCopy struct {
	plan            *plan
	block           uint32        // In the long way.
	to              reflect.Value // The copy.
	keys, elems     reflect.Value // Slices.
	keysTo, elemsTo reflect.Value
}

// pieceBits: a piece of the list of blocks has a power of 2 of them.
const (
	pieceBits = 8
	piece     = 1 << pieceBits
)

// at is block i.
func (c *cloner) at(i uint32) *block { return &c.blocks[i>>pieceBits][i%piece] }

// idle are cloners for reuse. The collector frees those that are not used.
var idle = sync.Pool{New: func() any { return &cloner{table: make([]found, 64)} }}

// release leaves c, without anything of the value it copied, for another clone, if it is not too
// large.
func (c *cloner) release() {
	const most = 1 << 19
	if c.count > most {
		return
	}
	for i, n := 0, int(c.count); n > 0; i, n = i+1, n-piece {
		clear(c.blocks[i][:min(n, piece)])
	}
	if c.count > 1 {
		clear(c.table)
	}
	clear(c.maps)
	clear(c.lots)
	c.walked.close()
	*c = cloner{walked: c.walked, blocks: c.blocks, table: c.table[:64], empty: c.empty, todo: c.todo[:0], refs: c.refs[:0], maps: c.maps[:0], lots: c.lots, places: c.places, spare: c.spare, ledger: c.ledger, tasks: c.tasks, sources: c.sources, claimed: c.claimed}
	idle.Put(c)
}

// discover walks all that the value at src, of p's type, leads to.
func (c *cloner) discover(p *plan, src, dst unsafex.Ptr) {
	c.add(block{src: src, dst: dst, plan: p, room: p.units, live: p.units, kind: isScratch})
	c.todo = append(c.todo, stretch{to: p.units})
	for i := 0; i < len(c.todo); i++ {
		c.todo[i].refs = len(c.refs)
		s := c.todo[i]
		c.current = s.block
		b := c.at(s.block)
		p, at := b.plan, unsafex.Add(b.src, s.from*b.plan.size)
		for n := s.from; n < s.to; n++ {
			c.walk(p, at)
			if n+1 < s.to {
				at = unsafex.Add(at, p.size)
			}
		}
		c.todo[i].refsEnd = len(c.refs)
	}
}

// walk notes what the unit at at leads to.
func (c *cloner) walk(p *plan, at unsafex.Ptr) {
	for i := range p.ops {
		o := &p.ops[i]
		w := unsafex.Add(at, o.off)
		switch o.kind {
		case opPointer:
			if q := load(w); q != nil {
				c.refs = append(c.refs, c.pointer(o, q, w))
			}
		case opString:
			if n := loadWord(w, 1); n != 0 {
				c.refs = append(c.refs, c.memory(o, load(w), n, n, w))
			}
		case opSlice:
			if q := load(w); q != nil {
				c.refs = append(c.refs, c.memory(o, q, loadWord(w, 1), loadWord(w, 2), w))
			}
		case opMap:
			if q := load(w); q != nil {
				c.refs = append(c.refs, c.mapAt(o.to, q, w))
			}
		case opInterface:
			c.walkInterface(o, w)
		case opRepeat:
			for n := range o.n {
				c.walk(o.to, unsafex.Add(w, n*o.to.size))
			}
		case opRefuse:
			if !isZero(w, o.n) {
				c.refuse(o, w)
			}
		case opHold:
			if !c.holdsAsIs(o, w) {
				c.refuse(o, w)
			}
		}
	}
}

// pointer is the block of a pointer.
func (c *cloner) pointer(o *op, q, w unsafex.Ptr) uint32 {
	to := o.to
	if to.size == 0 {
		if c.isOurs(unsafex.PtrAddr(q)) {
			return refEmpty
		}
		return refSame
	}
	i, old := c.block(q, to, isMemory, w)
	b := c.at(i)
	if root := c.current == 0 && c.at(0).plan.whole.Kind() == reflect.Pointer; root {
		c.lead = span{unsafex.PtrAddr(q), unsafex.PtrAddr(q) + to.units*to.size}
	} else if !old && c.isShared(q) {
		b.kind, b.dst = isShared, q
	}
	if b.kind == isShared {
		b.room = max(b.room, to.units)
		return i
	}
	c.cover(i, to.units, to.units)
	return i
}

// isShared says whether pointers to q are shared: it leads to a package-level variable or to memory
// of others, and not into the variable that the root points to. The answer does not depend on what
// the walk found before, so that the parts of one variable are treated alike.
func (c *cloner) isShared(q unsafex.Ptr) bool {
	if c.lead.has(unsafex.PtrAddr(q)) {
		return false
	}
	return c.grounds.Of(q) == graph.InGlobals || c.isOutside(q)
}

// memory is the block of n elements in a row, with room for more.
func (c *cloner) memory(o *op, q unsafex.Ptr, n, room uintptr, w unsafex.Ptr) uint32 {
	to := o.to
	if room == 0 || to.size == 0 {
		return refEmpty
	}
	kind := isMemory
	if o.kind == opSlice && c.isShared(q) {
		kind = isArray
	}
	var i uint32
	if to.flat() && kind == isMemory {
		i = c.plain(q, to, w)
	} else {
		i, _ = c.block(q, to, kind, w)
	}
	if c.at(i).kind == isShared { // It was memory of others when a pointer to it was found.
		panic(c.changed())
	}
	c.cover(i, n*to.units, room*to.units)
	return i
}

// plain is block for plain data in slices and strings. It asks no table, which would be half of the
// time for strings, but may make a second block for the same memory: the layout makes one a part of
// the other.
func (c *cloner) plain(q unsafex.Ptr, p *plan, w unsafex.Ptr) uint32 {
	h := hashOf(q)
	near := &c.recent[h%uint32(len(c.recent))]
	if near.number != 0 && near.hash == h {
		if b := c.at(near.number - 1); b.src == q && b.same(p, isMemory) {
			return near.number - 1
		}
	}
	i := c.add(block{src: q, plan: p, kind: isMemory, parent: c.current, at: unsafex.PtrAddr(w) - unsafex.PtrAddr(c.at(c.current).src)})
	*near = found{i + 1, h}
	return i
}

// cover makes block i at least so large, and puts its new part on the list of what must be walked, except for units that
// are on it as units of another block. One unit alone may be on it twice: as a pointer's target, and as an element. So may
// units that need not begin at a word: those without pointers, of a type with a sync.Mutex.
func (c *cloner) cover(i uint32, live, room uintptr) {
	b := c.at(i)
	b.room = max(b.room, room)
	if live <= b.live {
		return
	}
	from := b.live
	b.live = live
	switch {
	case b.plan.flat():
	case live-from == 1 || b.kind != isMemory && b.kind != isArray || b.desc().align < wordSize:
		c.todo = append(c.todo, stretch{block: i, from: from, to: live})
	default:
		for lo, hi := range c.walked.fresh(b.plan.desc.key, unsafex.PtrAddr(b.src), b.plan.size, from, live) {
			c.todo = append(c.todo, stretch{block: i, from: lo, to: hi, once: true})
		}
	}
}

// walkInterface notes what the interface at w leads to.
func (c *cloner) walkInterface(o *op, w unsafex.Ptr) {
	p := c.dynamicPlan(o, w)
	if p == nil {
		return
	}
	data := unsafex.Add(w, wordSize)
	if p.direct {
		c.walk(p, data)
		return
	}
	if p.size == 0 {
		c.refs = append(c.refs, refEmpty)
		return
	}
	i, _ := c.block(load(data), p, isBox, w)
	c.cover(i, p.units, p.units)
	c.refs = append(c.refs, i)
}

// dynamicPlan is the plan for the value in the interface at w, nil if there is none. An interface
// is two words: the first says of what type the value in it is, also to interfaces with methods, if
// in another way (GC-8).
func (c *cloner) dynamicPlan(o *op, w unsafex.Ptr) *plan {
	word := load(w)
	if word == nil {
		return nil
	}
	if word == c.lastType {
		return c.lastPlan
	}
	p := c.dynamic[word]
	if p == nil {
		var t reflect.Type
		if o.typ.NumMethod() == 0 {
			t = reflect.TypeOf(*unsafex.As[any](w))
		} else {
			t = reflect.NewAt(o.typ, w).Elem().Elem().Type()
		}
		p = c.plan(t)
		if c.dynamic == nil {
			c.dynamic = make(map[unsafex.Ptr]*plan)
		}
		c.dynamic[word] = p
	}
	c.lastType, c.lastPlan = word, p
	return p
}

// mapAt is the block of the map q, whose pointer stands at w.
func (c *cloner) mapAt(p *plan, q, w unsafex.Ptr) uint32 {
	i, old := c.block(q, p, isMap, w)
	if old {
		return i
	}
	c.at(i).room = 1
	m := reflect.NewAt(p.whole, w).Elem()
	x := entriesOf(p, m)
	x.block = i
	x.keysTo = c.scratch(i, p.key, x.keys)
	x.elemsTo = c.scratch(i, p.elem, x.elems)
	c.maps = append(c.maps, x)
	return i
}

// entriesOf copies the keys and the elements of m.
func entriesOf(p *plan, m reflect.Value) mapCopy {
	n := m.Len()
	keys, elems := reflect.MakeSlice(reflect.SliceOf(p.key.whole), n, n), reflect.MakeSlice(reflect.SliceOf(p.elem.whole), n, n)
	k := 0
	for it := m.MapRange(); it.Next() && k < n; k++ {
		keys.Index(k).SetIterKey(it)
		elems.Index(k).SetIterValue(it)
	}
	return mapCopy{plan: p, keys: keys, elems: elems}
}

// scratch notes the keys or the elements of the map with number i, and returns where their copies
// go.
func (c *cloner) scratch(i uint32, p *plan, s reflect.Value) reflect.Value {
	if p.flat() || s.Len() == 0 {
		return s
	}
	to := reflect.MakeSlice(s.Type(), s.Len(), s.Len())
	n := uintptr(s.Len()) * p.units
	x := c.add(block{src: s.UnsafePointer(), dst: to.UnsafePointer(), plan: p, kind: isScratch, parent: i})
	c.cover(x, n, n)
	return to
}

// block is the number of the block at q, and whether it was known before. w is where the pointer
// stands.
func (c *cloner) block(q unsafex.Ptr, p *plan, kind blockKind, w unsafex.Ptr) (i uint32, old bool) {
	if int(c.count) >= len(c.table)/2 {
		c.grow(4 * len(c.table))
	}
	mask, h := uint32(len(c.table)-1), hashOf(q)
	slot := h & mask
	for ; c.table[slot].number != 0; slot = (slot + 1) & mask {
		if f := c.table[slot]; f.hash == h {
			if b := c.at(f.number - 1); b.src == q && b.same(p, kind) {
				return f.number - 1, true
			}
		}
	}
	i = c.add(block{src: q, plan: p, kind: kind, parent: c.current, at: unsafex.PtrAddr(w) - unsafex.PtrAddr(c.at(c.current).src)})
	c.table[slot] = found{i + 1, h}
	return i, false
}

// same says whether what a pointer to a p leads to, found at the block's address, is the block. One
// map may be found by several types, which Go converts to each other.
func (b *block) same(p *plan, kind blockKind) bool {
	if b.plan.typ != p.typ && kind != isMap {
		return false
	}
	return b.kind == kind || kind == isMemory && b.kind == isShared
}

func (c *cloner) add(b block) uint32 {
	i := c.count
	if i >= refLimit {
		panic(refusal{outOfMemory("%s: more than %d variables", c.op, i)})
	}
	if int(i>>pieceBits) == len(c.blocks) {
		c.blocks = append(c.blocks, make([]block, piece))
	}
	b.in = i
	*c.at(i) = b
	c.count++
	return i
}

// hashOf is where the search for an address begins.
func hashOf(q unsafex.Ptr) uint32 {
	return uint32(uint64(unsafex.PtrAddr(q)) * golden >> 32)
}

// grow makes the table one of n slots, a power of 2.
func (c *cloner) grow(n int) {
	old := c.table
	if n <= cap(c.empty) {
		c.table = c.empty[:n]
	} else {
		c.table = make([]found, n)
	}
	for _, f := range old {
		if f.number != 0 {
			slot := f.hash & uint32(n-1)
			for c.table[slot].number != 0 {
				slot = (slot + 1) & uint32(n-1)
			}
			c.table[slot] = f
		}
	}
	clear(old)
	c.empty = old
}
