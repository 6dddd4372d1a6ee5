// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"reflect"

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

// typeDesc describes a type, found once a type.
type typeDesc struct {
	key uintptr
	bin uint32 // Of New without a purpose; nullBin if the fast path must not serve it.

	size     uintptr
	align    uintptr
	typ      reflect.Type
	pointers bool   // Values hold pointers: the type promises to be self-contained.
	typed    bool   // Blocks never serve another type: it holds bools or promises to be self-contained. Also of refused types, whose Refs must lead nowhere.
	kind     *kind  // Without a purpose.
	path     string // Not empty: it holds Go pointers and is refused.
	remedy   string // What to do about these pointers.
	names    struct{ one, slice string }
}

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
	if d.path == "" && d.size > 0 && d.size <= sizeclass.Max && std.records() == nil {
		if b := std.bin(d.kind, sizeclass.Of(d.size)); b.id < nullBin {
			d.bin = b.id
		}
	}
}

// newKind makes a kind for a type, for a purpose or none.
func (h *heap) newKind(p *purposeState, d *typeDesc) *kind {
	k := &kind{purpose: p, budgets: []*budget{&h.budget}}
	if p != nil {
		k.budgets = append(k.budgets, &p.budget)
		k.wipe = p.options.Wipe
	}
	if d != nil {
		k.typ, k.pointers, k.wipe = d.typ, d.pointers, k.wipe || d.pointers
	}
	h.mu.Lock()
	h.kinds = append(h.kinds, k)
	h.mu.Unlock()
	return k
}

// kindKey is the key of the kinds of values of the type; see kind.key.
func (d *typeDesc) kindKey() uintptr {
	if d.typed {
		return d.key
	}
	return 0
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

// zeroSize is where values of size zero lie.
var zeroSize uint64

func zeroSizeAddr() uintptr { return unsafex.Addr(&zeroSize) }
