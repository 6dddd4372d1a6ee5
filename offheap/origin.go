package offheap

import (
	"fmt"
	"runtime"

	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A Typed allocates values and slices of T from one place:
//
//	offheap.For[T](p)    // In the account of a Purpose.
//	offheap.In[T](l)     // From a Local.
//	offheap.Typed[T]{}   // Without an account, as New and MakeSlice do.
//
// Its values and slices are ordinary blocks: [Delete] and [FreeSlice] free them, and any Typed may.
// A Typed takes no memory off the heap and may be copied. A Typed from a Local is for one goroutine at a
// time, as the Local is, and panics with a [*MisuseError] after the Local's Close; it keeps a Local
// reachable that the program drops. Any other Typed is safe for concurrent use.
type Typed[T any] struct {
	_       [0]*T // A Typed of another type does not convert to this one, with its uninit.
	local   *Local
	purpose *purposeState
	bin     uint32 // Of the type; used with a Local.
	uninit  bool   // Never if the type needs memory that is zero.
}

// For is the Typed that allocates in the account of p.
func For[T any](p *Purpose) Typed[T] {
	if p == nil {
		return Typed[T]{}
	}
	return Typed[T]{purpose: p.state("For")}
}

// In is the Typed that allocates from l. Make it once, outside of a loop: In looks up T, and the
// functions of the Typed need not.
func In[T any](l *Local) Typed[T] { return Typed[T]{local: l, bin: describe[T]().bin} }

// Uninit is t without the zeroing: values of New and slices of MakeSlice may hold data of an earlier
// block. A T that holds a bool or is self-contained is zeroed all the same, because a bool must be 0
// or 1.
func (t Typed[T]) Uninit() Typed[T] {
	t.uninit = !describe[T]().typed
	return t
}

// own is the Local of t for the allocator's inner functions; nil means the shared way. It panics if
// the Local must not be used.
func (t Typed[T]) own(op string) *Local {
	if t.local == nil {
		return nil
	}
	return t.local.own(op)
}

// New is [New].
func (t Typed[T]) New() *T {
	var addr uintptr
	if l := t.local; l != nil && l.live() {
		addr = l.slots.bins[t.bin&(fastBins-1)].pop()
		runtime.KeepAlive(l) // Until here: the slots of a Local that is garbage are taken back.
	}
	if addr == 0 {
		addr = newFrom(describe[T](), t.local, t.purpose, t.uninit)
	}
	p := unsafex.At[T](addr)
	if unsafex.Size[T]() <= sizeclass.Max && !t.uninit {
		var zero T
		*p = zero
	}
	return p
}

// newFrom is Typed.New if the Local's slots have no block, and without a Local. Its caller zeroes
// small values.
//
//go:noinline
func newFrom(d *typeDesc, l *Local, p *purposeState, uninit bool) uintptr {
	if l != nil {
		l = l.own("New")
	}
	if p == nil && d.bin != nullBin {
		if l == nil {
			if addr := alloc(d.bin); addr != 0 {
				return addr
			}
		}
		addr, err := std.allocSlow(std.binByID(d.bin), d.request(nil, 1, l, true), d.key)
		must(err)
		return addr
	}
	addr, err := d.alloc("New", l, p, !uninit && d.size > sizeclass.Max)
	must(err)
	return addr
}

// TryNew is [TryNew].
func (t Typed[T]) TryNew() (*T, error) {
	addr, err := describe[T]().alloc("New", t.own("New"), t.purpose, !t.uninit)
	if err != nil {
		return nil, err
	}
	return unsafex.At[T](addr), nil
}

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
		s := l.slots.hottest()
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
	if d.size != 0 && (l == nil || !l.slots.push(d.bin, addr)) {
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
	l, d := t.own("MakeSlice"), describe[T]()
	d.check("MakeSlice")
	if length < 0 || length > capacity {
		panic(fmt.Errorf("offheap: MakeSlice of %s: length %d out of range [0, capacity %d]", d.typ, length, capacity))
	}
	if d.size == 0 || capacity == 0 {
		return unsafex.Slice[T](zeroSizeAddr(), length, capacity), nil
	}
	if uintptr(capacity) > largestAlloc/d.size {
		return nil, tooMany(uintptr(capacity), d)
	}
	addr, err := std.allocate(d.request(t.purpose, uintptr(capacity), l, !t.uninit))
	if err != nil {
		return nil, err
	}
	return unsafex.Slice[T](addr, length, capacity), nil
}

func tooMany(n uintptr, d *typeDesc) error {
	return &allocError{ErrOutOfMemory, fmt.Sprintf("%d values of %s (%d bytes each)", n, d.typ, d.size), errTooLarge}
}

// Append is [Append]. A slice of capacity 0 gets memory as MakeSlice of t does; any other slice stays
// in the account of its block. The new elements up to the capacity are zero, with Uninit too.
func (t Typed[T]) Append(s []T, elems ...T) []T {
	s, err := t.TryAppend(s, elems...)
	must(err)
	return s
}

// TryAppend is [TryAppend], as Append is [Append].
func (t Typed[T]) TryAppend(s []T, elems ...T) ([]T, error) {
	l, d := t.own("Append"), describe[T]()
	n := len(s) + len(elems)
	if n <= cap(s) || d.size == 0 { // Or the sum overflows and is negative, for which append panics.
		return append(s, elems...), nil
	}
	d.check("Append")
	if uintptr(n) > largestAlloc/d.size {
		return nil, tooMany(uintptr(n), d)
	}
	old := unsafex.SliceAddr(s)
	q := d.request(t.purpose, grown(uintptr(n), uintptr(cap(s)), d.size), l, false)
	if cap(s) > 0 {
		// Before anything is allocated: a slice that is not ours, or lies inside a block, panics here.
		// A block that holds more than s may have been cut to s to keep the rest: it never grows in
		// place. Nothing is cleared before elems is copied, which may be a part of the block.
		whole := std.server().roomOf("Append", old, q.kind.typ)/d.size <= uintptr(cap(s))
		if whole && std.server().resize("Append", old, uintptr(n)*d.size, uintptr(n)*d.size, q.kind.typ) {
			g := unsafex.Slice[T](old, n, int(std.server().room(old)/d.size))
			copy(g[len(s):], elems)
			clearRest(g[:cap(g)], n)
			return g, nil
		}
		if k := std.requestLike(old).kind; k.typ == q.kind.typ {
			q.kind = k // The old block's purpose.
		}
	}
	addr, err := std.allocate(q)
	if err != nil {
		return nil, err
	}
	g := unsafex.Slice[T](addr, n, int(std.server().room(addr)/d.size))
	allowCopy(s)
	copy(g[copy(g, s):], elems)
	clearRest(g[:cap(g)], n)
	if cap(s) > 0 {
		std.freeSlow(old, nil, "Append")
	}
	return g, nil
}

// grown is how many elements a slice of capacity old that must hold n gets: twice as many as
// before while it is small, a quarter more later, as append does.
func grown(n, old, size uintptr) uintptr {
	const small = 64 << 10
	want := old * 2
	if old*size > small {
		want = old + old/4
	}
	if want > largestAlloc/size {
		want = n
	}
	return max(n, want)
}
