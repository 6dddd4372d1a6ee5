// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/freehold-go/freehold/offheap"
)

// A keeper is a reader that keeps the buffers of its Reads, and writes to them in the next Read.
type keeper struct {
	from io.Reader
	kept [][]byte
}

func (k *keeper) Read(p []byte) (int, error) {
	k.spoil()
	n, err := k.from.Read(p)
	k.kept = append(k.kept, p[:cap(p)])
	return n, err
}

func (k *keeper) spoil() {
	for _, p := range k.kept {
		for i := range p {
			p[i] = '!'
		}
	}
}

// TestReadFromKeeper: a reader that keeps the buffer of a Read changes no string with it.
func TestReadFromKeeper(t *testing.T) {
	for _, k := range kinds {
		a := k.make()
		text := strings.Repeat("some text that is read ", 3000)
		b := NewBuilder(a)
		_, _ = b.WriteString("before ")
		r := &keeper{from: iotest.HalfReader(strings.NewReader(text))}
		n, err := b.ReadFrom(r)
		if n != int64(len(text)) || err != nil {
			t.Errorf("%s: %d bytes, error %v", k.name, n, err)
		}
		_, _ = b.WriteString(" behind")
		if r.spoil(); b.String() != "before "+text+" behind" {
			t.Errorf("%s: the reader has changed what was built", k.name)
		}
		a.Free()
	}
}

// TestReadFrom: Builder.ReadFrom reads the same bytes, and returns the same count and error, as
// bytes.Buffer.ReadFrom.
func TestReadFrom(t *testing.T) {
	failure := errors.New("failure")
	for name, make := range map[string]func() io.Reader{
		"nothing":      func() io.Reader { return strings.NewReader("") },
		"strings":      func() io.Reader { return strings.NewReader("abc") },
		"bytes.Buffer": func() io.Reader { return bytes.NewBufferString(strings.Repeat("x", 100_000)) },
		"byte by byte": func() io.Reader { return iotest.OneByteReader(strings.NewReader("some bytes")) },
		"with the end": func() io.Reader { return iotest.DataErrReader(strings.NewReader("some bytes")) },
		"large":        func() io.Reader { return struct{ io.Reader }{strings.NewReader(strings.Repeat("abc", 50_000))} },
		"failure":      func() io.Reader { return iotest.ErrReader(failure) },
		"late failure": func() io.Reader { return io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(failure)) },
	} {
		var want bytes.Buffer
		wantN, wantErr := want.ReadFrom(make())
		a := NewArena()
		b := NewBuilder(a)
		n, err := b.ReadFrom(make())
		if n != wantN || err != wantErr || b.String() != want.String() {
			t.Errorf("%s: %d bytes, error %v; a bytes.Buffer has %d, error %v", name, n, err, wantN, wantErr)
		}
		a.Free()
	}
}

// TestAppendKeeps: where Append finds no memory, the slice is unchanged.
func TestAppendKeeps(t *testing.T) {
	for _, k := range kinds {
		a := k.make()
		s := append(MakeSlice[int64](a, 0, 3), 1, 2, 3)
		a.SetLimit(1)
		got, err := tryAppend(a, s, make([]int64, 2_000_000)...)
		if !errors.Is(err, offheap.ErrLimit) || len(got) != 3 || cap(got) != cap(s) || &got[0] != &s[0] || got[2] != 3 {
			t.Errorf("%s: %d elements, error %v", k.name, len(got), err)
		}
		a.Free()
	}
}

// TestBuilderAfterReset: a Builder that was written to before a Reset panics until its own Reset,
// and one that was not goes on.
func TestBuilderAfterReset(t *testing.T) {
	for _, k := range kinds {
		a := k.make()
		b, fresh := NewBuilder(a), NewBuilder(a)
		_, _ = b.WriteString("old")
		a.Reset(Keep)
		for name, f := range map[string]func(){
			"Builder.String":      func() { _ = b.String() },
			"Builder.Write":       func() { _, _ = b.Write([]byte("x")) },
			"Builder.WriteString": func() { _, _ = b.WriteString("x") },
			"Builder.WriteByte":   func() { _ = b.WriteByte('x') },
			"Builder.Grow":        func() { b.Grow(1) },
			"Builder.ReadFrom":    func() { _, _ = b.ReadFrom(strings.NewReader("x")) },
		} {
			wantPanic(t, k.name+" "+name, f, name, "written to before arena", "was reset", "_test.go:")
		}
		b.Reset()
		_, _ = b.WriteString("new")
		_, _ = fresh.WriteString("new")
		if b.String() != "new" || fresh.String() != "new" {
			t.Errorf("%s: %q and %q after Reset", k.name, b.String(), fresh.String())
		}
		m := NewMap[int, int](a, 0)
		m.Set(1, 1)
		a.Reset(Keep)
		wantPanic(t, k.name, func() { m.Get(1) }, "Map.Get on a Map of arena", "was reset")
		a.Free()
		wantPanic(t, k.name, func() { _ = b.String() }, "Builder.String on arena", "was freed")
	}
}

// TestMapNamesTypes: where an off-heap or fixed arena refuses a Map, the message names the Map as
// the program does.
func TestMapNamesTypes(t *testing.T) {
	a := NewOffHeap(Options{})
	defer a.Free()
	f := NewFixed(1 << 10)
	defer f.Free()
	if a.from.single {
		t.Skip("all values are on the Go heap")
	}
	for _, c := range []struct {
		make func()
		want string
	}{
		{func() { NewMap[string, int](a, 0) }, "NewMap of a Map[string, int], with keys of string in an off-heap arena"},
		{func() { NewMap[int, node](a, 0) }, "NewMap of a Map[int, arena.node], with values of arena.node in an off-heap arena"},
		{func() { _, _ = tryNewMap[int, bool](f, 0) }, "NewMap of a Map[int, bool], with values of bool in a fixed arena"},
	} {
		v := caught(c.make)
		if err, ok := v.(error); !ok || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "mapSlot") {
			t.Errorf("panic %v, want one with %q", v, c.want)
		}
	}
}
