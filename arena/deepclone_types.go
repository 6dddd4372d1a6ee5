// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freehold-go/freehold/internal/graph"
	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// CloneOptions are options of [DeepClone] and [Heap]. The zero value is a good choice. If several
// are given, they add up.
type CloneOptions struct {
	// Share names types whose values are shared, not copied. A pointer to one is kept. If a value
	// is part of another, its bits are copied as by an assignment, so it leads to the same memory as
	// the original. Channels, functions and all other values that are refused can be named.
	Share []reflect.Type
	// UnsafeTrust names types of other modules. DeepClone then copies the unexported fields of
	// every type of their packages. The caller vouches that these packages do not use package
	// unsafe to store data in such a field that differs from the field's type. If one does, the
	// clone corrupts memory.
	UnsafeTrust []reflect.Type
}

// Deep copies. The walk is in deepclone.go; plans and the rule for fields are here:
//
//	DeepClone, Heap
//	      │
//	      ▼                the plan of a type, made once
//	   plan of T ────────► [off 0: plain data][off 16: string][off 32: pointer to U]
//	      │
//	      ▼
//	   walk                copy the values of a block word by word as the plan says
//	      ▲    │
//	      │    │ header (pointer, slice, interface, map) to memory at q
//	      │    ▼
//	      │  memo: (q, type, length) ──► known: write the address of its copy
//	      │    │ new
//	      │    ▼
//	      └─ take memory, note the block in the memo, write its address, and copy its values:
//	         at once or, 64 blocks deep, from a stack
//
// The keys and values of a map are blocks of their own. Maps are filled at the end.
//
// Invariants. A word that may be a pointer is copied as a pointer, from memory of one type to memory
// of the same type. A header is read once, before the copy is written: a stale value may lie where
// its copy goes. No pointer into memory that the call took for the copy is followed.

// ErrUncloneable is the error of the refusals of [DeepClone] and [Heap]: a part of the value cannot
// be copied. The message has the path to it.
var ErrUncloneable = errors.New("a part of the value cannot be copied")

// This file says how values of a type are copied: first the plan of a type, then the rule for its
// fields.

// A plan lists the parts of a type that are not plain data. It is made once and never changes.
type plan struct {
	typ    reflect.Type
	desc   *typeDesc
	size   uintptr
	ops    []op  // By offset. None: a value is plain data.
	runs   []run // The plain data between them.
	texts  bool  // All ops are strings: nothing behind them is walked.
	direct bool  // An interface holds the value itself, not its address.
	filled bool

	key, elem *plan // Of a map.
	reach     atomic.Pointer[reach]
}

// flat says that values are plain data.
func (p *plan) flat() bool { return len(p.ops) == 0 }

// A run is plain data in a value.
type run struct{ off, n uintptr }

// An op says what to do with one part of a value.
type op struct {
	kind        opKind
	off, size   uintptr
	typ         reflect.Type
	to          *plan  // Of what it leads to, or of an array's elements.
	why, remedy string // Of opRefuse.
}

type opKind uint8

const (
	opPointer opKind = iota
	opString
	opSlice
	opMap
	opInterface
	opArray
	opShare  // Copied by its bits.
	opOwn    // A *Map, or a value of a type with a graph.Copier.
	opRefuse // Refused unless it is zero.
)

// rules are the plans for one set of options.
type rules struct {
	share map[reflect.Type]bool // CloneOptions.Share.
	trust map[string]bool       // The packages of CloneOptions.UnsafeTrust.
	plans sync.Map              // From reflect.Type to *plan.
	mu    sync.Mutex
}

var (
	plainRules rules    // Without options.
	ruleSets   sync.Map // From a text of the options to *rules. The program has as many as call sites.
)

