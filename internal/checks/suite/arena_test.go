// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/checks/arenasuite"
)

// Types of the suite: words, bytes, nothing, a large one, one with a bool, and some with Go
// pointers.
type (
	pair  struct{ a, b int64 }
	three struct{ a, b, c byte }
	mixed struct {
		n  int32
		ok bool
	}
	leaf struct {
		id, twin int // Of which each is the other's complement, or both are 0.
		name     string
		next     *leaf
		kids     []*leaf
		any      any
		table    map[string]int
	}
)

// bits is the byte of a bool: the compiler makes the condition a copy of it, and trusts it to be 0 or 1.
//
//go:noinline
func bits(b bool) int {
	i := 0
	if b {
		i = 1
	}
	return i
}

// poisoned is an int whose bytes are all 0xDD. Debug modes overwrite freed values with this byte.
const poisoned = ^int(0x2222222222222222 >> (64 - strconv.IntSize))

func newLeaf(i int) *leaf { return &leaf{id: i, twin: ^i, name: fmt.Sprint(i)} }

func leafValue(i int) leaf {
	l := *newLeaf(i)
	l.next, l.kids = newLeaf(i+1), []*leaf{newLeaf(i + 2), newLeaf(i + 3)}
	l.any, l.table = i, map[string]int{"x": i}
	if i%2 == 0 {
		l.any = l.next
	}
	return l
}

