package offheap

import (
	"fmt"

	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// New returns a zero T outside the Go heap; it belongs to the caller until [Delete]. T must not
// hold Go pointers: New panics with the path of the field if it does, unless T is
// [UnsafeSelfContained]. If there is no memory, it panics as [Alloc] does. Pointers to values of
// size zero need no Delete.
func New[T any]() *T {
	pin := percpu.Acquire()
	c := std.pslots(pin.ID())
	var addr uintptr
	if _, ok := c.newest.typ.(*T); ok {
		addr = unsafex.At[slot](c.newest.slot).pop()
	} else if d, ok := known[T](); ok {
		addr = c.bins[d.bin&(fastBins-1)].pop()
	}
	pin.Release()
	if addr == 0 {
		addr = newAddr(describe[T](), true)
	}
	p := unsafex.At[T](addr)
	if unsafex.Size[T]() <= sizeclass.Max { // A large zero would be made on the Go heap.
		var zero T
		*p = zero
	}
	return p
}

// newAddr is the way of New and NewUninit beside the fast path.
//
//go:noinline
func newAddr(d *typeDesc, zero bool) uintptr {
	if d.bin != nullBin {
		addr, err := std.allocSlow(std.binByID(d.bin), d.request(nil, 1, nil, zero), d.key)
		must(err)
		return addr
	}
	addr, err := d.alloc("New", nil, nil, zero)
	must(err)
	return addr
}

// TryNew is New with an error for what the world may refuse.
func TryNew[T any]() (*T, error) { return newIn[T]("New", nil, nil, true) }

// NewUninit is [New] without the zeroing: the fields may hold data of an earlier block. A T that
// holds a bool is zeroed all the same, because a bool must be 0 or 1.
func NewUninit[T any]() *T {
	d := describe[T]()
	if d.typed {
		return New[T]()
	}
	addr := alloc(d.bin)
	if addr == 0 {
		addr = newAddr(d, false)
	}
	return unsafex.At[T](addr)
}

// Delete frees the memory of *p, which [New], [NewUninit], [NewIn] or [NewFor] returned. It may be
// called from any goroutine. Delete(nil) does nothing. A pointer that [Free] would refuse panics
// likewise.
func Delete[T any](p *T) {
	if p == nil {
		return
	}
	addr := unsafex.Addr(p)
	pin := percpu.Acquire()
	c := std.pslots(pin.ID())
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
	if d.size == 0 || d.typed && free(d.bin, addr) {
		return
	}
	std.freeAs(addr, nil, "Delete", d, true)
}

// newIn is every way to make one T but the fastest.
func newIn[T any](op string, l *Local, p *Purpose, zero bool) (*T, error) {
	addr, err := describe[T]().alloc(op, l, p, zero)
	if err != nil {
		return nil, err
	}
	return unsafex.At[T](addr), nil
}

// alloc makes room for one value, zero if asked for or if the type needs it.
func (d *typeDesc) alloc(op string, l *Local, p *Purpose, zero bool) (uintptr, error) {
	d.check(op)
	if d.size == 0 {
		return zeroSizeAddr(), nil
	}
	return std.allocate(d.request(p, 1, l, zero))
}

// request is one for n values.
func (d *typeDesc) request(p *Purpose, n uintptr, l *Local, zero bool) request {
	k := d.kind
	if p != nil {
		k = p.kindFor(d)
	}
	return request{kind: k, desc: d, n: n * d.size, align: d.align, zero: zero || d.typed, local: l}
}

// MakeSlice returns a slice of zero values of T outside the Go heap, as make([]T, length,
// capacity) does on it. It panics as [New] does, and as make does if length or capacity are
// negative or length exceeds capacity. A slice of no bytes needs no FreeSlice.
func MakeSlice[T any](length, capacity int) []T {
	s, err := TryMakeSlice[T](length, capacity)
	must(err)
	return s
}

// TryMakeSlice is MakeSlice with an error for what the world may refuse; a capacity whose bytes
// exceed the address space is such a thing.
func TryMakeSlice[T any](length, capacity int) ([]T, error) {
	return makeSlice[T]("MakeSlice", nil, length, capacity, true)
}

// MakeSliceUninit is MakeSlice without the zeroing; see [NewUninit].
func MakeSliceUninit[T any](length, capacity int) []T {
	s, err := makeSlice[T]("MakeSliceUninit", nil, length, capacity, false)
	must(err)
	return s
}

func tooMany(n uintptr, d *typeDesc) error {
	return &allocError{ErrOutOfMemory, fmt.Sprintf("%d values of %s (%d bytes each)", n, d.typ, d.size), errTooLarge}
}

func makeSlice[T any](op string, p *Purpose, length, capacity int, zero bool) ([]T, error) {
	d := describe[T]()
	d.check(op)
	if length < 0 || length > capacity {
		panic(fmt.Errorf("offheap: %s of %s: length %d out of range [0, capacity %d]", op, d.typ, length, capacity))
	}
	if d.size == 0 || capacity == 0 {
		return unsafex.Slice[T](zeroSizeAddr(), length, capacity), nil
	}
	if uintptr(capacity) > largestAlloc/d.size {
		return nil, tooMany(uintptr(capacity), d)
	}
	addr, err := std.allocate(d.request(p, uintptr(capacity), nil, zero))
	if err != nil {
		return nil, err
	}
	return unsafex.Slice[T](addr, length, capacity), nil
}

// FreeSlice is [Free] for a slice of T that MakeSlice or Append returned, or a prefix of it.
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

// Append is append for a slice that [MakeSlice] or Append returned, for a prefix of one, or for one
// of capacity 0. Like append it never writes behind cap(s). If the elements do not fit, Append
// copies s to a larger block and frees the block of s. This also holds if s is t[:k:k], a prefix
// that hides the rest of t: the program must not use any other slice of that block any more.
// Append([]T(nil), t...) makes a copy instead and leaves t alone. Append panics as [New] does.
func Append[T any](s []T, elems ...T) []T {
	s, err := TryAppend(s, elems...)
	must(err)
	return s
}

// TryAppend is Append with an error for what the world may refuse; s is untouched if there is one.
func TryAppend[T any](s []T, elems ...T) ([]T, error) {
	d := describe[T]()
	n := len(s) + len(elems)
	if n <= cap(s) || d.size == 0 { // Or the sum overflows and is negative, for which append panics.
		return append(s, elems...), nil
	}
	d.check("Append")
	if uintptr(n) > largestAlloc/d.size {
		return nil, tooMany(uintptr(n), d)
	}
	old := unsafex.SliceAddr(s)
	q := d.request(nil, grown(uintptr(n), uintptr(cap(s)), d.size), nil, false)
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
