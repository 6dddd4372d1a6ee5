// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"math/bits"
	"reflect"
	"runtime"

	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// UnsafeSelfContained is a marker: a struct type with a field of this type promises that its
// pointers, strings, slices and so on only ever point to memory outside the Go heap. The collector
// does not see them, and the program must free the memory that they point to. Memory of such a type
// is zeroed when it is allocated and wiped when it is freed, and never serves another type.
//
//	type node struct {
//		_     offheap.UnsafeSelfContained
//		next  *node // Allocated by offheap, too.
//	}
//
// A Go pointer stored in such a value does not keep its target alive: the collector frees the
// target.
type UnsafeSelfContained struct{}

// types has the descriptions of all types.
var types typeinfo.Table[typeDesc]

func init() { types.Init((*typeDesc).fill) }

// known is the description of T if it is the newest of its hash; otherwise ok is false.
func known[T any]() (d *typeDesc, ok bool) { return types.Recent(typeinfo.Key[T]()) }

// describe is the description of T.
func describe[T any]() *typeDesc {
	if d, ok := known[T](); ok {
		return d
	}
	return types.Find(typeinfo.Key[T](), reflect.TypeFor[T]())
}

// fill makes d the description of t.
func (d *typeDesc) fill(key uintptr, t reflect.Type) {
	std.start()
	info := describeType(t)
	d.key, d.typ, d.bin, d.path = key, t, nullBin, info.PointerPath
	d.size, d.align = t.Size(), uintptr(t.Align())
	d.typed = info.Bools || info.SelfContained || info.PointerPath != ""
	d.pointers, d.kind = info.SelfContained, std.plain
	name := t.String()
	if t == reflect.TypeFor[byte]() {
		name = "byte" // As it is called where bytes are allocated.
	}
	d.names.one, d.names.slice = name, "[]"+name
	if d.path != "" {
		d.remedy = remedyFor(info.PointerType)
	}
	if d.typed && d.path == "" {
		d.kind = std.newKind(nil, d)
	}
	if d.path == "" && d.size > 0 && d.size <= sizeclass.Max && std.serving() == nil {
		if b := std.bin(d.kind, sizeclass.Of(d.size)); b.id < nullBin {
			d.bin = b.id
		}
	}
}

// check panics if values of the type must not live off the heap.
func (d *typeDesc) check(op string) {
	if d.path != "" {
		panic(fmt.Errorf("offheap: %s of %s: the type holds a Go pointer, which the collector would not see: %s; %s", op, d.typ, d.path, d.remedy))
	}
}

func describeType(t reflect.Type) typeinfo.Info {
	return typeinfo.Describe(t, reflect.TypeFor[UnsafeSelfContained]())
}

// remedyFor is the advice for a type that is refused because of a field of type t.
func remedyFor(t reflect.Type) string {
	if t.Kind() == reflect.Pointer && describeType(t.Elem()).SelfContained {
		return fmt.Sprintf("a %s may lead off the heap only from a struct that promises it: put the pointer into one, struct { _ offheap.UnsafeSelfContained; P %s }, or replace it by offheap.Ref[%s]", t, t, t.Elem())
	}
	return "use arena for it, replace pointers by offheap.Ref, slices by SliceRef and strings by SliceRef[byte], or see UnsafeSelfContained"
}

// New returns a zero T outside the Go heap; it belongs to the caller until [Delete]. T must not
// hold Go pointers: New panics with the path of the field if it does, unless T is
// [UnsafeSelfContained]. If there is no memory, it panics as [Alloc] does. Pointers to values of
// size zero need no Delete.
func New[T any]() *T {
	pin := percpu.Acquire()
	c := std.pcache(pin.ID())
	if _, ok := c.newest.typ.(*T); ok {
		s := unsafex.At[slot](c.newest.slot)
		if v := s.state; hasBlock(v) {
			p := unsafex.At[T](s.take(v))
			pin.Release()
			if unsafex.Size[T]() <= sizeclass.Max { // A large zero would be made on the Go heap.
				var zero T
				*p = zero
			}
			return p
		}
	}
	var addr uintptr
	if d, ok := known[T](); ok {
		addr = c.bins[d.bin&(fastBins-1)].pop()
	}
	pin.Release()
	if addr == 0 {
		addr = newFrom(describe[T](), nil, nil, 0)
	}
	p := unsafex.At[T](addr)
	if unsafex.Size[T]() <= sizeclass.Max { // A large zero would be made on the Go heap.
		var zero T
		*p = zero
	}
	return p
}