// rulesFor returns the rules for options.
func rulesFor(options []CloneOptions) *rules {
	var key strings.Builder
	made := &rules{share: make(map[reflect.Type]bool), trust: make(map[string]bool)}
	for _, o := range options {
		for _, t := range o.Share {
			checkGenuine("CloneOptions", t)
			made.share[t] = true
			fmt.Fprintf(&key, "s%x", typeinfo.KeyOf(t))
		}
		for _, t := range o.UnsafeTrust {
			checkGenuine("CloneOptions", t)
			for t.Name() == "" && t.Kind() == reflect.Pointer {
				t = t.Elem()
			}
			if t.PkgPath() == "" {
				panic(fmt.Errorf("arena: CloneOptions.UnsafeTrust names %s, which no package declares: name a type of the package that is trusted", t))
			}
			made.trust[t.PkgPath()] = true
			fmt.Fprintf(&key, "t%x", typeinfo.KeyOf(t))
		}
	}
	if key.Len() == 0 {
		return &plainRules
	}
	found, _ := ruleSets.LoadOrStore(key.String(), made)
	return found.(*rules)
}

// plan returns the plan for t.
func (r *rules) plan(t reflect.Type) *plan {
	if p, ok := r.plans.Load(t); ok {
		return p.(*plan)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b := planner{rules: r, made: make(map[reflect.Type]*plan)}
	p := b.full(t)
	for len(b.open) > 0 {
		next := b.open[len(b.open)-1]
		b.open = b.open[:len(b.open)-1]
		b.fill(next)
	}
	for t, p := range b.made {
		r.plans.Store(t, p)
	}
	return p
}

// A planner makes plans.
type planner struct {
	*rules
	made map[reflect.Type]*plan
	open []*plan // To be filled.
}

// ref returns the plan for t, which may be filled later: types lead to themselves.
func (b *planner) ref(t reflect.Type) *plan {
	if p, ok := b.plans.Load(t); ok {
		return p.(*plan)
	}
	p := b.made[t]
	if p == nil {
		p = &plan{typ: t, desc: describeType(t), size: t.Size()}
		b.made[t] = p
		b.open = append(b.open, p)
	}
	return p
}

// full returns the plan for t, filled.
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
	b.emit(p, p.typ, 0, "")
	p.addRuns()
	p.direct = isDirect(p.typ)
}

