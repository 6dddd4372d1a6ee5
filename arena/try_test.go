// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// The functions tryX are X with the error of Try. They are those that other tests need.

// tried is the result of f, or the error of Try.
func tried[T any](f func() T) (v T, err error) {
	err = Try(func() { v = f() })
	return v, err
}

func tryAppend[T any](a *Arena, s []T, elems ...T) ([]T, error) {
	g := s
	err := Try(func() { g = Append(a, s, elems...) })
	return g, err
}

func tryGrow[T any](a *Arena, s []T, n int) ([]T, error) {
	g := s
	err := Try(func() { g = Grow(a, s, n) })
	return g, err
}

func trySliceFrom[T any](a *Arena, s []T) ([]T, error) {
	return tried(func() []T { return SliceFrom(a, s) })
}

func tryNewMap[K comparable, V any](a *Arena, hint int) (*Map[K, V], error) {
	return tried(func() *Map[K, V] { return NewMap[K, V](a, hint) })
}

func trySet[K comparable, V any](m *Map[K, V], key K, value V) error {
	return Try(func() { m.Set(key, value) })
}

// second is the error of a call.
func second[T any](_ T, err error) error { return err }

// newGoMap is UnsafeGoMap for a map of a known type.
func newGoMap[K comparable, V any](a *Arena, hint int) map[K]V {
	m, err := tryGoMap[K, V](a, hint)
	must(err)
	return m
}

func tryGoMap[K comparable, V any](a *Arena, hint int) (map[K]V, error) {
	p, err := a.UnsafeGoMap(UnsafeTypeOf(reflect.TypeFor[map[K]V]()), hint)
	return *unsafex.As[map[K]V](unsafex.PtrOf(&p)), err
}

// needs are the functions that need memory. They use about n bytes, a multiple of 8.
var needs = []struct {
	name string
	use  func(a *Arena, n int)
	// strings: keys of the Map are strings, which off-heap arenas refuse.
	strings bool
}{
	{"NewOf", func(a *Arena, n int) { NewOf(a, bytesType(n)) }, false},
	{"MakeSlice", func(a *Arena, n int) { MakeSlice[int64](a, 0, n/8) }, false},
	{"Append", func(a *Arena, n int) { Append(a, []byte(nil), make([]byte, n)...) }, false},
	{"String", func(a *Arena, n int) { String(a, make([]byte, n)) }, false},
	{"NewFrom", func(a *Arena, n int) {
		if n == 80 {
			NewFrom(a, [80]byte{})
		} else {
			NewFrom(a, [1 << 20]byte{})
		}
	}, false},
	{"SliceFrom", func(a *Arena, n int) { SliceFrom(a, make([]int64, n/8)) }, false},
	{"Grow", func(a *Arena, n int) { Grow(a, []byte(nil), n) }, false},
	{"Bytes", func(a *Arena, n int) { Bytes(a, make([]byte, n)) }, false},
	{"Concat", func(a *Arena, n int) { Concat(a, "", strings.Repeat("x", n)) }, false},
	{"Typed.MakeSlice", func(a *Arena, n int) { Of[int64](a).MakeSlice(0, n/8) }, false},
	{"Typed.Append", func(a *Arena, n int) { Of[byte](a).Append(nil, make([]byte, n)...) }, false},
	{"Builder.Grow", func(a *Arena, n int) { NewBuilder(a).Grow(n) }, false},
	{"NewMap", func(a *Arena, n int) { NewMap[int64, int64](a, n/16) }, false},
	{"Map.Set", func(a *Arena, n int) { NewMap[string, int](a, 0).Set(strings.Repeat("x", n), 1) }, true},
	{"Map.Update", func(a *Arena, n int) { NewMap[string, int](a, 0).Update(strings.Repeat("x", n), plusOne) }, true},
	{"Map.GetOrSet", func(a *Arena, n int) { NewMap[string, int](a, 0).GetOrSet(strings.Repeat("x", n), 1) }, true},
	{"SetBytes", func(a *Arena, n int) { SetBytes(NewMap[string, int](a, 0), make([]byte, n), 1) }, true},
	{"DeepClone", func(a *Arena, n int) { must(second(DeepClone(a, make([]byte, n)))) }, false},
	{"NewFixed", func(_ *Arena, n int) {
		if n != 80 {
			n = math.MaxInt
		}
		NewFixed(n).Free()
	}, false},
}

func bytesType(n int) reflect.Type { return reflect.ArrayOf(n, reflect.TypeFor[byte]()) }