// staleLeaf looks at a leaf that was given up: another may be in its place, or poison, half of one
// must not.
func staleLeaf(l *leaf, depth int) error {
	if l.id != ^l.twin && l.id != poisoned && (l.id != 0 || l.twin != 0) {
		return fmt.Errorf("it has the parts of two: %+v", *l)
	}
	_ = strings.Count(l.name, "0") // Reads it. The bytes may be another string's.
	_ = fmt.Sprint(reflect.TypeOf(l.any), len(l.table))
	if depth == 0 {
		return nil
	}
	for _, k := range append(l.kids[:len(l.kids):len(l.kids)], l.next) {
		if k != nil {
			if err := staleLeaf(k, depth-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// innerLeaf moves what a leaf points to into an arena.
func innerLeaf(a *arena.Arena) func(l leaf) (leaf, error) {
	return func(l leaf) (leaf, error) {
		l.name = arena.String(a, l.name)
		next := arena.New[leaf](a)
		*next = *l.next
		if l.any == any(l.next) {
			l.any = next
		}
		l.next = next
		kids, err := arena.TryMakeSlice[*leaf](a, 0, 1)
		if err != nil {
			return l, err
		}
		for _, k := range l.kids {
			n := arena.Of[leaf](a).New()
			*n = *k
			kids = arena.Append(a, kids, n)
		}
		l.kids = kids
		return l, nil
	}
}

// tried is the result of f, or the error of Try.
func tried[T any](f func() T) (v T, err error) {
	err = arena.Try(func() { v = f() })
	return v, err
}

// way makes values by one of the ways of the package.
type way int

const (
	byFunction way = iota
	byTry
	byTyped
	byFrom
)

func funcsOf[T any](a *arena.Arena, w way, value func(i int) T) arenasuite.Funcs[T] {
	f := arenasuite.Funcs[T]{
		Value: value,
		New:   func() (*T, error) { return arena.New[T](a), nil },
		// A panic says that the caller is wrong, an error what the world refuses.
		MakeSlice: func(length, capacity int) ([]T, error) {
			return tried(func() []T { return arena.MakeSlice[T](a, length, capacity) })
		},
		Append: func(s []T, elems ...T) ([]T, error) { return arena.Append(a, s, elems...), nil },
	}
	switch w {
	case byTry:
		f.New = func() (*T, error) { return arena.TryNew[T](a) }
		f.MakeSlice = func(length, capacity int) ([]T, error) { return arena.TryMakeSlice[T](a, length, capacity) }
		f.Append = func(s []T, elems ...T) ([]T, error) { return tried(func() []T { return arena.Append(a, s, elems...) }) }
	case byTyped:
		typed := arena.Of[T](a)
		f.New = func() (*T, error) { return typed.New(), nil }
		f.Append = func(s []T, elems ...T) ([]T, error) { return typed.Append(s, elems...), nil }
	case byFrom:
		f.New = func() (*T, error) { return tried(func() *T { return arena.NewFrom(a, *new(T)) }) }
		f.Append = func(s []T, elems ...T) ([]T, error) {
			return tried(func() []T { return append(arena.Grow(a, s, len(elems)), elems...) })
		}
	}
	return f
}

// suiteArena is an arena as the suite sees it.
func suiteArena(a *arena.Arena, pointers, bools bool) *arenasuite.Arena {
	pairs := func(i int) pair { return pair{int64(i), -int64(i) - 1} }
	threes := func(i int) three { return three{byte(i), byte(i >> 8), byte(i>>13) | 1} }
	s := &arenasuite.Arena{
		Types: []arenasuite.Type{
			funcsOf(a, byFunction, pairs), funcsOf(a, byFrom, pairs), funcsOf(a, byTyped, pairs),
			funcsOf(a, byFunction, threes), funcsOf(a, byFrom, threes),
			funcsOf(a, byTry, func(i int) uint16 { return uint16(i>>13)<<3 | uint16(i&7) | 1<<15 }),
			funcsOf(a, byFunction, func(i int) byte { return byte(1 + i%251) }),
			funcsOf(a, byTyped, func(i int) uint32 { return uint32(i) | 1<<31 }),
			funcsOf(a, byFunction, func(i int) [150]uint64 { return [150]uint64{0: uint64(i), 149: ^uint64(i)} }),
			funcsOf(a, byFunction, func(int) struct{} { return struct{}{} }),
		},
		NewOf: func(t reflect.Type) (any, error) { return tried(func() any { return arena.NewOf(a, t) }) },
		Texts: []func(parts ...string) (string, error){
			func(parts ...string) (string, error) { return arena.String(a, strings.Join(parts, "")), nil },
			func(parts ...string) (string, error) { return arena.String(a, []byte(strings.Join(parts, ""))), nil },
			func(parts ...string) (string, error) { return arena.Concat(a, parts...), nil },
			func(parts ...string) (string, error) { return built(a, parts) },
		},
		Resets: []func(){
			func() { a.Reset(arena.Keep) },
			func() { a.Reset(arena.GiveBack) },
			func() { a.Reset(arena.KeepUpTo(5000)) },
		},
		Checkpoint: func() any { return a.Checkpoint() },
		Rewind:     func(c any) { a.Rewind(c.(arena.Checkpoint)) },
		Free:       a.Free,
		Clone:      func(v any) any { return arena.Clone(v) },
		SetLimit:   a.SetLimit,
		Held:       func() int64 { return a.Stats().Held },
		InUse:      func() int64 { return a.Stats().InUse },
		Uses:       usesOf(a),
		Iterate:    loopsOf(a),
	}
	if bools {
		f := funcsOf(a, byFunction, func(i int) mixed { return mixed{int32(i), true} })
		f.Stale = func(m *mixed) error {
			if b := bits(m.ok); b != 0 && b != 1 || m.n != 0 && b == 0 {
				return fmt.Errorf("it holds a number %d and a bool of the bits %d", m.n, b)
			}
			return nil
		}
		s.Types = append(s.Types, f)
	}
	if pointers {
		for _, w := range []way{byFunction, byTry, byFrom} {
			f := funcsOf(a, w, leafValue)
			f.Inner, f.Stale = innerLeaf(a), func(l *leaf) error { return staleLeaf(l, 2) }
			s.Types = append(s.Types, f)
		}
		s.Types = append(s.Types,
			funcsOf(a, byFunction, func(i int) string { return fmt.Sprint(i) }),
			funcsOf(a, byTyped, func(i int) any { return i }),
			funcsOf(a, byTry, newLeaf))
		s.Holds = holdsOf(a)
	}
	if a != nil && !freehold.HeapMode() {
		s.Owns = a.Owns
	}
	return s
}

func built(a *arena.Arena, parts []string) (string, error) {
	b := arena.NewBuilder(a)
	for i, p := range parts {
		if i%2 == 0 {
			_, _ = b.WriteString(p)
		} else if _, err := b.ReadFrom(strings.NewReader(p)); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func usesOf(a *arena.Arena) map[string]func() {
	if a == nil {
		return nil
	}
	typed, b := arena.Of[pair](a), arena.NewBuilder(a)
	m := sync.OnceValue(func() *arena.Map[int, int] { return arena.NewMap[int, int](a, 0) })
	return map[string]func(){
		"New":          func() { arena.New[leaf](a) },
		"TryNew":       func() { _, _ = arena.TryNew[pair](a) },
		"NewOf":        func() { arena.NewOf(a, reflect.TypeFor[pair]()) },
		"MakeSlice":    func() { arena.MakeSlice[pair](a, 1, 1) },
		"Append":       func() { arena.Append(a, []int{1}, 2) },
		"String":       func() { arena.String(a, "x") },
		"Bytes":        func() { arena.Bytes(a, "x") },
		"Concat":       func() { arena.Concat(a, "x", "y") },
		"NewFrom":      func() { arena.NewFrom(a, leaf{}) },
		"SliceFrom":    func() { arena.SliceFrom(a, []pair{{}}) },
		"Collect":      func() { arena.Collect(a, slices.Values([]int{1})) },
		"Of":           func() { arena.Of[pair](a) },
		"Typed.New":    func() { typed.New() },
		"Typed.Append": func() { typed.Append(nil, pair{}) },
		"Builder":      func() { _, _ = b.WriteString("x") },
		"Owns":         func() { a.Owns(b) },
		"Stats":        func() { a.Stats() },
		"SetLimit":     func() { a.SetLimit(1) },
		"ID":           func() { a.ID() },
		"NewMap":       func() { arena.NewMap[int, int](a, 0) },
		"Map":          func() { m().Set(1, 2) },
		"Put":          func() { new(arena.Pool).Put(a) },
	}
}

// loopsOf are the loops over containers in an arena. The suite ends the arena inside them.
func loopsOf(a *arena.Arena) map[string]func(n int, visit func()) {
	filled := func(n int) *arena.Map[int64, int64] {
		m := arena.NewMap[int64, int64](a, 0)
		for i := range n {
			m.Set(int64(i), -int64(i))
		}
		return m
	}
	return map[string]func(n int, visit func()){
		"Map.All": func(n int, visit func()) {
			for range filled(n).All() {
				visit()
			}
		},
		"Map.Keys, grown and shrunk meanwhile": func(n int, visit func()) {
			m, i := filled(n), int64(0)
			for k := range m.Keys() {
				visit()
				if i++; i < 50 {
					m.Set(k+1000*i, k)
					m.Delete(k)
				}
			}
		},
		"Map.Get": func(n int, visit func()) {
			m := filled(n)
			for i := range n {
				m.Get(int64(i))
				visit()
			}
		},
	}
}

// holdsOf are ways to point from an arena to the Go heap.
func holdsOf(a *arena.Arena) map[string]func(p *arenasuite.Held) {
	return map[string]func(p *arenasuite.Held){
		"pointer":   func(p *arenasuite.Held) { *arena.New[*arenasuite.Held](a) = p },
		"interface": func(p *arenasuite.Held) { *arena.New[any](a) = p },
		"string":    func(p *arenasuite.Held) { *arena.New[*string](a) = &p.Text },
		"slice":     func(p *arenasuite.Held) { arena.MakeSlice[*arenasuite.Held](a, 3, 5)[:5][4] = p },
		"appended":  func(p *arenasuite.Held) { arena.Append(a, arena.MakeSlice[any](a, 2, 2), any(p), any(p)) },
		"large": func(p *arenasuite.Held) {
			s := arena.MakeSlice[[4]*arenasuite.Held](a, 2000, 2000)
			s[0][0], s[1999][3] = p, p
		},
		"closure": func(p *arenasuite.Held) {
			*arena.New[func() *arenasuite.Held](a) = func() *arenasuite.Held { return p }
		},
		"Map": func(p *arenasuite.Held) {
			m := arena.NewMap[any, *arenasuite.Held](a, 0)
			m.Set(p, p)
			m.Set(p.Text, p)
		},
		"Go map": func(p *arenasuite.Held) { *arena.New[map[int]any](a) = map[int]any{1: p} },
	}
}
