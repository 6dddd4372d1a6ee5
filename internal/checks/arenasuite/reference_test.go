// SPDX-License-Identifier: Apache-2.0

package arenasuite

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// faults are the ways in which the reference arena can be made to break its promises. Each must
// make the suite fail.
type faults struct {
	dirty         bool // Memory that is used again is not cleared.
	dirtySlice    bool
	crooked       bool // A value lies where its type must not.
	alias         bool // Now and then a value is handed out twice.
	growOver      bool // Append grows a slice where it is although others lie behind it.
	sharedClip    bool // Append ignores that a capacity was cut.
	loseTail      bool // Append that copies loses an element.
	rewindTooFar  bool
	resetKeeps    bool // What values pointed to stays reachable.
	cloneShares   bool
	spoils        bool // Freed values become invalid for their type.
	silentFree    bool // A second Free is ignored.
	silentUse     bool // Use after Free is ignored.
	anyCheckpoint bool // A stale or foreign checkpoint is ignored.
	noLimit       bool
	limitSticks   bool // A limit once reached refuses everything for ever.
	limitPanics   bool // The limit says that the caller is wrong.
	badLength     bool // A negative length is one of 0.
	hugeLength    bool // A huge length is one of 0.
	disowns       bool // Owns denies everything.
	endless       bool // An iteration of an arena that was freed does not end.
	vagueIterate  bool // It ends in Go's own error.
	recyclesLive  bool // The memory of a dropped arena is reused while its values live.
	torn          bool // Nothing guards the bump position.
}

var (
	errNoMemory = errors.New("reference: out of memory")
	errLimit    = errors.New("reference: limit reached")
)

// refArena is a correct arena over the Go heap, with faults to order.
type refArena struct {
	faults
	store       *sync.Map // Of chunks given back, by type: *refChunks.
	mu          sync.Mutex
	flows       []refFlow
	freed       bool
	stuck       bool
	held, limit int64
	serial      int
	points      map[int][]int // Checkpoint to the length of each flow.
	number      int
	owned       map[uintptr]bool
}

var refCount int

type refChunks struct {
	mu   sync.Mutex
	list []any
}

// refFlow is what an arena has of one type.
type refFlow interface {
	length() int
	rewind(to int)
	giveBack()
}

// refOf is the values of one type: one slice that never moves.
type refOf[T any] struct {
	a     *refArena
	mem   []T
	count int
}

const refCap = 1 << 13

func (f *refOf[T]) length() int { return len(f.mem) }

func (f *refOf[T]) rewind(to int) {
	if !f.a.dirty && !f.a.resetKeeps {
		clear(f.mem[to:])
	}
	if f.a.spoils {
		if m, ok := any(f.mem).([]refPair); ok {
			for i := range m[to:] {
				m[to+i] = refPair{1, 1}
			}
		}
	}
	f.mem = f.mem[:to]
}

func (f *refOf[T]) store() *refChunks {
	c, _ := f.a.store.LoadOrStore(reflect.TypeFor[T](), new(refChunks))
	return c.(*refChunks)
}

func (f *refOf[T]) giveBack() {
	if !f.a.spoils && !f.a.dirty && !f.a.resetKeeps && cap(f.mem) > 0 {
		s := f.store()
		s.mu.Lock()
		s.list = append(s.list, f.mem[:0])
		s.mu.Unlock()
	}
	f.mem = nil
}

// cut is n values in a row.
func (f *refOf[T]) cut(what string, n int) ([]T, error) {
	a := f.a
	if a.freed && !a.silentUse {
		panic(fmt.Errorf("reference: %s of an arena that was freed", what))
	}
	if a.stuck && a.limitSticks {
		return nil, errLimit
	}
	var zero T
	size := int64(n) * int64(reflect.TypeOf(&zero).Elem().Size())
	if a.limit > 0 && a.held+size > a.limit && !a.noLimit {
		if a.stuck = true; a.limitPanics {
			panic("reference: too much")
		}
		return nil, fmt.Errorf("%w: %d bytes held", errLimit, a.held)
	}
	if f.mem == nil {
		f.mem = f.fresh()
	}
	a.held += size
	if cap(f.mem)-len(f.mem) < n { // Memory of its own.
		return f.own(make([]T, n)), nil
	}
	at := len(f.mem)
	if a.torn {
		runtime.Gosched()
	}
	f.count++
	if a.alias && f.count%20 == 0 && at >= n {
		at -= n
	}
	f.mem = f.mem[:at+n]
	return f.own(f.mem[at : at+n : at+n]), nil
}

