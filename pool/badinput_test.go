// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/offheap"
)

// underSanitizer says whether the build changes what allocates.
func underSanitizer() bool { return sanitize.Race || sanitize.Enabled }

// panicOf is the text of the panic of f, "" if there is none.
func panicOf(f func()) (text string) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case error:
			text = v.Error()
		case string:
			text = v
		}
	}()
	f()
	return ""
}

func wantPanic(t *testing.T, want string, f func()) {
	t.Helper()
	if got := panicOf(f); got == "" || !strings.Contains(got, want) {
		t.Errorf("the panic is %q, want one with %q", got, want)
	}
}

func TestBadPutNil(t *testing.T) {
	var p Pool[thing]
	p.Put(nil)
	if s := p.Stats(); s.Idle != 0 || s.TooMany != 0 {
		t.Errorf("%+v", s)
	}
}

func TestBadNew(t *testing.T) {
	fail := "the panic of New"
	p := Pool[thing]{New: func() *thing {
		if fail != "" {
			panic(fail)
		}
		return nil
	}}
	wantPanic(t, "the panic of New", func() { p.Get() })
	fail = ""
	wantPanic(t, "pool: Get: New of a Pool of pool.thing returned nil", func() { p.Get() })
	p.New = func() *thing { return &thing{n: 5} }
	if p.Get().n != 5 {
		t.Error("the Pool does not work on")
	}
	q := Pool[plain]{New: func() *plain { return nil }, OffHeap: account}
	wantPanic(t, "New and OffHeap", func() { q.Get() })
	r := Pool[thing]{OffHeap: account}
	wantPanic(t, "thing.to", func() { r.Get() })
}

type plain struct{ n [3]uint64 }

func TestBadReset(t *testing.T) {
	fail := true
	p := Pool[thing]{Reset: func(*thing) {
		if fail {
			panic("the panic of Reset")
		}
	}}
	x := p.Get()
	wantPanic(t, "the panic of Reset", func() { p.Put(x) })
	if s := p.Stats(); s.Idle != 0 {
		t.Errorf("an object whose Reset panicked is idle: %+v", s)
	}
	fail = false
	lend(&p, 3)
	if s := p.Stats(); s.Idle != 3 {
		t.Errorf("the Pool does not work on: %+v", s)
	}
}

func TestBadCopies(t *testing.T) {
	p := &Pool[thing]{}
	lend(p, 1)
	q := new(Pool[thing])
	copyOf(q, p)
	mistake(t, "use of a copy", func() { q.Drain() })
	mistake(t, "use of a copy", func() {
		for range 100 {
			q.Get()
		}
	})
	var b, c Buffer
	_, _ = b.WriteString("text")
	copyOf(&c, &b)
	for _, f := range []func(){func() { _, _ = c.WriteString("x") }, func() { c.Len() }, func() { _ = c.String() }, func() { c.Share() }, c.Free} {
		mistake(t, "use of a copy", f)
	}
	f := b.Share()
	var g Frame
	copyOf(&g, f)
	mistake(t, "use of a copy", g.Release)
	mistake(t, "use of a zero value", new(Frame).Release)
	f.Release()
	var s, u Slab[order]
	h, _ := s.New()
	copyOf(&u, &s)
	for _, f := range []func(){func() { u.New() }, func() { u.Delete(h) }, u.Free, func() { _, _ = u.ReadFrom(nil) }, u.Clear} {
		mistake(t, "use of a copy", f)
	}
	if s.Get(h) == nil || s.Len() != 1 {
		t.Error("the copy has changed the Slab")
	}
}

//go:noinline
func shareIt(b *Buffer) *Frame { return b.Share() }

//go:noinline
func releaseIt(f *Frame) { f.Release() }

