package arena

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

const wordSize = 4 << (^uintptr(0) >> 63)

// An op says what to do with one part of a value that is not plain data.
type op struct {
	kind opKind
	off  uintptr
	to   *plan        // What it leads to, or the element that repeats.
	n    uintptr      // Repetitions, or bytes of what is kept or must be zero.
	typ  reflect.Type // Of the part.
	why  string       // For a refusal.
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

	direct    bool  // In an interface the value stands itself, not its address.
	key, elem *plan // Of a map.
	filled    bool
}

// A run is plain data in a value.
type run struct{ off, n uintptr }

// flat says that values are plain data.
func (p *plan) flat() bool { return len(p.ops) == 0 }

// plans are those for one set of types that callers named.
type plans struct {
	named map[reflect.Type]bool
	ready sync.Map // From reflect.Type to *plan.
	mu    sync.Mutex
}

// planSets finds plans by the names of types. There are as many as sets of types in the program.
var planSets sync.Map

var defaultPlans plans

func plansFor(options []CloneOptions) *plans {
	var types []reflect.Type
	for _, o := range options {
		for _, t := range o.Share {
			if t != nil {
				types = append(types, t)
			}
		}
	}
	if len(types) == 0 {
		return &defaultPlans
	}
	slices.SortFunc(types, func(x, y reflect.Type) int { return cmp.Compare(typeinfo.KeyOf(x), typeinfo.KeyOf(y)) })
	key := make([]byte, 0, 8*len(types))
	named := make(map[reflect.Type]bool, len(types))
	for _, t := range slices.Compact(types) {
		named[t] = true
		for k := typeinfo.KeyOf(t); k != 0; k >>= 7 {
			key = append(key, byte(k&127)|128)
		}
		key = append(key, 0)
	}
	if s, ok := planSets.Load(string(key)); ok {
		return s.(*plans)
	}
	s, _ := planSets.LoadOrStore(string(key), &plans{named: named})
	return s.(*plans)
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
	for t, p := range b.made {
		s.ready.Store(t, p)
	}
	return p
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
	b.emit(p, t, 0)
	p.findRuns()
}

// shares says whether values of t are kept as they are.
func (b *planner) shares(t reflect.Type) bool {
	if b.named[t] {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer:
		return b.named[t.Elem()] || identities[t.Elem()]
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

// identities are the types of what is known by its address.
var identities = map[reflect.Type]bool{
	reflect.TypeOf(reflect.TypeFor[int]()).Elem():         true, // What a reflect.Type leads to.
	reflect.TypeFor[reflect.Value]().Field(0).Type.Elem(): true, // What a reflect.Value's type is.
	reflect.TypeOf(errors.New("")).Elem():                 true,
	reflect.TypeFor[time.Location]():                      true,
	reflect.TypeFor[Arena]():                              true,
	reflect.TypeFor[bump]():                               true, // Of a Typed.
	reflect.TypeFor[offheap.Purpose]():                    true,
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
	case "internal/poll.FD":
		return "is an open file"
	}
	if t.PkgPath() == reflect.TypeFor[Arena]().PkgPath() && strings.HasPrefix(t.Name(), "Map[") {
		return "of an arena cannot be copied: range over it and build another"
	}
	return ""
}

// emit adds the ops for a value of type t at off in p's unit.
func (b *planner) emit(p *plan, t reflect.Type, off uintptr) {
	add := func(o op) {
		o.off, o.typ = off, t
		p.ops = append(p.ops, o)
	}
	if b.shares(t) {
		if typeinfo.Describe(t, nil).PointerPath != "" {
			add(op{kind: opKeep, n: t.Size()})
		}
		return
	}
	if why := inUse(t); why != "" {
		add(op{kind: opRefuse, n: t.Size(), why: why})
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
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		add(op{kind: opRefuse, n: wordSize, why: "cannot be copied"})
	case reflect.Array:
		b.emitArray(p, t, off)
	case reflect.Struct:
		if t.PkgPath() == "sync/atomic" && strings.HasPrefix(t.Name(), "Pointer[") { // Its first field is a [0]*T.
			off += t.Size() - wordSize
			add(op{kind: opPointer, to: b.ref(t.Field(0).Type.Elem().Elem())})
			return
		}
		for i := range t.NumField() {
			f := t.Field(i)
			b.emit(p, f.Type, off+f.Offset)
		}
	}
}

func (b *planner) emitArray(p *plan, t reflect.Type, off uintptr) {
	const few = 4
	if t.Len() <= few {
		for i := range t.Len() {
			b.emit(p, t.Elem(), off+uintptr(i)*t.Elem().Size())
		}
		return
	}
	e := b.full(t.Elem())
	if !e.flat() {
		p.ops = append(p.ops, op{kind: opRepeat, off: off, to: e, n: uintptr(t.Len()) * e.units, typ: t})
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
	case opKeep, opRefuse:
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

// load reads the pointer at p.
func load(p unsafex.Ptr) unsafex.Ptr { return *unsafex.As[unsafex.Ptr](p) }

// put writes the pointer at p.
func put(p, v unsafex.Ptr) { *unsafex.As[unsafex.Ptr](p) = v }

// loadWord reads the i-th word behind p.
func loadWord(p unsafex.Ptr, i uintptr) uintptr {
	return *unsafex.As[uintptr](unsafex.Add(p, i*wordSize))
}

// putWord writes the i-th word behind p.
func putWord(p unsafex.Ptr, i, v uintptr) { *unsafex.As[uintptr](unsafex.Add(p, i*wordSize)) = v }