// own notes the arena's memory.
func (f *refOf[T]) own(s []T) []T {
	if len(s) > 0 && !f.a.torn {
		f.a.owned[reflect.ValueOf(s).Pointer()] = true
	}
	return s
}

func (f *refOf[T]) fresh() []T {
	s := f.store()
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := len(s.list); k > 0 && f.mem == nil {
		m := s.list[k-1].([]T)
		s.list = s.list[:k-1]
		return m
	}
	m := make([]T, 0, refCap)
	if f.a.recyclesLive {
		s.list = append(s.list, m)
	}
	return m
}

// guard locks the arena.
func (a *refArena) guard() func() {
	if a.torn {
		return func() {}
	}
	a.mu.Lock()
	return a.mu.Unlock
}

func refFuncs[T any](a *refArena, value func(i int) T) Funcs[T] {
	f := &refOf[T]{a: a}
	a.flows = append(a.flows, f)
	return Funcs[T]{
		Value: value,
		New: func() (*T, error) {
			defer a.guard()()
			s, err := f.cut("New", 1)
			if err != nil {
				return nil, err
			}
			if a.crooked {
				return crooked[T](), nil
			}
			return &s[0], nil
		},
		MakeSlice: func(length, capacity int) ([]T, error) {
			if (length < 0 || capacity < length) && a.badLength || capacity > 1<<30 && a.hugeLength {
				return nil, nil
			}
			if length < 0 || capacity < length {
				panic(fmt.Errorf("reference: length %d and capacity %d", length, capacity))
			}
			if capacity > 1<<20 {
				return nil, errNoMemory
			}
			defer a.guard()()
			s, err := f.cut("MakeSlice", capacity)
			if err == nil && a.dirtySlice && capacity > 2 {
				s[capacity-1] = value(1)
			}
			return s[:min(length, len(s)):len(s)], err
		},
		Append: func(s []T, elems ...T) ([]T, error) { return f.append(s, elems) },
	}
}

// crooked is a zero value of a type without pointers that lies between two words.
func crooked[T any]() *T {
	var words [4]uint64
	// SAFETY: a T of up to three words lies within the four; the processors that tests run on read
	// it there.
	return (*T)(unsafe.Add(unsafe.Pointer(&words), 1))
}

func (f *refOf[T]) append(s, elems []T) ([]T, error) {
	defer f.a.guard()()
	if f.a.sharedClip && len(f.mem) > 0 {
		for i := range f.mem { // Where in the memory is it?
			if end := i + len(s) + len(elems); len(s) > 0 && &f.mem[i] == &s[0] && end <= len(f.mem) {
				copy(f.mem[i+len(s):end], elems)
				return f.mem[i:end:end], nil
			}
		}
	}
	if len(elems) <= cap(s)-len(s) {
		return append(s, elems...), nil
	}
	if k := len(f.mem); f.a.growOver && k > 0 && len(s) > 0 && k+len(elems) < cap(f.mem) && k > len(s)+len(elems) {
		for i := range k - len(s) {
			if &f.mem[i] == &s[0] {
				g := f.mem[i : i+len(s) : k]
				return append(g, elems...), nil
			}
		}
	}
	g, err := f.cut("Append", len(s)+len(elems))
	if err != nil {
		return nil, err
	}
	copy(g[copy(g, s):], elems)
	if f.a.loseTail && len(s) > 4 {
		var zero T
		g[len(s)-1] = zero
	}
	return g, nil
}

type refPair struct{ a, b int }

