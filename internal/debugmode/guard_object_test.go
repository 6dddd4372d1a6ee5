// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// TestObjectFaults: accesses beside the value, and after its end, fault; the pages that the
// collector gets in the end are accessible.
func TestObjectFaults(t *testing.T) {
	needPages(t)
	page := vmem.PageSize()
	for _, sampled := range []bool{false, true} {
		for _, c := range []struct{ size, align uintptr }{
			{0, 1}, {1, 1}, {3, 8}, {64, 64}, {page - 1, 1}, {page, page}, {page + 8, 8}, {5 * page, 8}, {200_000, 8},
		} {
			g, left := newGuards(vmem.System(), 1000, 1<<30)
			p, ok := g.newObject(c.size, c.align, false, sampled)
			if !ok {
				t.Fatalf("%+v: no guarded memory: %s", c, said.take())
			}
			addr := unsafex.PtrAddr(p)
			if addr%c.align != 0 {
				t.Errorf("%+v: address %#x", c, addr)
			}
			for i, b := range unsafex.SliceOf[byte](p, int(c.size), int(c.size)) {
				if b != 0 {
					t.Fatalf("%+v: byte %d is %#x", c, i, b)
				}
			}
			s := g.slotOf(addr)
			around := []uintptr{s.end(), s.outerEnd - 1}
			if s.outer < s.first {
				around = append(around, s.outer, s.first-1)
			} else if !sampled {
				t.Errorf("%+v: no page before the value", c)
			}
			for _, a := range around {
				if got := faultAt(a, true); got != a {
					t.Errorf("%+v: a write %d bytes from the value faulted at %#x, want %#x", c, int(a-addr), got, a)
				}
			}
			g.freeObject(p)
			for _, a := range append(around, addr, s.first, s.end()-1) {
				if got := faultAt(a, false); got != a {
					t.Errorf("%+v: a read %d bytes from the freed value faulted at %#x, want %#x", c, int(a-addr), got, a)
				}
			}
			if g.live != 0 || g.held != 0 || g.liveMaps != 0 || g.objects.held == 0 || len(*left) != 0 {
				t.Errorf("%+v: after the free %d live, %d bytes, %d mappings, %d bytes in quarantine", c, g.live, g.held, g.liveMaps, g.objects.held)
			}
			g.releaseObject()
			for a := s.outer; a < s.outerEnd; a += page {
				if got := faultAt(a, true); got != 0 {
					t.Errorf("%+v: the collector gets a page that faults", c)
				}
			}
			if g.objects.held != 0 || len(*left) != 1 || g.slotOf(addr) != nil {
				t.Errorf("%+v: after the quarantine %d bytes, %d addresses", c, g.objects.held, len(*left))
			}
			runtime.KeepAlive(p)
		}
	}
}

// TestObjectCanary looks for damage on the pages of a value.
func TestObjectCanary(t *testing.T) {
	needPages(t)
	for _, typed := range []bool{false, true} {
		p, ok := NewObject(3, 8, typed, false)
		if !ok {
			t.Fatal(said.take())
		}
		for _, at := range []int{3, 7, -1, -100} {
			b := unsafex.As[byte](unsafex.Add(p, uintptr(at)))
			*b ^= 2
			if got, ok := CheckObject(p); ok || got != at {
				t.Errorf("CheckObject returned %d, %v; want %d", got, ok, at)
			}
			*b ^= 2
		}
		if _, ok := CheckObject(p); !ok {
			t.Error("damaged although it was undone")
		}
		FreeObject(p)
	}
}

// TestObjectSystemFails fails each change of a protection in turn: a refused object counts nowhere,
// and what cannot be made accessible again never becomes the collector's.
func TestObjectSystemFails(t *testing.T) {
	needPages(t)
	for n := 1; ; n++ {
		said.take()
		fake := &failing{Memory: vmem.System(), at: n}
		g, _ := newGuards(fake, 1000, 1<<30)
		p, ok := g.newObject(100, 8, false, false)
		if !ok {
			if g.live != 0 || g.held != 0 || g.liveMaps != 0 || !strings.Contains(said.take(), "no guarded memory") {
				t.Fatalf("call %d: live %d, held %d after a refusal", n, g.live, g.held)
			}
			continue
		}
		s := g.slotOf(unsafex.PtrAddr(p))
		g.freeObject(p)
		if fake.calls >= n {
			if g.live != 1 || len(g.objects.quarantine) != 0 || s.keep == nil || !strings.Contains(said.take(), "could not be made inaccessible") {
				t.Fatalf("call %d: live %d, %d in quarantine after a free that the system refused", n, g.live, len(g.objects.quarantine))
			}
			continue
		}
		g.releaseObject()
		if fake.calls >= n {
			if len(g.objects.stuck) != 1 || s.keep == nil || !strings.Contains(said.take(), "cannot be used again") {
				t.Fatalf("call %d: %d values are kept from the collector", n, len(g.objects.stuck))
			}
			continue
		}
		if s.keep != nil || said.take() != "" {
			t.Error("a released value is kept")
		}
		runtime.KeepAlive(p)
		return
	}
}

// failing fails one call that changes pages.
type failing struct {
	vmem.Memory
	calls, at int
}

var errInjected = errors.New("injected")

func (f *failing) fail() error {
	if f.calls++; f.calls == f.at {
		return errInjected
	}
	return nil
}

func (f *failing) Protect(addr, size uintptr, p vmem.Protection) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Memory.Protect(addr, size, p)
}

func (f *failing) Purge(addr, size uintptr) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Memory.Purge(addr, size)
}
