// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

type order struct {
	id, price, amount uint64
	next, prev        Handle[order]
	level             [2]uint32
}

type linked struct {
	name string
	to   *linked
	h    Handle[linked]
}

var account = offheap.NewPurpose("pool's tests")

func TestSlabRetiresSlots(t *testing.T) {
	var s Slab[int]
	first, _ := s.New()
	s.slot(0).gen = retiredGen - 3
	s.Delete(handleOf[int](0, retiredGen-3)) // The generation is even now: free.
	last, _ := s.New()
	if last.Index() != 0 || last.Uint64()>>32 != retiredGen-1 {
		t.Fatalf("the last handle of slot 0 is %#x", last.Uint64())
	}
	if !s.Delete(last) || s.Get(last) != nil || s.Get(first) != nil {
		t.Fatal("a handle of a retired slot leads to a value")
	}
	if h, _ := s.New(); h.Index() != 1 {
		t.Fatalf("New returns slot %d, which is retired", h.Index())
	}
	var file bytes.Buffer
	var back Slab[int]
	_, _ = s.WriteTo(&file)
	if _, err := back.ReadFrom(&file); err != nil {
		t.Fatal(err)
	}
	if h, _ := back.New(); h.Index() != 2 {
		t.Fatalf("after ReadFrom New returns slot %d", h.Index())
	}
}

// TestSlabContinues: a restored Slab returns the handles that the original would return.
func TestSlabContinues(t *testing.T) {
	var s, back Slab[order]
	var hs []Handle[order]
	for range 3000 {
		h, _ := s.New()
		hs = append(hs, h)
	}
	for i := 0; i < len(hs); i += 3 {
		s.Delete(hs[i])
	}
	var file bytes.Buffer
	_, _ = s.WriteTo(&file)
	if _, err := back.ReadFrom(&file); err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		a, _ := s.New()
		b, _ := back.New()
		if a != b {
			t.Fatalf("the original returns %#x, the restored one %#x", a.Uint64(), b.Uint64())
		}
	}
}

// TestSlabFileDamage flips each byte and cuts the file at each length.
func TestSlabFileDamage(t *testing.T) {
	var s Slab[[3]uint16]
	var hs []Handle[[3]uint16]
	for i := range 20 {
		h, p := s.New()
		p[0] = uint16(i)
		hs = append(hs, h)
	}
	s.Delete(hs[3])
	s.Delete(hs[9])
	var file bytes.Buffer
	if _, err := s.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	whole := file.Bytes()
	try := func(b []byte) error {
		back := NewSlab[[3]uint16](SlabOptions{Purpose: account})
		n, err := back.ReadFrom(bytes.NewReader(b))
		if err != nil && (back.Len() != 0 || back.used != 0 || n > int64(len(b)) || !strings.HasPrefix(err.Error(), "pool: Slab.ReadFrom: ")) {
			t.Fatalf("%v after %d bytes, and the Slab has changed", err, n)
		}
		back.Free()
		return err
	}
	offheap.CheckLeaks(t)
	if err := try(whole); err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		if err := try(whole[:i]); !errors.Is(err, io.ErrUnexpectedEOF) && i > 0 {
			t.Fatalf("cut at %d: %v", i, err)
		}
		b := bytes.Clone(whole)
		b[i] ^= 0x41
		if try(b) == nil {
			t.Fatalf("a flip at %d is not found", i)
		}
	}
}