// newFrom allocates for New, also of a Typed, which zeroes small values.
//
//go:noinline
func newFrom(d *typeDesc, l *Local, p *purposeState, shift uint8) uintptr {
	if l != nil {
		l = l.own("New")
	}
	if p == nil && d.bin != nullBin && shift == 0 {
		if l == nil {
			if addr := alloc(d.bin); addr != 0 {
				return addr
			}
		}
		addr, err := std.allocSlow(std.binByID(d.bin), request{kind: d.kind, desc: d, n: d.size, align: d.align, zero: true, local: l}, d.key)
		must(err)
		return addr
	}
	addr, err := d.alloc("New", l, p, d.size > sizeclass.Max, shift)
	must(err)
	return addr
}

// TryNew is New with an error for what the world may refuse.
func TryNew[T any]() (*T, error) { return tryNewFrom[T](source{}) }

func tryNewFrom[T any](o source) (*T, error) {
	addr, err := describe[T]().alloc("New", o.own("New"), o.purpose, true, o.shift())
	if err != nil {
		return nil, err
	}
	return unsafex.At[T](addr), nil
}

// Delete frees the memory of *p, which [New], [TryNew] or a [Typed] returned. It may be
// called from any goroutine. Delete(nil) does nothing. A pointer that [Free] would refuse panics
// likewise. For a pointer to the first element of a slice, call FreeSlice(unsafe.Slice(p, 1)); see
// [Free].
func Delete[T any](p *T) {
	if p == nil {
		return
	}
	addr := unsafex.Addr(p)
	pin := percpu.Acquire()
	c := std.pcache(pin.ID())
	s := c.hottest()
	// A pointer to a field of size zero may have a block's address, and yet must not free it.
	if unsafex.Size[T]() != 0 && s.push(addr) {
		if s.wipe {
			s.clear(addr)
		}
		pin.Release()
		return
	}
	// The class is a guess, right for plain types; nothing is done if it is wrong.
	done := unsafex.Size[T]()-1 < sizeclass.Max && c.push(sizeclass.Of(unsafex.Size[T]()), addr)
	pin.Release()
	if !done {
		deleteSlow(describe[T](), addr)
	}
}

//go:noinline
func deleteSlow(d *typeDesc, addr uintptr) {
	if d.size == 0 || d.typed && freeColder(d.bin, addr) {
		return
	}
	std.freeAs(addr, nil, "Delete", d, true)
}

// MakeSlice returns a slice of zero values of T outside the Go heap, as make([]T, length,
// capacity) does on it. It panics as [New] does, and as make does if length or capacity are
// negative or length exceeds capacity. A slice of no bytes needs no FreeSlice.
func MakeSlice[T any](length, capacity int) []T {
	s, err := TryMakeSlice[T](length, capacity)
	must(err)
	return s
}

// TryMakeSlice is MakeSlice with an error if memory is refused. A capacity whose bytes exceed the
// address space is such a refusal, too.
func TryMakeSlice[T any](length, capacity int) ([]T, error) {
	return makeSliceFrom[T](source{}, length, capacity)
}

func makeSliceFrom[T any](o source, length, capacity int) ([]T, error) {
	addr, err := describe[T]().makeSlice(o, length, capacity)
	if err != nil {
		return nil, err
	}
	return unsafex.Slice[T](addr, length, capacity), nil
}

func (d *typeDesc) makeSlice(o source, length, capacity int) (uintptr, error) {
	l := o.own("MakeSlice")
	d.check("MakeSlice")
	if length < 0 || length > capacity {
		panic(fmt.Errorf("offheap: MakeSlice of %s: length %d out of range [0, capacity %d]", d.typ, length, capacity))
	}
	if d.size == 0 || capacity == 0 {
		return zeroSizeAddr(), nil
	}
	if uintptr(capacity) > largestAlloc/d.size {
		return 0, tooMany(uintptr(capacity), d)
	}
	return std.allocate(o.request(d, uintptr(capacity), l, true))
}

