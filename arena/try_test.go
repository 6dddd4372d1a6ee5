// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

// twins are the functions that need memory, each with its twin that returns an error. Both use about n
// bytes, a multiple of 8.
var twins = []struct {
	name  string
	plain func(a *Arena, n int)
	try   func(a *Arena, n int) error
	// strings: keys of the Map are strings, which off-heap arenas refuse.
	strings bool
}{
	{"New", func(a *Arena, n int) { NewOf(a, bytesType(n)) },
		func(a *Arena, n int) error { _, err := TryNewOf(a, bytesType(n)); return err }, false},
	{"MakeSlice", func(a *Arena, n int) { MakeSlice[int64](a, 0, n/8) },
		func(a *Arena, n int) error { _, err := TryMakeSlice[int64](a, 0, n/8); return err }, false},
	{"Append", func(a *Arena, n int) { Append(a, []byte(nil), make([]byte, n)...) },
		func(a *Arena, n int) error { _, err := TryAppend(a, []byte(nil), make([]byte, n)...); return err }, false},
	{"String", func(a *Arena, n int) { String(a, make([]byte, n)) },
		func(a *Arena, n int) error { _, err := TryString(a, make([]byte, n)); return err }, false},
	{"NewFrom", func(a *Arena, n int) {
		_ = fromLarge(n, func(v [1 << 20]byte) error { NewFrom(a, v); return nil }, func(v [80]byte) error { NewFrom(a, v); return nil })
	},
		func(a *Arena, n int) error {
			return fromLarge(n, func(v [1 << 20]byte) error { _, err := TryNewFrom(a, v); return err }, func(v [80]byte) error { _, err := TryNewFrom(a, v); return err })
		}, false},
	{"SliceFrom", func(a *Arena, n int) { SliceFrom(a, make([]int64, n/8)) },
		func(a *Arena, n int) error { _, err := TrySliceFrom(a, make([]int64, n/8)); return err }, false},
	{"Grow", func(a *Arena, n int) { Grow(a, []byte(nil), n) },
		func(a *Arena, n int) error { _, err := TryGrow(a, []byte(nil), n); return err }, false},
	{"Insert", func(a *Arena, n int) { Insert(a, []byte(nil), 0, make([]byte, n)...) },
		func(a *Arena, n int) error { _, err := TryInsert(a, []byte(nil), 0, make([]byte, n)...); return err }, false},
	{"Sprintf", func(a *Arena, n int) { Sprintf(a, "%s", strings.Repeat("x", n)) },
		func(a *Arena, n int) error { _, err := TrySprintf(a, "%s", strings.Repeat("x", n)); return err }, false},
	{"Bytes", func(a *Arena, n int) { Bytes(a, make([]byte, n)) },
		func(a *Arena, n int) error { _, err := TryBytes(a, make([]byte, n)); return err }, false},
	{"Concat", func(a *Arena, n int) { Concat(a, "", strings.Repeat("x", n)) },
		func(a *Arena, n int) error { _, err := TryConcat(a, "", strings.Repeat("x", n)); return err }, false},
	{"Typed.MakeSlice", func(a *Arena, n int) { Of[int64](a).MakeSlice(0, n/8) },
		func(a *Arena, n int) error { _, err := Of[int64](a).TryMakeSlice(0, n/8); return err }, false},
	{"Typed.Append", func(a *Arena, n int) { Of[byte](a).Append(nil, make([]byte, n)...) },
		func(a *Arena, n int) error { _, err := Of[byte](a).TryAppend(nil, make([]byte, n)...); return err }, false},
	{"Builder.Grow", func(a *Arena, n int) { NewBuilder(a).Grow(n) },
		func(a *Arena, n int) error { return NewBuilder(a).TryGrow(n) }, false},
	{"NewMap", func(a *Arena, n int) { NewMap[int64, int64](a, n/16) },
		func(a *Arena, n int) error { _, err := TryNewMap[int64, int64](a, n/16); return err }, false},
	{"Map.Set", func(a *Arena, n int) { NewMap[string, int](a, 0).Set(strings.Repeat("x", n), 1) },
		func(a *Arena, n int) error { return NewMap[string, int](a, 0).TrySet(strings.Repeat("x", n), 1) }, true},
	{"Map.Update", func(a *Arena, n int) { NewMap[string, int](a, 0).Update(strings.Repeat("x", n), plusOne) },
		func(a *Arena, n int) error {
			return NewMap[string, int](a, 0).TryUpdate(strings.Repeat("x", n), plusOne)
		}, true},
	{"Map.GetOrSet", func(a *Arena, n int) { NewMap[string, int](a, 0).GetOrSet(strings.Repeat("x", n), 1) },
		func(a *Arena, n int) error {
			_, _, err := NewMap[string, int](a, 0).TryGetOrSet(strings.Repeat("x", n), 1)
			return err
		}, true},
	{"SetBytes", func(a *Arena, n int) { SetBytes(NewMap[string, int](a, 0), make([]byte, n), 1) },
		func(a *Arena, n int) error { return TrySetBytes(NewMap[string, int](a, 0), make([]byte, n), 1) }, true},
	{"DeepClone", func(a *Arena, n int) { DeepClone(a, make([]byte, n)) },
		func(a *Arena, n int) error { _, err := TryDeepClone(a, make([]byte, n)); return err }, false},
}