// TestSlabFileLies writes files whose checksums fit and whose contents do not.
func TestSlabFileLies(t *testing.T) {
	for _, c := range []struct {
		name, want string
		lie        func(s *Slab[order])
	}{
		{"free list in a circle", "leads to slot", func(s *Slab[order]) { s.slot(1).next = 2 }},
		{"free list beyond the slots", "leads to slot", func(s *Slab[order]) { s.free = 1000 }},
		{"free list through a value", "is in the list", func(s *Slab[order]) { s.free = 1 }},
		{"free list too short", "are not in the list", func(s *Slab[order]) { s.free = 0 }},
		{"generation 0", "has generation 0", func(s *Slab[order]) { s.slot(1).gen = 0 }},
		{"the last generation", "has generation 4294967295", func(s *Slab[order]) { s.slot(0).gen = math.MaxUint32 }},
		{"number of values", "slots have values", func(s *Slab[order]) { s.count++ }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s, back Slab[order]
			for range 4 {
				s.New()
			}
			for _, h := range []uint32{1, 2} {
				s.Delete(handleOf[order](h, 1))
			}
			c.lie(&s)
			var file bytes.Buffer
			_, _ = s.WriteTo(&file)
			if _, err := back.ReadFrom(&file); err == nil || !strings.Contains(err.Error(), c.want) || back.used != 0 {
				t.Fatalf("%v, want an error with %q", err, c.want)
			}
		})
	}
}

// TestSlabLayout reads a file with another T, and writes values that no file can have.
func TestSlabLayout(t *testing.T) {
	var s Slab[order]
	s.New()
	var file bytes.Buffer
	_, _ = s.WriteTo(&file)
	type other struct {
		id, price, amount uint64
		next, prev        Handle[order]
		level             [2]int32
	}
	type renamed struct {
		number, price, amount uint64
		next, prev            Handle[order]
		level                 [2]uint32
	}
	if _, err := new(Slab[other]).ReadFrom(bytes.NewReader(file.Bytes())); !errors.Is(err, ErrLayout) || !strings.Contains(err.Error(), "val.level[0]") {
		t.Errorf("another type of a field: %v", err)
	}
	if _, err := new(Slab[renamed]).ReadFrom(bytes.NewReader(file.Bytes())); err != nil {
		t.Errorf("another name of a field: %v", err)
	}
	swapped := NewSlab[order](SlabOptions{})
	text := bytes.Replace(file.Bytes(), []byte("little-endian"), []byte("BIG-endian..."), 1)
	if _, err := swapped.ReadFrom(bytes.NewReader(text)); err == nil {
		t.Error("another byte order is not found")
	}
	for _, err := range []error{writeErr[*int](), writeErr[struct{ a, b bool }](), writeErr[string](), writeErr[struct {
		offheap.UnsafeSelfContained
		p *int
	}]()} {
		if !errors.Is(err, ErrLayout) {
			t.Errorf("%v, want ErrLayout", err)
		}
	}
}

func writeErr[T any]() error {
	var s Slab[T]
	_, err := s.WriteTo(io.Discard)
	return err
}

// brokenWriter refuses the k-th write.
type brokenWriter struct{ k int }

func (w *brokenWriter) Write(b []byte) (int, error) {
	if w.k--; w.k < 0 {
		return len(b) / 2, io.ErrClosedPipe
	}
	return len(b), nil
}

func TestSlabWriteErrors(t *testing.T) {
	var s Slab[order]
	for range 2500 { // Three chunks.
		s.New()
	}
	for k := range 7 {
		if _, err := s.WriteTo(&brokenWriter{k}); !errors.Is(err, io.ErrClosedPipe) {
			t.Fatalf("refused at write %d: %v", k, err)
		}
	}
	if _, err := s.WriteTo(&brokenWriter{7}); err != nil {
		t.Fatal(err)
	}
}

