// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"sync"

	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A Purpose is an account: [Stats] counts its blocks separately, and it may have a limit of its
// own. Its blocks are ordinary blocks, freed by [Free], [Delete] and similar functions. Blocks of
// different purposes never share slabs. [For] allocates values, slices and aligned blocks in the
// account, and resizes slices. A Purpose is safe for concurrent use.
//
// A program should have few purposes, which live as long as the program: "index", "cache",
// "network".
//
// A Purpose must not be copied; pass the pointer that [NewPurpose] returned. Every call of a copy
// panics with a [*MisuseError], and so does every call of a zero Purpose. A call of a nil Purpose
// panics, too, and a function that allocates bytes with Go's error for a nil pointer.
type Purpose struct {
	_     noCopy
	self  *Purpose // The Purpose itself. A copy and the zero Purpose have another value here.
	plain *kind    // Its purpose is the state.
}

var purposes struct {
	sync.Mutex
	list   []*purposeState
	byName map[string]*Purpose
}

// NewPurpose returns the Purpose of that name. If there is none yet, it makes one without options.
func NewPurpose(name string) *Purpose {
	p, _ := findPurpose(name, PurposeOptions{})
	return p
}

// NewPurposeWith returns the Purpose of that name and of those options. If there is none of that
// name yet, it makes one. It panics if there is one of that name with other options.
func NewPurposeWith(name string, o PurposeOptions) *Purpose {
	p, isNew := findPurpose(name, o)
	if s := p.state("NewPurposeWith"); !isNew && s.options != o {
		panic(fmt.Errorf("offheap: NewPurposeWith: the purpose %q exists already with the options %+v, not %+v; use another name", name, s.options, o))
	}
	return p
}

// findPurpose finds the Purpose of a name, or makes it with the options.
func findPurpose(name string, o PurposeOptions) (p *Purpose, isNew bool) {
	std.start()
	purposes.Lock()
	defer purposes.Unlock()
	if p := purposes.byName[name]; p != nil {
		return p, false
	}
	s := &purposeState{name: name, budget: budget{who: fmt.Sprintf("purpose %q", name)}, options: o}
	s.plain = std.newKind(s, nil)
	p = &Purpose{plain: s.plain}
	p.self = p
	if purposes.byName == nil {
		purposes.byName = make(map[string]*Purpose)
	}
	purposes.byName[name] = p
	purposes.list = append(purposes.list, s)
	return p, true
}

// state is the state of p. It panics if op must not use p.
func (p *Purpose) state(op string) *purposeState {
	if p == nil || p.self != p {
		p.misused(op)
	}
	return p.plain.purpose
}

//go:noinline
func (p *Purpose) misused(op string) {
	if p == nil {
		panic(handleMisuse(op, "a nil Purpose", "call NewPurpose and use the pointer that it returns"))
	}
	if p.self == nil {
		panic(handleMisuse(op, "a Purpose that NewPurpose did not make", "call NewPurpose and use the pointer that it returns"))
	}
	panic(handleMisuse(op, "a copied Purpose", "use the pointer that NewPurpose returned everywhere, and write no Purpose over another"))
}

// Name is the name that was given to [NewPurpose].
func (p *Purpose) Name() string { return p.state("Name").name }

// kindFor is the kind of values of a type under the purpose. It takes a lock to make one.
func (s *purposeState) kindFor(d *typeDesc) *kind {
	if !d.typed {
		return s.plain
	}
	head := &s.typed[typeinfo.Hash(d.key)%uintptr(len(s.typed))]
	if k := head.Load().find(d); k != nil {
		return k
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := head.Load()
	k := newest.find(d)
	if k == nil { // Another goroutine may have made it meanwhile.
		k = std.newKind(s, d)
		head.Store(&typedKind{desc: d, kind: k, older: newest})
	}
	return k
}

// binOf is the bin of values of a type under the purpose, nullBin if the fast path must not serve
// it.
func (s *purposeState) binOf(d *typeDesc) uint32 {
	if d.size == 0 || d.size > sizeclass.Max || d.path != "" {
		return nullBin
	}
	if b := std.bin(s.kindFor(d), sizeclass.Of(d.size)); b.id < nullBin {
		return b.id
	}
	return nullBin
}

// find is the kind of the type among t and the older ones, or nil.
func (t *typedKind) find(d *typeDesc) *kind {
	for ; t != nil; t = t.older {
		if t.desc == d {
			return t.kind
		}
	}
	return nil
}

// SetLimit bounds the bytes in slabs and large blocks of the purpose, which shares them with no
// other; 0 means no bound. It returns the old bound. The package's [SetLimit] describes the bytes
// that count.
func (p *Purpose) SetLimit(n int64) (old int64) {
	checkLimitArgument(n)
	return std.setLimit(&p.state("SetLimit").budget, n)
}

// Alloc is [Alloc] for the purpose.
func (p *Purpose) Alloc(n int) []byte { return mustBytes(p.TryAlloc(n)) }

// TryAlloc is [TryAlloc] for the purpose.
func (p *Purpose) TryAlloc(n int) ([]byte, error) {
	return p.allocBytes("Alloc", n, true)
}

// AllocUninit is [AllocUninit] for the purpose.
func (p *Purpose) AllocUninit(n int) []byte { return mustBytes(p.TryAllocUninit(n)) }

// TryAllocUninit is [TryAllocUninit] for the purpose.
func (p *Purpose) TryAllocUninit(n int) ([]byte, error) {
	return p.allocBytes("AllocUninit", n, false)
}

// allocBytes is heap.allocBytes for the purpose. It has the check, the fast path and the request in
// one function, so that the exported functions are inlined.
func (p *Purpose) allocBytes(op string, n int, zero bool) ([]byte, error) {
	if p.self != p {
		p.misused(op)
	}
	if n <= 0 {
		return std.allocBytes(op, n, request{}) // No bytes, or its panic.
	}
	if n <= sizeclass.Max {
		if addr := std.pop(p.plain, sizeclass.Of(uintptr(n))); addr != 0 {
			b := unsafex.Bytes(addr, uintptr(n))
			if zero {
				clear(b)
			}
			return b, nil
		}
	}
	addr, err := std.allocate(request{kind: p.plain, n: uintptr(n), align: 8, zero: zero})
	if err != nil {
		return nil, err
	}
	return unsafex.Bytes(addr, uintptr(n)), nil
}