// FreeSlice is [Free] for a slice of T that MakeSlice, Append, Grow or Realloc returned, or a
// prefix of it.
func FreeSlice[T any](s []T) {
	d := describe[T]()
	n := uintptr(cap(s)) * d.size
	addr := unsafex.SliceAddr(s)
	if n == 0 {
		if d.size != 0 {
			std.checkConsumed("FreeSlice", addr)
		}
		return
	}
	if !d.typed && n <= sizeclass.Max && free(sizeclass.Of(n), addr) {
		return
	}
	std.freeAs(addr, nil, "FreeSlice", d, false)
}

// alloc makes room for one value, zero if asked for, at a multiple of 1<<shift. A caller that does
// not ask writes a zero value if the type needs it.
func (d *typeDesc) alloc(op string, l *Local, p *purposeState, zero bool, shift uint8) (uintptr, error) {
	d.check(op)
	if d.size == 0 {
		return zeroSizeAddr(), nil
	}
	if l == nil && shift == 0 && d.size <= sizeclass.Max {
		if addr := std.pop(d.kindOf(p), sizeclass.Of(d.size)); addr != 0 {
			if zero {
				unsafex.Clear(addr, d.size)
			}
			return addr, nil
		}
	}
	q := d.request(p, 1, l, zero)
	q.align = max(q.align, uintptr(1)<<shift)
	return std.allocate(q)
}

// kindOf is the kind of values under a purpose or, with nil, under none.
func (d *typeDesc) kindOf(p *purposeState) *kind {
	if p == nil {
		return d.kind
	}
	return p.kindFor(d)
}

// request is one for n values.
func (d *typeDesc) request(p *purposeState, n uintptr, l *Local, zero bool) request {
	return request{kind: d.kindOf(p), desc: d, n: n * d.size, align: d.align, zero: zero || d.typed, local: l}
}

// A Typed allocates values and slices of T. It says from where and in which way:
//
//	offheap.For[T](p)            // In the account of a Purpose.
//	offheap.In[T](l)             // From a Local.
//	offheap.Typed[T]{}           // Without an account, as New and MakeSlice do.
//	offheap.In[T](l).Aligned(64) // At multiples of 64.
//
// Bytes are a Typed[byte]. Its values and slices are ordinary blocks: [Delete] and [FreeSlice] free
// them, and any Typed may. A Typed takes no memory off the heap and may be copied. A Typed from a
// Local is for one goroutine at a time, as the Local is, and panics with a [*MisuseError] after the
// Local's Close; it keeps a Local reachable that the program drops. Any other Typed is safe for
// concurrent use.
type Typed[T any] struct {
	_ [0]*T // A Typed of another type does not convert to this one, with its bin.
	source
}

// A source is where memory comes from. The functions that are not methods of Typed take one: a type
// with methods is compiled with all of them, for each T of a program that only calls MakeSlice. It
// has at most four fields, which the compiler keeps in registers; one of five lies on the stack,
// where New would write and read it each time.
type source struct {
	local   *Local
	purpose *purposeState
	bin     uint32 // Of the type; used with a Local and a Purpose. See shift.
}

// shift is the log2 of what Aligned asks for, 0 for the type's own alignment. It stands in the
// upper half of bin, and nullBin in the lower.
func (o source) shift() uint8 { return uint8(o.bin >> 16) }

// For is the Typed that allocates in the account of p. Make it once, outside of a loop: For looks
// up T, and New need not.
func For[T any](p *Purpose) Typed[T] {
	if p == nil {
		return Typed[T]{}
	}
	s := p.state("For")
	return Typed[T]{source: source{purpose: s, bin: s.binOf(describe[T]())}}
}

// In is the Typed that allocates from l. Make it once, outside of a loop: In looks up T, and the
// functions of the Typed need not.
func In[T any](l *Local) Typed[T] {
	return Typed[T]{source: source{local: l, bin: describe[T]().bin}}
}

