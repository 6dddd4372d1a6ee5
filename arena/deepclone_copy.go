// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A lot is memory for several blocks of one type, so that the arena is not asked for each.
type lot struct {
	desc  *typeDesc
	total uintptr // Units that are needed yet.
	at    unsafex.Ptr
	left  uintptr // Units from at on.
}

// lotBytes is the size of a lot. A larger one would get a chunk of its own, which other arenas can
// use less often.
const lotBytes = 16 << 10

// allocate gives every block its memory.
func (c *cloner) allocate() error {
	heap := c.a == nil || c.a.from.single
	if !heap {
		c.addUp()
	}
	for i := range c.count {
		b := c.at(i)
		if b.in != i || b.kind == isScratch || b.kind == isShared {
			continue
		}
		if b.kind == isMap {
			b.dst = reflect.MakeMapWithSize(b.plan.whole, 0).UnsafePointer()
			continue
		}
		d, n := b.memory()
		if heap {
			if _, err := c.a.alloc(c.op, d, int(n), true); err != nil { // The limits and the kill switch count.
				return err
			}
			b.dst = makeOnHeap(d, n)
		} else {
			var err error
			if b.dst, err = c.fromLot(d, n); err != nil {
				return err
			}
		}
		b.dst = unsafex.Add(b.dst, b.skew())
	}
	for i := range c.count {
		if b := c.at(i); b.in != i {
			w := c.at(b.in)
			for w.in != b.in {
				b.in = w.in
				w = c.at(b.in)
			}
			b.dst = unsafex.Add(w.dst, unsafex.PtrAddr(b.src)-unsafex.PtrAddr(w.src))
		}
	}
	return nil
}

// memory says as what and how often the memory of a block is allocated.
func (b *block) memory() (*typeDesc, uintptr) {
	if b.wide {
		return describe[uint64](), (b.skew() + b.room*b.plan.size + 7) / 8
	}
	return b.plan.desc, b.room
}

// skew is how far behind its memory's beginning a wide block begins: so far as the original lies behind a
// multiple of 8. So each number in the copy is aligned if it is in the original.
func (b *block) skew() uintptr {
	if b.wide {
		return unsafex.PtrAddr(b.src) % 8
	}
	return 0
}

// addUp finds how much of each type is needed.
func (c *cloner) addUp() {
	if c.lots == nil {
		c.lots = make(map[*typeDesc]*lot)
	}
	for i := range c.count {
		b := c.at(i)
		if b.in == i && (b.kind == isMemory || b.kind == isBox || b.kind == isArray) {
			d, n := b.memory()
			c.lot(d).total += n
		}
	}
}

func (c *cloner) lot(d *typeDesc) *lot {
	near := &c.lotsOf[typeinfo.Hash(d.key)%uintptr(len(c.lotsOf))]
	if *near != nil && (*near).desc == d {
		return *near
	}
	l := c.lots[d]
	if l == nil {
		l = &lot{desc: d}
		c.lots[d] = l
	}
	*near = l
	return l
}