// addRuns finds what the ops leave.
func (p *plan) addRuns() {
	p.texts = true
	at := uintptr(0)
	for i := range p.ops {
		o := &p.ops[i]
		p.texts = p.texts && (o.kind == opString || o.kind == opArray && o.to.texts)
		if o.off > at {
			p.runs = append(p.runs, run{at, o.off - at})
		}
		at = o.off + o.size
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

// emit adds the ops for a part of type t at off. If the part lies in an unexported field that is not
// opened, outer is the type that declares the field.
func (b *planner) emit(p *plan, t reflect.Type, off uintptr, outer string) {
	add := func(kind opKind, to *plan, why, remedy string) {
		p.ops = append(p.ops, op{kind, off, t.Size(), t, to, why, remedy})
	}
	shared := b.shares(t)
	switch {
	case t.Size() == 0: // It may have very many parts.
	case shared && describeType(t).scan:
		add(opShare, nil, "", "")
	case shared:
	case handles[t] || isOwnMap(t):
		add(opRefuse, nil, "is a handle that owns memory", "hold it by a pointer")
	case isTimer(t):
		add(opRefuse, nil, "is known to the runtime by its address", "hold it by a pointer, and name the type in CloneOptions.Share")
	case outer == "" && copiesItself(t):
		o := b.ref(t)
		if t.Kind() == reflect.Pointer && o.key == nil { // Only a Map knows what it holds.
			key, elem := reflect.Zero(t).Interface().(ownMap).cloneTypes()
			o.key, o.elem = b.ref(key), b.ref(elem)
		}
		add(opOwn, o, "", "")
	case outer != "" && leads(t):
		add(opRefuse, nil, "leads to memory from an unexported field of "+outer+", a type of another module",
			"name "+outer+" in CloneOptions.Share, or in UnsafeTrust if its package keeps nothing else in the field by package unsafe")
	default:
		switch t.Kind() {
		case reflect.Pointer:
			add(opPointer, b.ref(t.Elem()), "", "")
		case reflect.String:
			add(opString, b.ref(reflect.TypeFor[byte]()), "", "")
		case reflect.Slice:
			add(opSlice, b.ref(t.Elem()), "", "")
		case reflect.Map:
			m := b.ref(t)
			if m.key == nil {
				m.key, m.elem = b.ref(t.Key()), b.ref(t.Elem())
			}
			add(opMap, m, "", "")
		case reflect.Interface:
			add(opInterface, nil, "", "")
		case reflect.Chan, reflect.Func, reflect.UnsafePointer:
			add(opRefuse, nil, "cannot be copied", "CloneOptions.Share names types that are to be shared")
		case reflect.Array:
			b.emitArray(p, t, off, outer)
		case reflect.Struct:
			b.emitStruct(p, t, off, outer)
		}
	}
}

func (b *planner) emitArray(p *plan, t reflect.Type, off uintptr, outer string) {
	const few = 4
	if t.Len() <= few {
		for i := range t.Len() {
			b.emit(p, t.Elem(), off+uintptr(i)*t.Elem().Size(), outer)
		}
		return
	}
	e := &plan{typ: t.Elem(), desc: describeType(t.Elem()), size: t.Elem().Size(), filled: true}
	if outer == "" {
		e = b.full(t.Elem())
	} else { // Its elements are not copied as those of a t elsewhere.
		b.emit(e, t.Elem(), 0, outer)
		e.addRuns()
	}
	if !e.flat() {
		p.ops = append(p.ops, op{kind: opArray, off: off, size: t.Size(), typ: t, to: e})
	}
}

func (b *planner) emitStruct(p *plan, t reflect.Type, off uintptr, outer string) {
	if t.PkgPath() == "sync/atomic" && strings.HasPrefix(t.Name(), "Pointer[") { // Its first field is a [0]*T.
		b.emit(p, t.Field(0).Type.Elem(), off+t.Size()-wordSize, outer)
		return
	}
	unexported := outer
	if outer == "" && !b.opens(t) {
		unexported = t.String()
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			b.emit(p, f.Type, off+f.Offset, outer)
		} else {
			b.emit(p, f.Type, off+f.Offset, unexported)
		}
	}
}

// A reach says of which types the variables in a graph are, as far as types tell. Types in interfaces
// have a reach of their own.
type reach struct {
	targets map[reflect.Type]bool // Of variables that pointers lead to.
	held    map[reflect.Type]bool // Of the fields and elements of variables.
}

// meets says whether pointers to variables in r may lead into variables in s.
func (r *reach) meets(s *reach) bool {
	for t := range r.targets {
		if s.held[t] {
			return true
		}
	}
	return false
}

// reached returns the reach of values of p's type.
func (p *plan) reached() *reach {
	if r := p.reach.Load(); r != nil {
		return r
	}
	r := &reach{make(map[reflect.Type]bool), make(map[reflect.Type]bool)}
	seen := map[*plan]bool{p: true}
	todo := []*plan{p}
	visit := func(p *plan) {
		if p != nil && !seen[p] {
			seen[p] = true
			todo = append(todo, p)
		}
	}
	for len(todo) > 0 {
		q := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		visit(q.key)
		visit(q.elem)
		for i := range q.ops {
			o := &q.ops[i]
			visit(o.to)
			switch o.kind {
			case opPointer:
				r.targets[o.to.typ] = true
				r.hold(o.to.typ)
			case opSlice:
				r.held[o.to.typ] = true
				r.hold(o.to.typ)
			}
		}
	}
	p.reach.Store(r)
	return r
}

// hold notes the fields and elements of a variable of type t.
func (r *reach) hold(t reflect.Type) {
	part := func(t reflect.Type) {
		if !r.held[t] {
			r.held[t] = true
			r.hold(t)
		}
	}
	switch t.Kind() {
	case reflect.Array:
		part(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			part(t.Field(i).Type)
		}
	}
}

// The rule for fields. A clone does what Go code without package unsafe may do: it assigns values,
// and writes fields that the code may name. An unexported field can be named in one package only,
// and that package may keep something in it by package unsafe that differs from the field's type:
// log/slog keeps a string as a *byte and a length, package time keeps more behind a *Timer than the
// Timer's fields. Package reflect does not show this. So pointers in unexported fields are followed
// only in types that opens accepts. Strings say how long they are, so they are copied everywhere.

// opens says whether the unexported fields of the struct type t are copied as exported ones are.
func (r *rules) opens(t reflect.Type) bool {
	pkg := declaredIn(t)
	return pkg == "" || ofMainModule(pkg) || r.trust[pkg] || knownTypes[fieldsOf(t)] || declaresClone(t)
}

// declaredIn is the package that may name the unexported fields of the struct type t, or "" if t has
// none. It differs from t.PkgPath for a type like "type mine time.Timer".
func declaredIn(t reflect.Type) string {
	for i := range t.NumField() {
		if pkg := t.Field(i).PkgPath; pkg != "" {
			return pkg
		}
	}
	return ""
}

// declaresClone says whether the struct type t has the method UnsafeCloneFields, which returns a t. A
// type that embeds t has the method, too, but its result is not of that type.
func declaresClone(t reflect.Type) bool {
	m, ok := reflect.PointerTo(t).MethodByName("UnsafeCloneFields")
	return ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 1 && m.Type.Out(0) == t
}

// mainModule has the path of the main module, and of the program's other modules those that lie below
// it. A test binary does not say which they are.
var mainModule = sync.OnceValues(func() (path string, others []string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", nil
	}
	for _, m := range info.Deps {
		if within(m.Path, info.Main.Path) {
			others = append(others, m.Path)
		}
	}
	return info.Main.Path, others
})

