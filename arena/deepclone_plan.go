// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freehold-go/freehold/internal/graph"
	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// An op says what to do with one part of a value that is not plain data.
type op struct {
	kind opKind
	off  uintptr
	to   *plan        // What it leads to, or the element that repeats.
	n    uintptr      // Repetitions, or bytes that are kept or must be zero.
	typ  reflect.Type // Of the part.
	why  string       // For a refusal. Of opHold it is the type with the unexported field.
}

type opKind uint8

const (
	opPointer opKind = iota
	opString
	opSlice
	opMap
	opInterface
	opRepeat // An array.
	opKeep   // Shared: the bits are copied.
	opRefuse // Refused if it is not zero, and zero in the copy.
	opHold   // In an unexported field of a type that is not opened: as opKeep if holdsAsIs, or else refused.
	opSelf   // The address that a strings.Builder notes of itself.
	opOwn    // Of a type of freehold's own, which copies itself: see deepclone_own.go.
	opOther  // As opSelf, if the Builder's bytes are shared, so that the copy must not be written to.
)

// A plan says how values of a type are copied. It is made once a type and never changes.
type plan struct {
	typ   reflect.Type // Of the unit.
	whole reflect.Type
	desc  *typeDesc // Of the unit.
	size  uintptr   // Of the unit.
	units uintptr   // An array is so many of its innermost elements, anything else is one of itself.
	ops   []op      // Of the unit, by offset.
	runs  []run     // Of the unit: what no op copies.

	direct    bool   // In an interface the value stands itself, not its address.
	key, elem *plan  // Of a map.
	held      string // Of the elements of an array: as in emit.
	filled    bool
	asks      bool // The caller's module matters, or may matter for what stands in an interface.
	selves    bool // Values have an opSelf or opOther.
	kept      bool // The elements of an array are shared: as in emitKept.

	tangled atomic.Int32 // How many clones of the type take the long way at once.
}

// A run is plain data in a value.
type run struct{ off, n uintptr }

// flat says that values are plain data.
func (p *plan) flat() bool { return len(p.ops) == 0 }

// plans are those for one set of options and for the callers of one module.
type plans struct {
	module  string                // Of the callers.
	named   map[reflect.Type]bool // CloneOptions.Share.
	trusted map[string]bool       // The packages of CloneOptions.UnsafeTrust.
	ready   sync.Map              // From reflect.Type to *plan.
	mu      sync.Mutex
}

// planSets finds plans by the caller's module and the keys of types. There are as many as sets of
// types in the program.
var planSets sync.Map

// with is the plans for the options and the module of s.
func (s *plans) with(options []CloneOptions) *plans {
	var share, trust []reflect.Type
	for _, o := range options {
		share = append(share, o.Share...)
		trust = append(trust, o.UnsafeTrust...)
	}
	for _, t := range slices.Concat(share, trust) {
		if t != nil {
			checkGenuine("CloneOptions", t)
		}
	}
	if len(share) == 0 && len(trust) == 0 {
		return s
	}
	key := []byte(s.module + "\x00")
	share, key = distinct(share, key)
	trust, key = distinct(trust, append(key, 0))
	if s, ok := planSets.Load(string(key)); ok {
		return s.(*plans)
	}
	made := &plans{module: s.module, named: make(map[reflect.Type]bool), trusted: make(map[string]bool)}
	for _, t := range share {
		made.named[t] = true
	}
	for _, t := range trust {
		for t.Name() == "" && t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.PkgPath() == "" {
			panic(fmt.Errorf("arena: CloneOptions.UnsafeTrust names %s, which no package declares: name a type of the package that is trusted", t))
		}
		made.trusted[t.PkgPath()] = true
	}
	found, _ := planSets.LoadOrStore(string(key), made)
	return found.(*plans)
}

