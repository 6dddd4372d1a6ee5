package offheap

import (
	"fmt"
	"sync"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// A Purpose is an account: what is allocated through it is counted apart in [Stats] and may have
// a limit of its own. Its blocks are ordinary blocks, freed by [Free], [Delete] and the like.
// Blocks of different purposes never share slabs. A Purpose is safe for concurrent use.
//
// Purposes are meant to be few and to live as long as the program: "index", "cache", "network".
type Purpose struct {
	name  string
	plain *kind

	mu    sync.Mutex
	kinds map[*typeDesc]*kind // Of typed values.

	held  int64 // Bytes in spans; guarded by the lock of the heap.
	limit int64 // 0 for none; likewise.
}

var purposes struct {
	sync.Mutex
	list   []*Purpose
	byName map[string]*Purpose
}

// NewPurpose returns the Purpose of that name, a new one if there is none yet.
func NewPurpose(name string) *Purpose {
	std.start()
	purposes.Lock()
	defer purposes.Unlock()
	if p := purposes.byName[name]; p != nil {
		return p
	}
	p := &Purpose{name: name, kinds: make(map[*typeDesc]*kind)}
	p.plain = std.newKind(p, nil)
	if purposes.byName == nil {
		purposes.byName = make(map[string]*Purpose)
	}
	purposes.byName[name] = p
	purposes.list = append(purposes.list, p)
	return p
}

// Name is the name given to NewPurpose.
func (p *Purpose) Name() string { return p.name }

// kindFor is the kind of values of a type under this purpose.
func (p *Purpose) kindFor(d *typeDesc) *kind {
	if !d.typed {
		return p.plain
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.kinds[d]
	if k == nil {
		k = std.newKind(p, d)
		p.kinds[d] = k
	}
	return k
}

// SetLimit bounds the bytes that the purpose's slabs and large blocks may take, 0 for no bound,
// and returns the bound before. See [SetLimit] for what counts.
func (p *Purpose) SetLimit(n int64) (old int64) {
	checkLimitArgument(n)
	std.mu.Lock()
	defer std.mu.Unlock()
	old, p.limit = p.limit, n
	return old
}

// Alloc is [Alloc] for the purpose.
func (p *Purpose) Alloc(n int) []byte { return mustBytes(p.TryAlloc(n)) }

// TryAlloc is [TryAlloc] for the purpose.
func (p *Purpose) TryAlloc(n int) ([]byte, error) {
	return std.allocBytes("Alloc", n, request{kind: p.plain, align: 8, zero: true})
}

// AllocUninit is [AllocUninit] for the purpose.
func (p *Purpose) AllocUninit(n int) []byte { return mustBytes(p.TryAllocUninit(n)) }

// TryAllocUninit is [TryAllocUninit] for the purpose.
func (p *Purpose) TryAllocUninit(n int) ([]byte, error) {
	return std.allocBytes("AllocUninit", n, request{kind: p.plain, align: 8})
}

// NewFor is [New] for a purpose.
func NewFor[T any](p *Purpose) *T {
	v, err := newIn[T]("NewFor", nil, p, true)
	must(err)
	return v
}

// MakeSliceFor is [MakeSlice] for a purpose.
func MakeSliceFor[T any](p *Purpose, length, capacity int) []T {
	d := describe[T]()
	d.check("MakeSliceFor")
	if length < 0 || length > capacity {
		panic(fmt.Errorf("offheap: MakeSliceFor of %s: length %d out of range [0, capacity %d]", d.typ, length, capacity))
	}
	if d.size == 0 || capacity == 0 {
		return unsafex.Slice[T](zeroSizeAddr(), length, capacity)
	}
	if uintptr(capacity) > largestAlloc/d.size {
		must(tooMany(uintptr(capacity), d))
	}
	addr, err := std.allocate(d.request(p, uintptr(capacity), nil, true))
	must(err)
	return unsafex.Slice[T](addr, length, capacity)
}

// SetLimit bounds the bytes that offheap may hold, 0 for no bound, and returns the bound before.
// What counts is whole slabs (64 to 512 KiB) and large blocks, in use at least in part; a request
// that needs one more than fits fails with [ErrLimit], and what is held stays as it is. Memory
// that is free altogether does not count. Where a test needs one block, leave room for a slab.
func SetLimit(n int64) (old int64) {
	checkLimitArgument(n)
	std.start()
	return std.limit.Swap(n)
}

func checkLimitArgument(n int64) {
	if n < 0 {
		panic(fmt.Errorf("offheap: SetLimit: negative limit %d; 0 means none", n))
	}
}

// checkLimit says whether n more bytes may be held. The caller holds the heap's lock.
func (h *heap) checkLimit(p *Purpose, n int64) error {
	if l := h.limit.Load(); l > 0 && h.held+n > l {
		return limitReached("offheap", n, h.held, l)
	}
	if p != nil && p.limit > 0 && p.held+n > p.limit {
		return limitReached(fmt.Sprintf("purpose %q", p.name), n, p.held, p.limit)
	}
	return nil
}
