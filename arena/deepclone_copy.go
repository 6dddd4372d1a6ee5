package arena

import (
	"fmt"
	"reflect"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// A lot is memory for several blocks of one type, so that the arena is not asked for each.
type lot struct {
	desc  *typeDesc
	total uintptr // Units that are needed yet.
	at    unsafex.Ptr
	left  uintptr // Units from at on.
}

// lotBytes is how much of it is asked for at once. What is larger gets a chunk of its own, which others
// have less use for.
const lotBytes = 16 << 10

// allocate gives every block its memory.
func (c *cloner) allocate() error {
	heap := c.a == nil || c.a.rec.kind == kindHeap
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
		var err error
		if heap {
			b.dst, err = c.onHeap(d, n)
		} else {
			b.dst, err = c.fromLot(d, n)
		}
		if err != nil {
			return err
		}
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
		return describe[uint64](), (b.room*b.plan.size + 7) / 8
	}
	return b.plan.desc, b.room
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
	near := &c.lotsOf[hashKey(d.key)%uintptr(len(c.lotsOf))]
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
		if c.a.kind == kindOffHeap && d.flow == typedFlow && d.path == "" && d.offMem.Load() == nil {
			// Only generic code makes such memory.
			panic(fmt.Errorf("arena: %s of %s to an off-heap arena: the type %s holds a bool or is self-contained, and its memory must stay its own: call Of for it and the arena once before", c.op, c.at(0).plan.whole, d.typ))
		}
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

// onHeap is memory for n values on the Go heap.
func (c *cloner) onHeap(d *typeDesc, n uintptr) (unsafex.Ptr, error) {
	if _, err := c.a.alloc(c.op, d, int(n), true); err != nil { // The kill switch counts.
		return nil, err
	}
	switch {
	case d.typ.Kind() == reflect.Uint8:
		return unsafex.DataOf(make([]byte, n)), nil
	case n == 1:
		return reflect.New(d.typ).UnsafePointer(), nil
	}
	return reflect.MakeSlice(d.slice, int(n), int(n)).UnsafePointer(), nil
}

// copyAll fills the memory of all blocks.
func (c *cloner) copyAll() {
	for i := range c.count {
		if b := c.at(i); b.plan.flat() && b.dst != nil && b.kind != isShared && b.kind != isMap && !c.covered(b, 0, b.live) {
			copyBytes(b.dst, b.src, b.live*b.plan.size)
		}
	}
	for _, s := range c.todo {
		b := c.at(s.block)
		if c.covered(b, s.from, s.to) {
			continue
		}
		c.nextRef = s.refs
		p := b.plan
		for n := s.from; n < s.to; n++ {
			c.copyUnit(p, unsafex.Add(b.src, n*p.size), unsafex.Add(b.dst, n*p.size))
		}
	}
	for _, m := range c.maps {
		c.fill(m)
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

func copyBytes(dst, src unsafex.Ptr, n uintptr) {
	copy(unsafex.SliceOf[byte](dst, int(n), int(n)), unsafex.SliceOf[byte](src, int(n), int(n)))
}

// copyUnit copies one unit, with its pointers led to the copies. dst is zero.
func (c *cloner) copyUnit(p *plan, src, dst unsafex.Ptr) {
	for _, r := range p.runs {
		copyBytes(unsafex.Add(dst, r.off), unsafex.Add(src, r.off), r.n)
	}
	for i := range p.ops {
		o := &p.ops[i]
		from, to := unsafex.Add(src, o.off), unsafex.Add(dst, o.off)
		switch o.kind {
		case opPointer, opSlice, opMap:
			if q := load(from); q != nil {
				put(to, c.follow(q))
			}
		case opString:
			if *unsafex.As[uintptr](unsafex.Add(from, wordSize)) != 0 {
				put(to, c.follow(load(from)))
			}
		case opInterface:
			c.copyInterface(o, from, to)
		case opRepeat:
			for n := range o.n {
				c.copyUnit(o.to, unsafex.Add(from, n*o.to.size), unsafex.Add(to, n*o.to.size))
			}
		case opKeep:
			if o.n == wordSize {
				put(to, load(from))
			} else {
				reflect.NewAt(o.typ, to).Elem().Set(reflect.NewAt(o.typ, from).Elem())
			}
		}
	}
}

func (c *cloner) copyInterface(o *op, from, to unsafex.Ptr) {
	p := c.dynamicPlan(o, from)
	if p == nil {
		return
	}
	put(to, load(from))
	from, to = unsafex.Add(from, wordSize), unsafex.Add(to, wordSize)
	if p.direct {
		c.copyUnit(p, from, to)
		return
	}
	put(to, c.follow(load(from)))
}

// empty is where pointers to no bytes lead.
var empty struct{}

// follow is the copy of what q, the next pointer of the walk, leads to.
func (c *cloner) follow(q unsafex.Ptr) unsafex.Ptr {
	if c.nextRef < len(c.refs) {
		r := c.refs[c.nextRef]
		c.nextRef++
		switch {
		case r == refSame:
			return q
		case r == refEmpty:
			return unsafex.PtrOf(&empty)
		case c.at(r).src == q:
			return c.at(r).dst
		}
	}
	panic(fmt.Errorf("arena: %s of %s: the value was changed while it was copied", c.op, c.at(0).plan.whole))
}

// fill puts the copied entries into a map. All that they lead to is complete, so that keys hash as they will.
func (c *cloner) fill(m mapCopy) {
	b := c.at(m.block)
	to := reflect.NewAt(b.plan.whole, unsafex.PtrOf(&b.dst)).Elem()
	for i := range m.keysTo.Len() {
		to.SetMapIndex(m.keysTo.Index(i), m.elemsTo.Index(i))
	}
}