// distinct is the types without nil and without repetitions, and key with a name for them appended.
func distinct(types []reflect.Type, key []byte) ([]reflect.Type, []byte) {
	types = slices.DeleteFunc(types, func(t reflect.Type) bool { return t == nil })
	slices.SortFunc(types, func(x, y reflect.Type) int { return cmp.Compare(typeinfo.KeyOf(x), typeinfo.KeyOf(y)) })
	types = slices.Compact(types)
	for _, t := range types {
		for k := typeinfo.KeyOf(t); k != 0; k >>= 7 {
			key = append(key, byte(k&127)|128)
		}
		key = append(key, 1)
	}
	return types, key
}

// plan is the plan for t.
func (s *plans) plan(t reflect.Type) *plan {
	if p, ok := s.ready.Load(t); ok {
		return p.(*plan)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := planner{plans: s, made: make(map[reflect.Type]*plan)}
	p := b.full(t)
	for len(b.open) > 0 {
		next := b.open[len(b.open)-1]
		b.open = b.open[:len(b.open)-1]
		b.fill(next)
	}
	b.spreadAsking()
	for t, p := range b.made {
		s.ready.Store(t, p)
	}
	return p
}

// spreadAsking makes plans ask that lead to one that asks.
func (b *planner) spreadAsking() {
	leads := func(p *plan) bool {
		return p.key != nil && (p.key.asks || p.elem.asks) ||
			slices.ContainsFunc(p.ops, func(o op) bool { return o.to != nil && o.to.asks })
	}
	for more := true; more; {
		more = false
		for _, p := range b.made {
			if !p.asks && leads(p) {
				p.asks, more = true, true
			}
		}
	}
}

// A planner makes the plan for a type and those that it leads to.
type planner struct {
	*plans
	made map[reflect.Type]*plan
	open []*plan // That must be filled yet. A type may lead to itself, so that this waits.
}

// ref is a plan for t that may not be filled yet.
func (b *planner) ref(t reflect.Type) *plan {
	if p, ok := b.ready.Load(t); ok {
		return p.(*plan)
	}
	if p := b.made[t]; p != nil {
		return p
	}
	p := &plan{whole: t, typ: t, units: 1}
	b.made[t] = p
	b.open = append(b.open, p)
	return p
}

// full is a plan for t that is filled.
func (b *planner) full(t reflect.Type) *plan {
	p := b.ref(t)
	b.fill(p)
	return p
}

func (b *planner) fill(p *plan) {
	if p.filled {
		return
	}
	p.filled = true
	for p.typ.Kind() == reflect.Array && p.typ.Len() > 0 && !b.shares(p.typ) {
		p.units *= uintptr(p.typ.Len())
		p.typ = p.typ.Elem()
	}
	t := p.typ
	p.size, p.desc = t.Size(), describeType(t)
	p.direct = isDirect(p.whole)
	if t.Kind() == reflect.Map {
		p.key, p.elem = b.ref(t.Key()), b.ref(t.Elem())
	}
	if p.kept {
		b.emitKept(p, t, 0)
	} else {
		b.emit(p, t, 0, p.held)
	}
	p.findRuns()
}

// shares says whether values of t are kept as they are.
func (b *planner) shares(t reflect.Type) bool {
	if b.named[t] {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer:
		return b.named[t.Elem()] || b.isIdentity(t.Elem())
	case reflect.Struct:
		switch t.PkgPath() {
		case "unique":
			return strings.HasPrefix(t.Name(), "Handle[")
		case "weak":
			return strings.HasPrefix(t.Name(), "Pointer[")
		}
		return isSelfContained(t)
	}
	return false
}

// isIdentity says whether values of t are known by their address.
func (b *planner) isIdentity(t reflect.Type) bool {
	if identities[t] || graph.SharedNames[t.PkgPath()+"."+t.Name()] {
		return true
	}
	h := handleOf(t)
	return h != nil && h.pointers
}

// identities are the types whose values are known by their addresses.
var identities = map[reflect.Type]bool{
	reflect.TypeOf(reflect.TypeFor[int]()).Elem():         true, // What a reflect.Type leads to.
	reflect.TypeFor[reflect.Value]().Field(0).Type.Elem(): true, // What a reflect.Value's type is.
	reflect.TypeOf(errors.New("")).Elem():                 true,
	reflect.TypeFor[time.Location]():                      true,
	reflect.TypeFor[bump]():                               true, // Of a Typed.
}

// isSelfContained says whether the struct type t has the marker among its fields.
func isSelfContained(t reflect.Type) bool {
	for i := range t.NumField() {
		if t.Field(i).Type == reflect.TypeFor[offheap.UnsafeSelfContained]() {
			return true
		}
	}
	return false
}

// inUse says of types that are refused if they are not zero what it means.
func inUse(t reflect.Type) string {
	switch t.PkgPath() + "." + t.Name() {
	case "sync.Mutex", "sync.RWMutex", "internal/sync.Mutex":
		return "is locked"
	case "sync.WaitGroup":
		return "is waited for"
	case "sync.notifyList", "sync.copyChecker":
		return "of a sync.Cond that was used cannot be copied"
	case "internal/poll.FD", "os.file":
		return "is an open file"
	}
	if isOwnMap(t) {
		return "is known by its address: hold it by a pointer, whose copy leads to a copy of the Map"
	}
	return ""
}

// emit adds the ops for a value of type t at off in p's unit. If it stands in an unexported field
// of a type that is not opened, held is the name of this type.
func (b *planner) emit(p *plan, t reflect.Type, off uintptr, held string) {
	add := func(o op) {
		o.off, o.typ = off, t
		p.ops = append(p.ops, o)
	}
	why, final := b.refusal(t)
	switch {
	case final || why != "" && !b.shares(t):
		add(op{kind: opRefuse, n: t.Size(), why: why})
		return
	case b.shares(t):
		b.emitKept(p, t, off)
		return
	}
	if t.Size() == 0 { // It may have very many parts.
		return
	}
	if held == "" && copiesItself(t) {
		add(op{kind: opOwn, n: t.Size()})
		return
	}
	if held != "" && isLeading(t) {
		add(op{kind: opHold, n: t.Size(), why: held})
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		add(op{kind: opPointer, to: b.ref(t.Elem())})
	case reflect.String:
		add(op{kind: opString, to: b.ref(reflect.TypeFor[byte]())})
	case reflect.Slice:
		add(op{kind: opSlice, to: b.ref(t.Elem())})
	case reflect.Map:
		add(op{kind: opMap, to: b.ref(t)})
	case reflect.Interface:
		add(op{kind: opInterface})
		p.asks = true
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		add(op{kind: opRefuse, n: wordSize, why: "cannot be copied"})
	case reflect.Array:
		b.emitArray(p, t, off, held)
	case reflect.Struct:
		b.emitStruct(p, t, off, held)
	}
}

// emitKept adds the ops for a shared value of type t: its bits are copied, but for parts that are refused
// everywhere, and for the addresses that Builders note of themselves, which may be those of a stack.
func (b *planner) emitKept(p *plan, t reflect.Type, off uintptr) {
	add := func(o op) {
		o.off, o.typ = off, t
		p.ops = append(p.ops, o)
	}
	why, final := b.refusal(t)
	switch {
	case typeinfo.Describe(t, nil).PointerPath == "":
	case final:
		add(op{kind: opRefuse, n: t.Size(), why: why})
	case !b.mixed(t):
		add(op{kind: opKeep, n: t.Size()})
	case t.Kind() == reflect.Array:
		e := &plan{whole: t.Elem(), typ: t.Elem(), units: 1, kept: true}
		b.fill(e)
		add(op{kind: opRepeat, to: e, n: uintptr(t.Len()) * e.units})
		p.selves = p.selves || e.selves
	case isBuilder(t):
		p.ops = append(p.ops, op{kind: opOther, off: off, typ: t.Field(0).Type})
		p.selves = true
		b.emitKept(p, t.Field(1).Type, off+t.Field(1).Offset)
	default:
		for i := range t.NumField() {
			b.emitKept(p, t.Field(i).Type, off+t.Field(i).Offset)
		}
	}
}

// mixed says whether shared values of t have parts whose bits are not copied.
func (b *planner) mixed(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return t.Len() > 0 && b.mixed(t.Elem())
	case reflect.Struct:
		if _, final := b.refusal(t); final || isBuilder(t) {
			return true
		}
		for i := range t.NumField() {
			if b.mixed(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

// isLeading says whether a value of t leads to memory, and is neither a struct nor an array.
func isLeading(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.String, reflect.Slice, reflect.Map, reflect.Interface, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return true
	}
	return false
}

func (b *planner) emitStruct(p *plan, t reflect.Type, off uintptr, held string) {
	if t.PkgPath() == "sync/atomic" && strings.HasPrefix(t.Name(), "Pointer[") { // Its first field is a [0]*T.
		b.emit(p, t.Field(0).Type.Elem(), off+t.Size()-wordSize, held)
		return
	}
	if isBuilder(t) {
		p.ops = append(p.ops, op{kind: opSelf, off: off, typ: t.Field(0).Type})
		p.selves = true
		b.emit(p, t.Field(1).Type, off+t.Field(1).Offset, held)
		return
	}
	unexported := held
	if held == "" && !b.opens(t) {
		unexported = t.String()
		p.asks = p.asks || graph.ModuleOf(graph.DeclaredIn(t)) != "" && typeinfo.Describe(t, nil).PointerPath != ""
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.IsExported() {
			b.emit(p, f.Type, off+f.Offset, held)
		} else {
			b.emit(p, f.Type, off+f.Offset, unexported)
		}
	}
}

func (b *planner) emitArray(p *plan, t reflect.Type, off uintptr, held string) {
	const few = 4
	if t.Len() <= few {
		for i := range t.Len() {
			b.emit(p, t.Elem(), off+uintptr(i)*t.Elem().Size(), held)
		}
		return
	}
	var e *plan
	if held == "" {
		e = b.full(t.Elem())
	} else { // Other than for a t elsewhere.
		e = &plan{whole: t.Elem(), typ: t.Elem(), units: 1, held: held}
		b.fill(e)
	}
	if !e.flat() {
		p.ops = append(p.ops, op{kind: opRepeat, off: off, to: e, n: uintptr(t.Len()) * e.units, typ: t})
		p.selves = p.selves || e.selves
	}
}

// copies is how many bytes of the value the op sees to.
func (o *op) copies() uintptr {
	switch o.kind {
	case opInterface, opString:
		return 2 * wordSize
	case opSlice:
		return 3 * wordSize
	case opRepeat:
		return o.n * o.to.size
	case opKeep, opRefuse, opHold, opOwn:
		return o.n
	}
	return wordSize
}

// findRuns finds what the ops leave.
func (p *plan) findRuns() {
	at := uintptr(0)
	for i := range p.ops {
		o := &p.ops[i]
		if o.off > at {
			p.runs = append(p.runs, run{at, o.off - at})
		}
		at = max(at, o.off+o.copies())
	}
	if p.size > at {
		p.runs = append(p.runs, run{at, p.size - at})
	}
}

// isDirect finds out how an interface holds a t: the value itself or its address (GC-8).
func isDirect(t reflect.Type) bool {
	if t.Size() != wordSize || typeinfo.Describe(t, nil).PointerPath == "" {
		return false
	}
	p := unsafex.PtrOf(new([4]uintptr))
	v := reflect.NewAt(t, unsafex.PtrOf(&p)).Elem().Interface()
	return load(unsafex.Add(unsafex.PtrOf(&v), wordSize)) == p
}