// TestSlabRefused refuses each chunk in turn.
func TestSlabRefused(t *testing.T) {
	p := offheap.NewPurpose("pool's tests, refused")
	const slab = 1 << 20 // Room for some 18 chunks.
	var file bytes.Buffer
	full := new(Slab[order])
	for range 40 * slotsOf[order]() {
		full.New()
	}
	_, _ = full.WriteTo(&file)
	for n := int64(1); n <= 3; n++ {
		offheap.CheckLeaks(t)
		p.SetLimit(n * slab)
		s := NewSlab[order](SlabOptions{Purpose: p})
		var hs []Handle[order]
		err := offheap.Try(func() {
			for range 100 * slotsOf[order]() {
				h, v := s.New()
				v.id = uint64(len(hs))
				hs = append(hs, h)
			}
		})
		if !errors.Is(err, offheap.ErrLimit) || s.Len() != len(hs) {
			t.Fatalf("%v with %d values of %d", err, s.Len(), len(hs))
		}
		for i, h := range hs {
			if s.Get(h).id != uint64(i) {
				t.Fatalf("value %d is lost after the refusal", i)
			}
		}
		s.Delete(hs[0])
		if h, _ := s.New(); h.Index() != 0 {
			t.Fatal("a free slot is not used after the refusal")
		}
		s.Free()
		back := NewSlab[order](SlabOptions{Purpose: p})
		if n < 2 {
			if _, err := back.ReadFrom(bytes.NewReader(file.Bytes())); !errors.Is(err, offheap.ErrLimit) || back.Len() != 0 {
				t.Fatalf("ReadFrom: %v", err)
			}
		}
		back.Free()
	}
	p.SetLimit(0)
}

func TestSlabTooManySlots(t *testing.T) {
	var s Slab[byte]
	s.New()
	s.used = math.MaxUint32
	if err := offheap.Try(func() { s.New() }); !errors.Is(err, offheap.ErrOutOfMemory) {
		t.Fatal(err)
	}
}

// TestHandle is the form of handles.
func TestHandle(t *testing.T) {
	var s Slab[order]
	for i := range uint32(3) {
		h, _ := s.New()
		if h.Index() != i || h.IsNil() || HandleFromUint64[order](h.Uint64()) != h {
			t.Fatalf("handle %#x of slot %d", h.Uint64(), i)
		}
	}
	var none Handle[order]
	if !none.IsNil() || s.Get(none) != nil || s.Delete(none) {
		t.Fatal("the zero Handle leads to a value")
	}
	var two Slab[order]
	two.New()
	if two.Get(HandleFromUint64[order](1<<32|2)) != nil || two.Get(HandleFromUint64[order](1<<32)) == nil {
		t.Fatal("a handle of another Slab is compared with something else than slot and generation")
	}
}

// TestSlabKeepsNothing: a deleted value keeps nothing alive, and large values are cleared.
func TestSlabKeepsNothing(t *testing.T) {
	var s Slab[linked]
	h, v := s.New()
	v.to = &linked{}
	s.Delete(h)
	if v.to != nil {
		t.Fatal("a deleted value keeps its pointer")
	}
	var large Slab[[5000]uint64]
	hl, p := large.New()
	p[4999] = 1
	large.Delete(hl)
	if p[4999] != 0 {
		t.Fatal("a large deleted value is not cleared")
	}
}

// TestSlabAllEnds: a loop that makes a value in each round sees no slot that was used later.
func TestSlabAllEnds(t *testing.T) {
	var s Slab[order]
	for range 64 { // The new values are in the next word of the bitmap.
		s.New()
	}
	rounds := 0
	for range s.All() {
		s.New()
		if rounds++; rounds > 64 {
			t.Fatal("All goes on with the values that its loop makes")
		}
	}
}

// TestSlabTyped: values that share memory with their own type alone can lie off the Go heap.
func TestSlabTyped(t *testing.T) {
	offheap.CheckLeaks(t)
	s := NewSlab[struct {
		n  uint64
		ok bool
	}](SlabOptions{Purpose: account})
	defer s.Free()
	h, v := s.New()
	v.ok = true
	if s.Get(h) != v {
		t.Error("a value with a bool is not found")
	}
	self := NewSlab[struct {
		offheap.UnsafeSelfContained
		p *int
	}](SlabOptions{Purpose: account})
	defer self.Free()
	if h, v := self.New(); self.Get(h) != v {
		t.Error("a self-contained value is not found")
	}
}
