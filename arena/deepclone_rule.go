// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"reflect"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/graph"
	"github.com/freehold-go/freehold/internal/owner"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// This file decides which struct types DeepClone copies field by field.
//
// DeepClone does to a value what Go code without package unsafe may do: it assigns the value, and
// it writes the fields that the code may name. Exported fields can be named everywhere. An
// unexported field can be named in one package only, and that package may use package unsafe to
// store something other than the field's type says: log/slog keeps a string as a *byte and a
// length, package time keeps more behind a *Timer than its fields. Package reflect does not show
// this. So the unexported fields of a struct type are copied only if the type is one of these:
//
//  1. It is declared in the main module or in the module of the function that calls DeepClone (see
//     deepclone_caller.go). Its author also answers for the call.
//  2. It is listed in graph.KnownTypes, with exactly the fields that it has now.
//  3. It has the method UnsafeCloneFields.
//  4. The caller names a type of its package in CloneOptions.UnsafeTrust.
//
// The unexported fields of any other struct type are held: their bits are copied, as an assignment
// does, if all that they lead to is either immutable or as long-lived as the program. Otherwise
// DeepClone refuses the value and names the field.

// opens says whether the unexported fields of the struct type t are copied.
func (s *plans) opens(t reflect.Type) bool {
	pkg := graph.DeclaredIn(t)
	return pkg == "" || s.home(pkg) || s.trusted[pkg] || graph.KnownTypes[graph.FieldsOf(t)] || graph.DeclaresClone(t)
}

// A handle is one of freehold's own types whose values own memory.
type handle struct {
	typ reflect.Type
	// pointers says that pointers to the handle are shared. If not, they are refused.
	pointers    bool
	why, advice string
}

const (
	ownsMemory = "is a handle that owns memory, of which there must be one"
	usePointer = "hold it by a pointer, which is shared"
)

// handles are those without type parameters.
var handles = []handle{
	{reflect.TypeFor[Arena](), true, ownsMemory, usePointer},
	{reflect.TypeFor[Pool](), true, ownsMemory, usePointer},
	{reflect.TypeFor[Builder](), false, "belongs to its arena and cannot be copied", "copy its String"},
	{reflect.TypeFor[offheap.Local](), true, ownsMemory, usePointer},
	{reflect.TypeFor[offheap.Purpose](), true, ownsMemory, usePointer},
}

// handleOf is the handle that t is, or that t is derived from as in "type mine arena.Arena".
func handleOf(t reflect.Type) *handle {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range handles {
		if h := &handles[i]; t == h.typ || t.ConvertibleTo(h.typ) {
			return h
		}
	}
	return nil
}

// refusal is why values of t that are not zero are refused, or "". If it is final, values of t are
// refused even if t is in CloneOptions.Share, which then shares pointers to t alone.
func (s *plans) refusal(t reflect.Type) (why string, final bool) {
	if why := inUse(t); why != "" {
		return why, false
	}
	if t.Kind() != reflect.Struct || t.Size() == 0 {
		return "", false
	}
	if h := handleOf(t); h != nil {
		return h.why, true
	}
	if graph.DeclaredIn(t) == "context" {
		return "is a context, which is known by its address", false
	}
	r := graph.RefusedTypes[graph.FieldsOf(t)]
	return r.Why, r.Final
}

// builderFields are those of a strings.Builder, as graph.KnownTypes has them.
const builderFields = "strings: addr *strings.Builder; buf []uint8"

// isBuilder says whether the struct type t is a strings.Builder, or derived from it.
func isBuilder(t reflect.Type) bool { return t.NumField() == 2 && graph.FieldsOf(t) == builderFields }

// holdsAsIs says whether the value at w, which stands in an unexported field of a type that is not
// opened, may be copied by its bits: it leads to nothing, to something immutable on the Go heap, or
// to memory that lives as long as the program.
func (c *cloner) holdsAsIs(o *op, w unsafex.Ptr) bool {
	q := load(w)
	switch o.typ.Kind() {
	case reflect.String:
		return loadWord(w, 1) == 0 || c.lasts(q, true)
	case reflect.Slice:
		return loadWord(w, 2) == 0 || c.lasts(q, false)
	case reflect.Interface:
		return q == nil || c.holdsDynamic(c.dynamicPlan(o, w), load(unsafex.Add(w, wordSize)))
	}
	return q == nil || c.lasts(q, false)
}

// holdsDynamic is holdsAsIs for the value in an interface, of which data is the second word.
func (c *cloner) holdsDynamic(p *plan, data unsafex.Ptr) bool {
	switch {
	case p.direct:
		return data == nil || p.ops[0].kind == opKeep || c.lasts(data, false)
	case p.size == 0:
		return true
	case p.whole.Kind() == reflect.String:
		return c.lasts(data, true) && (loadWord(data, 1) == 0 || c.lasts(load(data), true))
	}
	return c.lasts(data, p.flat())
}

// lasts says whether the memory at q may be shared with the clone: it lives as long as the program,
// or it is immutable and on the Go heap, where the clone keeps it alive.
func (c *cloner) lasts(q unsafex.Ptr, immutable bool) bool {
	if _, known := ownerOf(unsafex.PtrAddr(q)); known {
		return false
	}
	switch c.grounds.Of(q) {
	case graph.OnHeap:
		_, block := owner.Beside(unsafex.PtrAddr(q)) // As with the kill switch.
		return immutable && !block
	case graph.InGlobals:
		return true
	case graph.InGoArena:
		return false
	}
	if !graph.Asking() {
		return immutable
	}
	return !c.isOffheap(unsafex.PtrAddr(q))
}

// isOutside says whether q leads to memory that neither Go nor freehold allocated: C's, or a
// mapping of the program's own. A value there may be larger than its Go type, and has other owners.
func (c *cloner) isOutside(q unsafex.Ptr) bool {
	if c.grounds.Of(q) != graph.Elsewhere || !graph.Asking() {
		return false
	}
	_, known := ownerOf(unsafex.PtrAddr(q))
	return !known && !c.isOffheap(unsafex.PtrAddr(q))
}

// isOurs says whether addr lies in memory that freehold may take back. A pointer to no bytes is an
// identity, as with incomplete types of C and runtime.Func, but one to such an address would lead
// the clone into an arena that it may outlive.
func (c *cloner) isOurs(addr uintptr) bool {
	_, known := ownerOf(addr)
	return known || c.isOffheap(addr)
}

// isOffheap says whether addr lies in memory of package offheap.
func (c *cloner) isOffheap(addr uintptr) bool {
	if debugmode.On() {
		if _, ok := debugmode.Find(addr); ok || debugmode.Guarded(addr) {
			return true
		}
	}
	if c.regions == nil {
		c.regions = []span{} // Not nil: asked once a clone.
		for _, r := range offheap.Regions() {
			c.regions = append(c.regions, span{r.Addr, r.Addr + uintptr(r.Reserved)})
		}
	}
	for _, r := range c.regions {
		if r.has(addr) {
			return true
		}
	}
	_, beside := owner.Beside(addr)
	return beside
}

// isZero says whether the n bytes at w are zero.
func isZero(w unsafex.Ptr, n uintptr) bool {
	for _, x := range unsafex.SliceOf[byte](w, int(n), int(n)) {
		if x != 0 {
			return false
		}
	}
	return true
}