// TestTry: Try returns the error that a function panics with for want of memory, and the arena works
// on.
func TestTry(t *testing.T) {
	for name, make := range map[string]func() *Arena{
		"an arena":          func() *Arena { return NewWith(Options{Limit: 64 << 10}) },
		"a shared arena":    func() *Arena { return NewWith(Options{Limit: 64 << 10, Shared: true}) },
		"an off-heap one":   func() *Arena { return NewOffHeap(Options{Limit: 64 << 10}) },
		"a shared one, too": func() *Arena { return NewOffHeap(Options{Limit: 64 << 10, Shared: true}) },
		"a fixed arena":     func() *Arena { return NewFixed(64 << 10) },
		"the nil arena":     func() *Arena { return nil },
		"one without reuse": func() *Arena { return NewWith(Options{Limit: 64 << 10, NoReuse: true}) },
	} {
		for _, w := range needs {
			a := make()
			if w.strings && a != nil && a.from.outside {
				a.Free()
				continue
			}
			small, large := func() { w.use(a, 80) }, func() { w.use(a, 1<<20) }
			if err := Try(small); err != nil {
				t.Errorf("%s: %s for 80 bytes: %v", name, w.name, err)
			}
			if a == nil {
				continue
			}
			for range 2 {
				if err := Try(large); !isRefusal(err) {
					t.Errorf("%s: %s beyond the limit: error %v", name, w.name, err)
				}
			}
			if v := panicOf(large); !isRefusal(v) {
				t.Errorf("%s: %s beyond the limit: panic %v", name, w.name, v)
			}
			if err := Try(small); err != nil {
				t.Errorf("%s: %s for 80 bytes after a refusal: %v", name, w.name, err)
			}
			a.Free()
		}
	}
}

// TestTryPasses: a panic that is no refusal passes through Try as it is, and so does Goexit.
func TestTryPasses(t *testing.T) {
	freed := NewArena()
	freed.Free()
	other := errors.New("another error")
	for name, f := range map[string]func(){
		"a mistake":    func() { New[int](freed) },
		"an error":     func() { panic(other) },
		"a text":       func() { panic("text") },
		"of Go's":      func() { var none []int; _ = none[len(name(nil))] },
		"Try in a Try": func() { _ = Try(func() { panic(other) }) },
	} {
		first := func(v any) string { // Without the stacks of a debug mode.
			line, _, _ := strings.Cut(fmt.Sprintf("%T %v", v, v), "\n")
			return line
		}
		want := panicOf(f)
		if got := panicOf(func() { _ = Try(f) }); want == nil || first(got) != first(want) {
			t.Errorf("%s: Try passes %v on, want %v", name, got, want)
		}
	}
	ended := make(chan bool)
	go func() {
		defer close(ended)
		_ = Try(runtime.Goexit)
		t.Error("Goexit was stopped")
	}()
	<-ended
	wrapped := fmt.Errorf("while reading: %w", offheap.ErrOutOfMemory)
	if err := Try(func() { panic(wrapped) }); err != wrapped {
		t.Errorf("Try returns %v", err)
	}
}

// name is a text, whose length the compiler does not know.
func name(a *Arena) string { return a.String() }

func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// isRefusal says whether v is an error for want of memory.
func isRefusal(v any) bool {
	err, ok := v.(error)
	return ok && (errors.Is(err, offheap.ErrLimit) || errors.Is(err, offheap.ErrOutOfMemory))
}

func isLimit(v any) bool {
	err, ok := v.(error)
	return ok && errors.Is(err, offheap.ErrLimit)
}

// TestBuilderRefused: a write that finds no memory appends nothing and returns an error, and so do
// all later writes. String panics with that error, so that no program takes the partial text for
// the whole.
func TestBuilderRefused(t *testing.T) {
	a := NewWith(Options{Limit: 64 << 10})
	defer a.Free()
	large := strings.Repeat("x", 1<<20)
	for name, write := range map[string]func(b *Builder) (int64, error){
		"Write":       func(b *Builder) (int64, error) { n, err := b.Write([]byte(large)); return int64(n), err },
		"WriteString": func(b *Builder) (int64, error) { n, err := b.WriteString(large); return int64(n), err },
		"ReadFrom": func(b *Builder) (int64, error) {
			return b.ReadFrom(struct{ io.Reader }{strings.NewReader(large)})
		},
	} {
		b := NewBuilder(a)
		_, _ = b.WriteString("before")
		if n, err := write(b); !errors.Is(err, offheap.ErrLimit) || n > 64<<10 {
			t.Fatalf("%s beyond the limit: %d, %v", name, n, err)
		}
		if n, err := b.WriteString("y"); n != 0 || !errors.Is(err, offheap.ErrLimit) {
			t.Errorf("a write after %s was refused: %d, %v", name, n, err)
		}
		if err := b.WriteByte('y'); !errors.Is(err, offheap.ErrLimit) {
			t.Errorf("WriteByte after %s was refused: %v", name, err)
		}
		if v := panicOf(func() { _ = b.String() }); !isLimit(v) {
			t.Errorf("String after %s was refused: panic %v", name, v)
		}
		b.Reset()
		if _, err := b.WriteString("again"); err != nil || b.String() != "again" {
			t.Errorf("after Reset: %q, %v", b.String(), err)
		}
		a.Reset(GiveBack)
	}
}

// TestResetMode: a number that is no mode is refused, and the arena stays as it is.
func TestResetMode(t *testing.T) {
	for _, a := range []*Arena{NewArena(), NewShared(), NewFixed(100)} {
		s := String(a, "text")
		v, _ := panicOf(func() { a.Reset(Mode(-2)) }).(error)
		if v == nil || !strings.Contains(v.Error(), "mode -2") {
			t.Errorf("Reset with mode -2: panic %v", v)
		}
		if !a.Owns(s) && a.Stats().InUse == 0 {
			t.Error("the refused Reset has freed values")
		}
		a.Free()
	}
}