// ofMainModule says whether the package belongs to the main module. A module may be named as a
// package of the standard library is, as "go mod init log" does. Of such a module only package main
// is known to be its own.
func ofMainModule(pkg string) bool {
	main, others := mainModule()
	return inModule(strings.TrimSuffix(pkg, "_test"), main, others)
}

func inModule(pkg, main string, others []string) bool {
	if pkg == "main" || pkg == "command-line-arguments" {
		return true
	}
	if first, _, _ := strings.Cut(main, "/"); main == "" || standard[first] || !within(pkg, main) {
		return false
	}
	for _, m := range others {
		if within(pkg, m) {
			return false
		}
	}
	return true
}

// within says whether the import path is that of the module or lies below it.
func within(path, module string) bool {
	return path == module || strings.HasPrefix(path, module) && path[len(module)] == '/'
}

// standard has the first elements of the paths of the standard library.
var standard = set("archive", "bufio", "bytes", "cmp", "compress", "container", "context", "crypto", "database", "debug", "embed", "encoding",
	"errors", "expvar", "flag", "fmt", "go", "hash", "html", "image", "index", "internal", "io", "iter", "log", "maps", "math", "mime", "net",
	"os", "path", "plugin", "reflect", "regexp", "runtime", "slices", "sort", "strconv", "strings", "structs", "sync", "syscall", "testing",
	"text", "time", "unicode", "unique", "unsafe", "uuid", "vendor", "weak")

// knownTypes are the types of the standard library whose unexported fields lead to what their types
// say (GC-10), by package and fields. If a Go release changes the fields of a type, its values are
// refused and TestKnownTypes fails.
var knownTypes = set(
	"bytes: buf []uint8; off int; lastRead bytes.readOp", // Buffer
	"errors: errs []error",                               // of Join
	"fmt: msg string; err error",                         // of Errorf with one %w
	"fmt: msg string; errs []error",                      // of Errorf with several
	"math/big: a big.Int; b big.Int",                     // Rat
	"math/big: neg bool; abs big.nat",                    // Int
	"math/big: prec uint32; mode big.RoundingMode; acc big.Accuracy; form big.form; neg bool; mant big.nat; exp int32", // Float
	"sync/atomic: v interface {}", // Value
)