func TestBadUseAfterShare(t *testing.T) {
	var b Buffer
	_, _ = b.WriteString("text")
	f := shareIt(&b)
	for name, use := range map[string]func(){
		"Write": func() { _, _ = b.Write(nil) }, "WriteString": func() { _, _ = b.WriteString("x") }, "WriteByte": func() { _ = b.WriteByte(1) },
		"WriteRune": func() { _, _ = b.WriteRune('x') }, "ReadFrom": func() { _, _ = b.ReadFrom(nil) }, "Grow": func() { b.Grow(1) }, "Len": func() { b.Len() },
		"Cap": func() { b.Cap() }, "Available": func() { b.Available() }, "AvailableBuffer": func() { b.AvailableBuffer() }, "Reset": b.Reset, "Free": b.Free,
		"Truncate": func() { b.Truncate(0) }, "Bytes": func() { b.Bytes() }, "String": func() { _ = b.String() }, "All": func() {
			for range b.All() {
			}
		}, "ReadAt": func() { _, _ = b.ReadAt(nil, 0) }, "Read": func() { _, _ = b.Read(nil) }, "Next": func() { b.Next(1) }, "Peek": func() { _, _ = b.Peek(1) },
		"ReadByte": func() { _, _ = b.ReadByte() }, "ReadRune": func() { _, _, _ = b.ReadRune() }, "UnreadByte": func() { _ = b.UnreadByte() },
		"UnreadRune": func() { _ = b.UnreadRune() }, "ReadBytes": func() { _, _ = b.ReadBytes(1) }, "ReadString": func() { _, _ = b.ReadString(1) },
		"WriteTo": func() { _, _ = b.WriteTo(io.Discard) }, "Share": func() { b.Share() },
	} {
		e := mistake(t, "use after Share", use)
		both(t, e, "TestBadUseAfterShare", "shareIt")
		if e.Op != "Buffer."+name {
			t.Errorf("a call of %s is named %s", name, e.Op)
		}
	}
	f.Release()
}

func TestBadUseAfterRelease(t *testing.T) {
	var b Buffer
	_, _ = b.WriteString("text")
	f := b.Share()
	releaseIt(f)
	for name, use := range map[string]func(){
		"Release": f.Release, "Retain": func() { f.Retain() }, "Len": func() { f.Len() }, "CRC32C": func() { f.CRC32C() },
		"WriteTo": func() { _, _ = f.WriteTo(io.Discard) }, "ReadAt": func() { _, _ = f.ReadAt(nil, 0) }, "All": func() {
			for range f.All() {
			}
		},
	} {
		e := mistake(t, "use after the last Release", use)
		both(t, e, "TestBadUseAfterRelease", "releaseIt")
		if e.Op != "Frame."+name {
			t.Errorf("a call of %s is named %s", name, e.Op)
		}
	}
}

func TestBadHandles(t *testing.T) {
	var s, other Slab[order]
	h, _ := s.New()
	other.New()
	for _, n := range []uint64{0, 1, 1 << 32 << 1, 1<<32 | 1, 5<<32 | 77, 1<<32 | 1<<31, 1<<64 - 1} {
		if s.Get(HandleFromUint64[order](n)) != nil {
			t.Errorf("the handle %#x leads to a value", n)
		}
	}
	if other.Get(h) == nil {
		t.Error("a handle of another Slab finds nothing where slot and generation are equal, and the doc says otherwise")
	}
	s.Clear()
	if s.Get(h) != nil || s.Delete(h) || s.Len() != 0 {
		t.Error("a handle leads to a value after Clear")
	}
}

func TestBadUseAfterFree(t *testing.T) {
	s := NewSlab[order](SlabOptions{Purpose: account})
	h, _ := s.New()
	s.Free()
	s.Free()
	if s.Get(h) != nil || s.Delete(h) || s.Len() != 0 {
		t.Error("a handle leads to a value after Free")
	}
	for range s.All() {
		t.Error("All shows a value after Free")
	}
	s.Clear()
	for _, f := range []func(){func() { s.New() }, func() { _, _ = s.ReadFrom(nil) }, func() { _, _ = s.WriteTo(io.Discard) }} {
		both(t, mistake(t, "use after Free", f), "TestBadUseAfterFree", "TestBadUseAfterFree")
	}
}