// arena returns the reference arena as the suite sees it.
func (a *refArena) arena() *Arena {
	refCount++
	a.number = refCount
	a.points, a.owned = map[int][]int{}, map[uintptr]bool{}
	pairs := refFuncs(a, func(i int) refPair { return refPair{i, -i - 1} })
	pairs.Stale = func(p *refPair) error {
		if *p != (refPair{}) && p.a != -p.b-1 {
			return fmt.Errorf("it is %v", *p)
		}
		return nil
	}
	texts := refFuncs(a, func(i int) *string { s := fmt.Sprint(i); return &s })
	held := refFuncs(a, func(int) *Held { return nil })
	alive := func(what string) {
		if a.freed && !a.silentUse {
			panic(fmt.Errorf("reference: %s of an arena that was freed", what))
		}
	}
	return &Arena{
		Types: []Type{pairs, texts, refFuncs(a, func(int) struct{} { return struct{}{} })},
		Texts: []func(...string) (string, error){func(parts ...string) (string, error) {
			return strings.Join(parts, ""), nil
		}},
		NewOf: func(t reflect.Type) (any, error) {
			alive("NewOf")
			defer a.guard()()
			p := reflect.New(t)
			a.owned[p.Pointer()] = true
			return p.Interface(), nil
		},
		Resets: []func(){func() { alive("Reset"); a.reset() }},
		Checkpoint: func() any {
			alive("Checkpoint")
			return a.checkpoint()
		},
		Rewind:   func(c any) { alive("Rewind"); a.rewind(c.([2]int)) },
		Free:     a.free,
		SetLimit: func(n int64) (old int64) { old, a.limit = a.limit, n; return old },
		Held:     func() int64 { return a.held },
		InUse:    func() int64 { return a.held },
		Uses:     map[string]func(){"New": func() { _, _ = pairs.New() }},
		Iterate:  map[string]func(int, func()){"list": a.iterate},
		Holds:    map[string]func(*Held){"pointer": func(p *Held) { q, _ := held.New(); *q = p }},
		Clone:    func(v any) any { return a.clone(reflect.ValueOf(v)).Interface() },
		Owns: func(v any) bool {
			defer a.guard()()
			return a.owned[reflect.ValueOf(v).Pointer()] && !a.disowns
		},
	}
}

func (a *refArena) clone(v reflect.Value) reflect.Value {
	switch {
	case a.cloneShares || v.Kind() == reflect.String:
		return v
	case v.Kind() == reflect.Slice:
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		return c
	}
	c := reflect.New(v.Type().Elem())
	c.Elem().Set(v.Elem())
	return c
}

func (a *refArena) reset() {
	for _, f := range a.flows {
		f.rewind(0)
	}
	a.held = 0
	clear(a.points)
}

func (a *refArena) checkpoint() any {
	a.serial++
	var lengths []int
	for _, f := range a.flows {
		lengths = append(lengths, f.length())
	}
	a.points[a.serial] = lengths
	return [2]int{a.number, a.serial}
}

func (a *refArena) rewind(c [2]int) {
	lengths, ok := a.points[c[1]]
	if c[0] != a.number || !ok {
		if a.anyCheckpoint {
			return
		}
		panic(fmt.Errorf("reference: a checkpoint that is none: %v", c))
	}
	for i, f := range a.flows {
		to := min(lengths[i], f.length())
		if a.rewindTooFar {
			to = max(0, to-1)
		}
		f.rewind(to)
	}
	for serial := range a.points {
		if serial > c[1] {
			delete(a.points, serial)
		}
	}
}

func (a *refArena) free() {
	defer a.guard()()
	if a.freed {
		if a.silentFree {
			return
		}
		panic(fmt.Errorf("reference: Free of an arena that was freed"))
	}
	a.reset()
	a.freed = true
	for _, f := range slices.Backward(a.flows) {
		f.giveBack()
	}
}

func (a *refArena) iterate(n int, visit func()) {
	for i := 0; i < n || a.endless && a.freed; i++ {
		visit()
		if a.freed {
			switch {
			case a.vagueIterate:
				_ = make([]int, 1)[i]
			case !a.endless:
				panic(fmt.Errorf("reference: the arena was freed"))
			}
		}
	}
}

// refArenaConfig is the configuration for the reference arena with some faults.
func refArenaConfig(f faults) Config {
	store := new(sync.Map)
	return Config{
		New:    func(testing.TB) *Arena { return (&refArena{faults: f, store: store}).arena() },
		Misuse: true, Drops: true, Forgets: true, Concurrent: true,
		ErrOutOfMemory: errNoMemory, ErrLimit: errLimit, MaxBytes: 64 << 10,
	}
}