// fromLarge calls large or small with an array of n bytes.
func fromLarge(n int, large func([1 << 20]byte) error, small func([80]byte) error) error {
	if n == 80 {
		return small([80]byte{})
	}
	return large([1 << 20]byte{})
}

func bytesType(n int) reflect.Type { return reflect.ArrayOf(n, reflect.TypeFor[byte]()) }

// TestTryTwins: a twin returns the error that the other one panics with, and the arena works on.
func TestTryTwins(t *testing.T) {
	for name, make := range map[string]func() *Arena{
		"an arena":          func() *Arena { return NewWith(Options{Limit: 64 << 10}) },
		"a shared arena":    func() *Arena { return NewWith(Options{Limit: 64 << 10, Shared: true}) },
		"an off-heap one":   func() *Arena { return NewOffHeap(Options{Limit: 64 << 10}) },
		"a shared one, too": func() *Arena { return NewOffHeap(Options{Limit: 64 << 10, Shared: true}) },
		"a fixed arena":     func() *Arena { return NewFixed(64 << 10) },
		"the nil arena":     func() *Arena { return nil },
		"one without reuse": func() *Arena { return NewWith(Options{Limit: 64 << 10, NoReuse: true}) },
	} {
		for _, w := range twins {
			a := make()
			if w.strings && a != nil && a.rec.kind.offHeap() {
				a.Free()
				continue
			}
			if err := w.try(a, 80); err != nil {
				t.Errorf("%s: Try of %s for 80 bytes: %v", name, w.name, err)
			}
			w.plain(a, 80)
			if a == nil {
				continue
			}
			for range 2 {
				if err := w.try(a, 1<<20); !errors.Is(err, offheap.ErrLimit) {
					t.Errorf("%s: Try of %s beyond the limit: error %v", name, w.name, err)
				}
			}
			if v := panicOf(func() { w.plain(a, 1<<20) }); !isLimit(v) {
				t.Errorf("%s: %s beyond the limit: panic %v", name, w.name, v)
			}
			if err := w.try(a, 80); err != nil {
				t.Errorf("%s: Try of %s for 80 bytes after a refusal: %v", name, w.name, err)
			}
			a.Free()
		}
	}
}

func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

func isLimit(v any) bool {
	err, ok := v.(error)
	return ok && errors.Is(err, offheap.ErrLimit)
}

// TestTryResults: a twin returns the same values as the other one.
func TestTryResults(t *testing.T) {
	for _, a := range []*Arena{nil, NewArena(), NewShared()} {
		for _, want := range []string{"", "some text"} {
			if s, err := TryString(a, want); s != want || err != nil {
				t.Errorf("TryString: %q, %v", s, err)
			}
			if s, err := TryString(a, []byte(want)); s != want || err != nil {
				t.Errorf("TryString of bytes: %q, %v", s, err)
			}
			if b, err := TryBytes(a, want); string(b) != want || cap(b) != len(want) || b == nil || err != nil {
				t.Errorf("TryBytes: %q, %v", b, err)
			}
			if s, err := TryConcat(a, want, "", want); s != want+want || err != nil {
				t.Errorf("TryConcat: %q, %v", s, err)
			}
		}
		m := NewMap[string, int](a, 0)
		if err := TrySetBytes(m, []byte("key"), 7); err != nil || m.Len() != 1 {
			t.Errorf("TrySetBytes: %v", err)
		}
		if v, ok := m.Get("key"); v != 7 || !ok {
			t.Errorf("TrySetBytes has set %d, %t", v, ok)
		}
		s, err := Of[int](a).TryMakeSlice(1, 2)
		if len(s) != 1 || cap(s) != 2 || err != nil {
			t.Errorf("Typed.TryMakeSlice: %v, %v", s, err)
		}
		if s, err = Of[int](a).TryAppend(s, 1, 2); len(s) != 3 || s[2] != 2 || err != nil {
			t.Errorf("Typed.TryAppend: %v, %v", s, err)
		}
		a.Free()
	}
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