// fieldsOf is the key of a struct type in knownTypes.
func fieldsOf(t reflect.Type) string {
	var b strings.Builder
	b.WriteString(declaredIn(t) + ": ")
	for i := range t.NumField() {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(t.Field(i).Name + " " + t.Field(i).Type.String())
	}
	return b.String()
}

// handles are freehold's types whose values own memory. Pointers to them are shared.
var handles = map[reflect.Type]bool{
	reflect.TypeFor[Arena]():           true,
	reflect.TypeFor[Pool]():            true,
	reflect.TypeFor[offheap.Local]():   true,
	reflect.TypeFor[offheap.Purpose](): true,
}

// isTimer says whether t is a time.Timer or time.Ticker, behind which the runtime keeps more than their
// fields, or has their fields, as "type mine time.Timer" does.
func isTimer(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && (t.ConvertibleTo(reflect.TypeFor[time.Timer]()) || t.ConvertibleTo(reflect.TypeFor[time.Ticker]()))
}

// identities are types of values that do not change, or that are known by their addresses.
var identities = map[reflect.Type]bool{
	reflect.TypeOf(reflect.TypeFor[int]()).Elem(): true, // What a reflect.Type leads to.
	reflect.TypeOf(errors.New("")).Elem():         true,
	reflect.TypeFor[time.Location]():              true,
}

// identityNames are such types of packages that package arena does not import.
var identityNames = set(
	"google.golang.org/protobuf/internal/impl.MessageInfo", // Each generated message leads to its type's.
	"regexp.Regexp",
	"strings.Replacer",
)

// shares says whether values of t are copied by their bits.
func (r *rules) shares(t reflect.Type) bool {
	if r.share[t] {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer:
		e := t.Elem()
		return r.share[e] || handles[e] || identities[e] || identityNames[e.PkgPath()+"."+e.Name()]
	case reflect.Struct:
		switch t.PkgPath() {
		case "unique":
			return strings.HasPrefix(t.Name(), "Handle[")
		case "weak":
			return strings.HasPrefix(t.Name(), "Pointer[")
		}
		for i := range t.NumField() { // Its pointers lead to no Go memory.
			if t.Field(i).Type == reflect.TypeFor[offheap.UnsafeSelfContained]() {
				return true
			}
		}
	}
	return false
}

// leads says whether values of t lead to memory whose size the value does not say.
func leads(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return true
	}
	return false
}

func set(keys ...string) map[string]bool {
	m := make(map[string]bool, len(keys))
	for _, k := range keys {
		m[k] = true
	}
	return m
}

// copiesItself says whether values of t are copied by copyOwn.
func copiesItself(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && graph.CopierOf(t) != nil || t.Kind() == reflect.Pointer && isOwnMap(t.Elem()) && t.Implements(ownMapType)
}

// ownMap is what *Map implements.
type ownMap interface {
	// cloneTypes returns the types of keys and values. It is called with nil.
	cloneTypes() (key, value reflect.Type)
	// cloneStart returns an empty Map in a, its address, and slices of the keys and values.
	cloneStart(op string, a *Arena) (to ownMap, at unsafex.Ptr, keys, values reflect.Value, err error)
	// cloneFill puts entries into the Map.
	cloneFill(op string, keys, values reflect.Value) error
}

var ownMapType = reflect.TypeFor[ownMap]()

// isOwnMap says whether t is a Map. A struct in which a Map is embedded has its methods, and is none.
func isOwnMap(t reflect.Type) bool {
	return t.PkgPath() == reflect.TypeFor[Arena]().PkgPath() && strings.HasPrefix(t.Name(), "Map[")
}