func TestBadSlabs(t *testing.T) {
	wantPanic(t, "linked.name", func() { NewSlab[linked](SlabOptions{Purpose: account}) })
	var s Slab[order]
	s.New()
	var file bytes.Buffer
	_, _ = s.WriteTo(&file)
	mistake(t, "a Slab in use", func() { _, _ = s.ReadFrom(&file) })
	var empty, back Slab[order]
	file.Reset()
	_, _ = empty.WriteTo(&file)
	if _, err := back.ReadFrom(&file); err != nil || back.Len() != 0 {
		t.Errorf("an empty Slab: %v", err)
	}
	if _, err := back.ReadFrom(&brokenReader{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("an error of the reader: %v", err)
	}
}

// TestBadSlabReaders: a reader panics, makes a value in the Slab, or frees it.
func TestBadSlabReaders(t *testing.T) {
	var full Slab[order]
	for range 2500 { // Three chunks.
		full.New()
	}
	var file bytes.Buffer
	_, _ = full.WriteTo(&file)
	for name, act := range map[string]func(s *Slab[order]){
		"the panic of Read": func(*Slab[order]) { panic("the panic of Read") },
		"a Slab in use":     func(s *Slab[order]) { s.New() },
		"use after Free":    func(s *Slab[order]) { s.Free() },
	} {
		offheap.CheckLeaks(t)
		s := NewSlab[order](SlabOptions{Purpose: account})
		r := bytes.NewReader(file.Bytes())
		wantPanic(t, name, func() {
			_, _ = s.ReadFrom(funcReader(func(p []byte) (int, error) {
				if r.Len() < file.Len()/2 && s.used == 0 && s.freed == 0 {
					act(s)
				}
				return r.Read(p)
			}))
		})
		if s.Len() > 1 {
			t.Errorf("%s: the Slab has values of the file", name)
		}
		s.Free()
	}
}

type funcReader func(p []byte) (int, error)

func (f funcReader) Read(p []byte) (int, error) { return f(p) }

type brokenReader struct{}

func (*brokenReader) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestBadCounts(t *testing.T) {
	var b Buffer
	defer b.Free()
	_, _ = b.WriteString("text")
	wantPanic(t, "Grow: negative count -1", func() { b.Grow(-1) })
	wantPanic(t, "Truncate: 5 of 4 bytes", func() { b.Truncate(5) })
	wantPanic(t, "Truncate: -1 of 4 bytes", func() { b.Truncate(-1) })
	wantPanic(t, "Next: negative count", func() { b.Next(-1) })
	wantPanic(t, "Peek: negative count", func() { _, _ = b.Peek(-1) })
	wantPanic(t, "invalid count from Read", func() { _, _ = b.ReadFrom(lying{-1}) })
	wantPanic(t, "invalid count from Read", func() { _, _ = b.ReadFrom(lying{1 << 30}) })
	wantPanic(t, "invalid Write count", func() { _, _ = b.WriteTo(lying{5}) })
	if _, err := b.ReadAt(nil, -1); err == nil {
		t.Error("a negative offset is no error")
	}
	if b.String() != "text" {
		t.Errorf("the Buffer has %q", b.String())
	}
	wantPanic(t, "the writer has read or dropped bytes", func() { _, _ = b.WriteTo(resetting{&b}) })
	if b.Len() != 0 || b.String() != "" {
		t.Errorf("the Buffer has %d bytes after Reset", b.Len())
	}
}

// resetting is a writer that resets the Buffer that writes to it.
type resetting struct{ b *Buffer }

func (r resetting) Write(p []byte) (int, error) {
	r.b.Reset()
	return len(p), nil
}

// lying returns a count that cannot be.
type lying struct{ n int }

func (l lying) Read([]byte) (int, error)  { return l.n, nil }
func (l lying) Write([]byte) (int, error) { return l.n, nil }