// fromLot is memory for n values in the arena.
func (c *cloner) fromLot(d *typeDesc, n uintptr) (unsafex.Ptr, error) {
	l := c.lot(d)
	if n > l.left {
		want := n
		if !c.a.debug.apart() {
			want = max(n, min(l.total, lotBytes/d.size))
		}
		p, err := c.a.alloc(c.op, d, int(want), true)
		if err != nil {
			return nil, err
		}
		l.at, l.left = p, want
	}
	p := l.at
	l.total -= n
	if l.left -= n; l.left > 0 {
		l.at = unsafex.Add(p, n*d.size)
	}
	return p, nil
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

// copyAll fills the memory of all blocks, except maps.
func (c *cloner) copyAll() {
	for i := range c.count {
		if b := c.at(i); b.plan.flat() && b.dst != nil && b.kind != isShared && b.kind != isMap && !c.covered(b, 0, b.live) {
			copyBytes(b.dst, b.src, b.live*b.plan.size)
		}
	}
	for i := range c.todo {
		s := &c.todo[i]
		b := c.at(s.block)
		if c.coveredStretch(b, s) {
			continue
		}
		c.refsLeft = c.refs[s.refs:s.refsEnd]
		p := b.plan
		for n := s.from; n < s.to; n++ {
			c.copyUnit(p, unsafex.Add(b.src, n*p.size), unsafex.Add(b.dst, n*p.size))
		}
		if len(c.refsLeft) > 0 {
			panic(c.changed())
		}
	}
	for i := range c.maps {
		c.maps[i].to = reflect.NewAt(c.at(c.maps[i].block).plan.whole, unsafex.PtrOf(&c.at(c.maps[i].block).dst)).Elem()
	}
}

// covered says whether the block that b is a part of copies units [from, to) of b.
func (c *cloner) covered(b *block, from, to uintptr) bool {
	w := c.at(b.in)
	if w == b || b.kind == isScratch {
		return false
	}
	return unsafex.PtrAddr(b.src)+to*b.plan.size <= unsafex.PtrAddr(w.src)+w.live*w.plan.size
}

// coveredStretch says whether the block that b is a part of copies s, a stretch of b. Of the units of its own type a block copies
// only those that no other block has on the list.
func (c *cloner) coveredStretch(b *block, s *stretch) bool {
	return c.covered(b, s.from, s.to) && !(s.once && c.at(b.in).plan.typ == b.plan.typ)
}

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

// copyUnit copies one unit, with its pointers led to the copies. dst is zero.
//
// The unit may have changed since the walk: a value of an arena that was reset or freed lies in
// memory that the clone itself may have been given. So a header is read once and compared with what
// the walk found, and it is written when it is complete, the pointer first.
func (c *cloner) copyUnit(p *plan, src, dst unsafex.Ptr) {
	for i := range p.runs {
		copyRun(&p.runs[i], src, dst)
	}
	for i := range p.ops {
		o := &p.ops[i]
		from, to := unsafex.Add(src, o.off), unsafex.Add(dst, o.off)
		switch o.kind {
		case opPointer:
			if q := load(from); q != nil {
				put(to, c.follow(q, o.to, isMemory, 1))
			}
		case opMap:
			if q := load(from); q != nil {
				put(to, c.follow(q, o.to, isMap, 1))
			}
		case opString:
			q, n := load(from), loadWord(from, 1)
			if n != 0 {
				put(to, c.follow(q, o.to, isArray, n))
				putWord(to, 1, n)
			}
		case opSlice:
			c.copySlice(o, from, to)
		case opInterface:
			c.copyInterface(from, to)
		case opRepeat:
			for n := range o.n {
				c.copyUnit(o.to, unsafex.Add(from, n*o.to.size), unsafex.Add(to, n*o.to.size))
			}
		case opHold:
			if !c.holdsAsIs(o, from) {
				panic(c.changed())
			}
			copyKept(o, from, to)
		case opKeep:
			copyKept(o, from, to)
		case opSelf, opOther:
			copySelf(o, from, to)
		case opOwn:
			c.copyOwn(o, from, to)
		}
	}
}

// copySelf copies the address in a strings.Builder. It is the Builder's own, unless the Builder is a
// copy, whose writes panic then. That of a copy may lead to a stack, because package strings hides it from
// escape analysis, and so it is neither followed nor copied.
func copySelf(o *op, from, to unsafex.Ptr) {
	switch q := load(from); {
	case q == nil:
		put(to, nil)
	case o.kind == opSelf && unsafex.PtrAddr(q) == unsafex.PtrAddr(from):
		put(to, to)
	default:
		put(to, unsafex.PtrOf(&otherBuilder))
	}
}

// detach replaces the addresses that the Builders among n units in a row note of themselves by that of otherBuilder. The units are
// a copy on the stack of a value that may lie on that stack, too. On the heap the address of a stack ends the process: the
// collector finds it when the stack has moved.
func (p *plan) detach(at unsafex.Ptr, n uintptr) {
	for i := range n {
		for k := range p.ops {
			o := &p.ops[k]
			switch w := unsafex.Add(at, i*p.size+o.off); {
			case (o.kind == opSelf || o.kind == opOther) && load(w) != nil:
				put(w, unsafex.PtrOf(&otherBuilder))
			case o.kind == opRepeat && o.to.selves:
				o.to.detach(w, o.n)
			}
		}
	}
}

// otherBuilder is the Builder that copies of Builders are copies of.
var otherBuilder strings.Builder

// copyKept copies the bits of a part that is shared.
func copyKept(o *op, from, to unsafex.Ptr) {
	if o.n == wordSize {
		put(to, load(from))
		return
	}
	reflect.NewAt(o.typ, to).Elem().Set(reflect.NewAt(o.typ, from).Elem())
}

func (c *cloner) copySlice(o *op, from, to unsafex.Ptr) {
	q, n, room := load(from), loadWord(from, 1), loadWord(from, 2)
	if q == nil {
		return
	}
	if n > room {
		panic(c.changed())
	}
	put(to, c.follow(q, o.to, isArray, room))
	putWord(to, 2, room)
	putWord(to, 1, n)
}

// copyInterface writes the second word before the first: it is nil to all until then. It reads both before, because
// the copy may lie where the original lies, in part or as a whole.
func (c *cloner) copyInterface(from, to unsafex.Ptr) {
	word, data := load(from), load(unsafex.Add(from, wordSize))
	if word == nil {
		return
	}
	p := c.dynamic[word]
	switch {
	case p == nil:
		panic(c.changed())
	case p.direct:
		clearInterface(to)
		c.direct = data // A value of one pointer has no interface, which would need this word, too.
		c.copyUnit(p, unsafex.PtrOf(&c.direct), unsafex.Add(to, wordSize))
		c.direct = nil
	default:
		put(unsafex.Add(to, wordSize), c.follow(data, p, isBox, 1))
	}
	put(to, word)
}

// clearInterface makes the interface at to nil before a value is copied into it. New memory of a type
// with pointers is zero unless a stale pointer wrote to it. A copy writes no pointer that is nil, and
// the second word of the interface that was written leads to a value of another type.
func clearInterface(to unsafex.Ptr) {
	put(to, nil)
	put(unsafex.Add(to, wordSize), nil)
}

// empty is where pointers to no bytes lead.
var empty struct{}

// follow is the copy of what q, the next pointer of the walk, leads to: n values of p's type. Of kind it is isMemory for a
// pointer, isArray for a slice or a string, isBox for an interface, and isMap.
//
// The walk decided what is copied and what is shared. If q is not the pointer that the walk found, the value has changed.
func (c *cloner) follow(q unsafex.Ptr, p *plan, kind blockKind, n uintptr) unsafex.Ptr {
	if len(c.refsLeft) == 0 {
		panic(c.changed())
	}
	r := c.refsLeft[0]
	c.refsLeft = c.refsLeft[1:]
	switch r {
	case refSame:
		if kind == isMemory && p.size == 0 && !c.isOurs(unsafex.PtrAddr(q)) {
			return q
		}
	case refEmpty:
		if n == 0 || p.size == 0 {
			return unsafex.PtrOf(&empty)
		}
	default:
		b := c.at(r)
		if b.src == q && b.serves(kind) && (b.plan.typ == p.typ || kind == isMap) && n <= b.room/p.units {
			return b.dst
		}
	}
	panic(c.changed())
}

// serves says whether the walk gives the block to headers of that kind; see follow.
func (b *block) serves(kind blockKind) bool {
	switch b.kind {
	case isMemory:
		return kind == isMemory || kind == isArray
	case isShared:
		return kind == isMemory
	}
	return b.kind == kind
}

func (c *cloner) changed() error {
	return fmt.Errorf("arena: %s of %s: the value changed while it was copied: another goroutine writes to it, or a part of it belongs to an arena that was reset or freed before",
		c.op, c.at(0).plan.whole)
}

// fillMaps puts the copied entries into the maps. All that they lead to is complete, so that keys hash as
// they will.
func (c *cloner) fillMaps() {
	for i := range c.maps {
		m := &c.maps[i]
		for k := range m.keysTo.Len() {
			m.to.SetMapIndex(m.keysTo.Index(k), m.elemsTo.Index(k))
		}
	}
}