// Aligned is t whose blocks begin at a multiple of align bytes, a power of two up to 2 MiB. It
// panics if align is any other number, and if T holds a bool or is self-contained: such values keep
// the alignment of their type. [Typed.Append], [Typed.Grow] and [Typed.Realloc] move a block of
// another alignment when they make room. A Realloc to fewer elements moves it, too, unless there is
// no memory: then the elements stay where they are.
func (t Typed[T]) Aligned(align int) Typed[T] {
	checkAlign("Aligned", align)
	d := describe[T]()
	d.check("Aligned")
	if d.typed {
		panic(fmt.Errorf("offheap: Aligned of %s: the type holds a bool or is self-contained, and keeps its own alignment, %d: use a uint8 for the bool", d.typ, d.align))
	}
	if uintptr(align) > d.align {
		t.bin = nullBin | uint32(bits.TrailingZeros(uint(align)))<<16
	}
	return t
}

// own is the Local for the allocator's inner functions; nil means the shared way. It panics if the
// Local must not be used.
func (o source) own(op string) *Local {
	if o.local == nil {
		return nil
	}
	return o.local.own(op)
}

// New is [New].
func (t Typed[T]) New() *T {
	if l := t.local; l != nil && l.live() {
		s := &l.cache.bins[t.bin&(fastBins-1)]
		if v := s.state; hasBlock(v) {
			p := unsafex.At[T](s.take(v))
			runtime.KeepAlive(l) // Until here: the cache of a Local that is garbage is emptied.
			if unsafex.Size[T]() <= sizeclass.Max {
				var zero T
				*p = zero
			}
			return p
		}
	}
	return t.newSlow()
}

// newSlow is New if the Local's slot has no block, and without a Local. It is apart from New, so
// that New on its fast path returns at once and tests no address.
//
//go:noinline
func (t Typed[T]) newSlow() *T {
	var addr uintptr
	if t.purpose != nil {
		addr = alloc(t.bin)
	}
	if addr == 0 {
		addr = newFrom(describe[T](), t.local, t.purpose, t.shift())
	}
	p := unsafex.At[T](addr)
	if unsafex.Size[T]() <= sizeclass.Max {
		var zero T
		*p = zero
	}
	return p
}

// TryNew is [TryNew].
func (t Typed[T]) TryNew() (*T, error) { return tryNewFrom[T](t.source) }

// Delete is [Delete], through the Local of t if it has one.
func (t Typed[T]) Delete(p *T) {
	l := t.local
	if l == nil {
		Delete(p)
		return
	}
	if p == nil {
		l.check("Delete")
		return
	}
	addr := unsafex.Addr(p)
	// A pointer to a field of size zero may have a block's address, and yet must not free it.
	if unsafex.Size[T]() != 0 && l.live() {
		s := l.cache.hottest()
		if s.push(addr) {
			if s.wipe {
				s.clear(addr)
			}
			runtime.KeepAlive(l)
			return
		}
	}
	deleteInSlow(describe[T](), addr, l)
}

//go:noinline
func deleteInSlow(d *typeDesc, addr uintptr, l *Local) {
	l = l.own("Delete")
	if d.size != 0 && (l == nil || !l.cache.push(d.bin, addr)) {
		std.freeAs(addr, l, "Delete", d, true)
	}
	runtime.KeepAlive(l)
}

// MakeSlice is [MakeSlice].
func (t Typed[T]) MakeSlice(length, capacity int) []T {
	s, err := t.TryMakeSlice(length, capacity)
	must(err)
	return s
}

// TryMakeSlice is [TryMakeSlice].
func (t Typed[T]) TryMakeSlice(length, capacity int) ([]T, error) {
	return makeSliceFrom[T](t.source, length, capacity)
}

// FreeSlice is [FreeSlice], through the Local of t if it has one.
func (t Typed[T]) FreeSlice(s []T) {
	l := t.local
	if l == nil {
		FreeSlice(s)
		return
	}
	l = l.own("FreeSlice")
	d, addr := describe[T](), unsafex.SliceAddr(s)
	n := uintptr(cap(s)) * d.size
	if n == 0 || l == nil {
		FreeSlice(s)
		return
	}
	if !d.typed && l.cache.free(n, addr) {
		runtime.KeepAlive(l)
		return
	}
	std.freeAs(addr, l, "FreeSlice", d, false)
}

// request is one for n values.
func (o source) request(d *typeDesc, n uintptr, l *Local, zero bool) request {
	q := d.request(o.purpose, n, l, zero)
	q.align = max(q.align, uintptr(1)<<o.shift())
	return q
}
