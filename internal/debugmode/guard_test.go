// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"errors"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// TestMain keeps the lines for the operator for the tests that look at it.
func TestMain(m *testing.M) {
	stderr = &said
	os.Exit(m.Run())
}

// heard is a writer for several goroutines.
type heard struct {
	mu   sync.Mutex
	text strings.Builder
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

// take returns the text written since the last call.
func (h *heard) take() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.text.String()
	h.text.Reset()
	return s
}

var said heard

func needPages(t testing.TB) {
	t.Helper()
	if !vmem.Supported {
		t.Skip("this system has no pages to guard")
	}
}

// newGuards returns guarded pages of a test's own, and the addresses that left the quarantine.
func newGuards(mem vmem.Memory, maps int, bytes int64) (*guards, *[]uintptr) {
	left := new([]uintptr)
	return &guards{mem: mem, maps: maps, limit: bytes, left: func(a uintptr) { *left = append(*left, a) }}, left
}

// faultAt reads a byte, or writes it, and returns the address at which that faulted, 0 if it did
// not.
func faultAt(addr uintptr, write bool) (fault uintptr) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if e, ok := recover().(interface{ Addr() uintptr }); ok {
			fault = e.Addr()
		}
	}()
	p := unsafex.At[byte](addr)
	if write {
		*p = 1
	} else {
		sink = *p
	}
	return 0
}

var sink byte

func TestGuardFaults(t *testing.T) {
	needPages(t)
	page := vmem.PageSize()
	for _, c := range []struct{ size, align uintptr }{
		{0, 1}, {1, 1}, {3, 1}, {3, 8}, {8, 8}, {64, 64}, {100, 16}, {page - 1, 1}, {page, page}, {page + 1, 1}, {5*page + 24, 8}, {40, page},
	} {
		addr, ok := GuardAlloc(c.size, c.align)
		if !ok {
			t.Fatalf("%+v: no guarded memory: %s", c, said.take())
		}
		if addr%c.align != 0 {
			t.Errorf("%+v: address %#x", c, addr)
		}
		for i := range c.size {
			if p := unsafex.At[byte](addr + i); *p != 0 {
				t.Fatalf("%+v: byte %d is %#x", c, i, *p)
			} else {
				*p = 7
			}
		}
		end := (addr + c.size + page - 1) &^ (page - 1)
		first := end - max(1, (c.size+page-1)/page)*page
		if end-addr-c.size >= c.align {
			t.Errorf("%+v: %d bytes between the block and the end of its page", c, end-addr-c.size)
		}
		for _, a := range []uintptr{end, end + page, end + gapPages*page - 1, first - 1, first - page, first - gapPages*page} {
			if got := faultAt(a, false); got != a {
				t.Errorf("%+v: reading %d bytes from the block faulted at %#x, want %#x", c, int(a-addr), got, a)
			}
		}
		if n, ok := CheckCanary(addr); !ok {
			t.Errorf("%+v: damage at %d in a block that nobody overran", c, n)
		}
		if !Guarded(addr) || Guarded(addr+1) {
			t.Errorf("%+v: Guarded is wrong", c)
		}
		GuardFree(addr)
		for _, write := range []bool{false, true} {
			for _, a := range []uintptr{addr - 1, addr, addr + c.size} {
				if got := faultAt(a, write); got != a {
					t.Errorf("%+v: access after the free at %d faulted at %#x, want %#x", c, int(a-addr), got, a)
				}
			}
		}
		if !Guarded(addr) {
			t.Errorf("%+v: not in quarantine", c)
		}
	}
}

func TestCanary(t *testing.T) {
	needPages(t)
	for _, c := range []struct {
		size, align uintptr
		at          int
	}{{3, 8, 3}, {3, 8, 7}, {3, 8, -1}, {64, 8, -1}, {64, 8, -100}, {5000, 16, 5007}, {0, 8, -8}} {
		addr, ok := GuardAlloc(c.size, c.align)
		if !ok {
			t.Fatal(said.take())
		}
		p := unsafex.At[byte](addr + uintptr(c.at))
		*p ^= 1
		if at, ok := CheckCanary(addr); ok || at != c.at {
			t.Errorf("%+v: CheckCanary returned %d, %v", c, at, ok)
		}
		*p ^= 1
		if _, ok := CheckCanary(addr); !ok {
			t.Errorf("%+v: damaged although it was undone", c)
		}
		GuardFree(addr)
	}
}

func TestGuardMisuse(t *testing.T) {
	needPages(t)
	live, _ := GuardAlloc(64, 8)
	freed, _ := GuardAlloc(64, 8)
	GuardFree(freed)
	for name, f := range map[string]func(){
		"free inside":        func() { GuardFree(live + 8) },
		"free of foreign":    func() { GuardFree(unsafex.Addr(new(int))) },
		"free twice":         func() { GuardFree(freed) },
		"check after a free": func() { CheckCanary(freed) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
	GuardFree(live) // The panics have changed nothing, and hold no lock.
}

// TestGuardBudgets fills both budgets and looks at what happens then, and afterwards.
func TestGuardBudgets(t *testing.T) {
	needPages(t)
	page := int64(vmem.PageSize())
	said.take()
	g, _ := newGuards(vmem.System(), 2*mapsPerBlock, 1<<30)
	a, ok1 := g.alloc(10, 1)
	_, ok2 := g.alloc(10, 1)
	_, ok3 := g.alloc(10, 1)
	if !ok1 || !ok2 || ok3 {
		t.Fatalf("two blocks of mappings: got %v %v %v", ok1, ok2, ok3)
	}
	g.alloc(10, 1)
	want := "freehold: the budget of guarded memory is used up (4 mappings, 1073741824 bytes; 2 blocks guarded): further blocks come unguarded\n"
	if got := said.take(); got != want || g.refused != 2 {
		t.Errorf("said %q, %d refused; want %q once for 2", got, g.refused, want)
	}
	g.free(a)
	if _, ok := g.alloc(10, 1); !ok {
		t.Error("nothing after a free")
	}

	g, left := newGuards(vmem.System(), 1000, 5*page)
	if _, ok := g.alloc(uintptr(5*page)+1, 1); ok {
		t.Error("a block beyond the budget")
	}
	a, _ = g.alloc(uintptr(2*page), 1)
	b, _ := g.alloc(uintptr(2*page), 1)
	last, _ := g.alloc(1, 1)
	if _, ok := g.alloc(1, 1); ok {
		t.Error("live blocks beyond the budget")
	}
	g.free(a)
	g.free(b)
	g.free(last)
	if len(*left) != 0 {
		t.Error("the quarantine let go without need")
	}
	c, ok := g.alloc(1, 1)
	if !ok || len(*left) != 1 || (*left)[0] != a {
		t.Errorf("left the quarantine: %#x, want the oldest, %#x", *left, a)
	}
	if d, _ := g.alloc(uintptr(page)+8, 1); d != a+uintptr(page)-8 {
		t.Errorf("%#x, want the address that left the quarantine, %#x", d, a)
	}
	if g.held > 5*page || g.liveHeld != 3*page || g.live != 2 {
		t.Errorf("held %d, live %d", g.held, g.live)
	}
	g.free(c)
}

// TestGuardSystemFails fails each call to the system in turn: allocating must say so and leave
// nothing counted.
func TestGuardSystemFails(t *testing.T) {
	needPages(t)
	for n := 1; ; n++ {
		fake := fakemem.New(vmem.System())
		fake.FailAt(n)
		g, _ := newGuards(fake, 1000, 1<<30)
		said.take()
		addr, ok := g.alloc(100, 8)
		inAlloc := fake.Injected()
		if !ok && (g.live != 0 || g.held != 0 || inAlloc == 0 || !strings.Contains(said.take(), "no guarded memory")) {
			t.Fatalf("call %d: live %d, held %d after a refusal", n, g.live, g.held)
		}
		if ok {
			g.free(addr)
		}
		inFree := fake.Injected()
		if inFree > inAlloc && (g.live != 1 || len(g.quarantine) != 0 || !strings.Contains(said.take(), "could not be made inaccessible")) {
			t.Fatalf("call %d: live %d, in quarantine %d after a free that the system refused", n, g.live, len(g.quarantine))
		}
		b, again := g.alloc(100, 8)
		if again == (fake.Injected() > inFree) || again && b == addr {
			t.Fatalf("call %d: a later allocation gave %#x, %v", n, b, again)
		}
		if v := fake.Violations(); v != nil {
			t.Fatal(errors.Join(v...))
		}
		if fake.Injected() == 0 {
			return
		}
	}
}

// TestGuardConcurrent lets goroutines allocate, check and free with a budget that is exhausted at
// times.
func TestGuardConcurrent(t *testing.T) {
	needPages(t)
	g := &guards{mem: vmem.System(), maps: 64 * mapsPerBlock, limit: 100 * int64(vmem.PageSize()), left: func(uintptr) {}}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(worker)))
			var mine []uintptr
			for range 300 {
				size := rng.UintN(3 * uint(vmem.PageSize()))
				if addr, ok := g.alloc(uintptr(size), 8); ok {
					for i := range uintptr(size) {
						*unsafex.At[byte](addr + i) = byte(worker)
					}
					mine = append(mine, addr)
				}
				if len(mine) > rng.IntN(30) {
					addr := mine[0]
					mine = mine[1:]
					s := g.slotOfLocked(addr)
					for i := range s.size {
						if *unsafex.At[byte](addr + i) != byte(worker) {
							t.Errorf("block %#x of %d bytes bears another's byte at %d", addr, s.size, i)
							return
						}
					}
					if at, ok := g.check(addr); !ok {
						t.Errorf("canary damaged at %d", at)
					}
					g.free(addr)
				}
			}
			for _, addr := range mine {
				g.free(addr)
			}
		})
	}
	wg.Wait()
	if g.live != 0 || g.held > g.limit {
		t.Errorf("live %d, held %d at the end", g.live, g.held)
	}
}

func (g *guards) slotOfLocked(addr uintptr) guardSlot {
	g.mu.Lock()
	defer g.mu.Unlock()
	return *g.slotOf(addr)
}

// TestTypedAddressesStayTyped: what served a type serves no other, and beside a block lie valid
// bools.
func TestTypedAddressesStayTyped(t *testing.T) {
	needPages(t)
	page := int64(vmem.PageSize())
	g, _ := newGuards(vmem.System(), 100, 2*page)
	owner := map[uintptr]uintptr{} // of pages
	again := 0
	for i := range uintptr(60) {
		typ := i % 3
		addr, ok := g.allocFor(typ, 24, 8)
		if !ok {
			t.Fatal("no guarded memory")
		}
		first := addr &^ uintptr(page-1)
		if old, known := owner[first]; known {
			again++
			if old != typ {
				t.Fatalf("page %#x served type %d and serves %d now", first, old, typ)
			}
		}
		owner[first] = typ
		want := Canary
		if typ != 0 {
			want = TypedPattern
		}
		if c := *unsafex.At[byte](addr - 1); c != want {
			t.Fatalf("beside a block of type %d lies %#x, want %#x", typ, c, want)
		}
		if _, whole := g.check(addr); !whole {
			t.Fatalf("the canary of a block of type %d is not seen to be whole", typ)
		}
		g.free(addr)
	}
	if again == 0 {
		t.Error("no address was used again: the test saw nothing")
	}
}

// TestTypedValuesKeepTheirPlaces: whatever the length and the alignment of a block with a type, its values
// lie where values of the type lay.
func TestTypedValuesKeepTheirPlaces(t *testing.T) {
	needPages(t)
	page := int64(vmem.PageSize())
	const size = 12
	g, _ := newGuards(vmem.System(), 100, 2*page)
	var stale []uintptr
	again := 0
	for i := range uintptr(200) {
		n := 1 + i%5
		addr, ok := g.allocFor(1, n*size, 4<<(i%7))
		if !ok {
			t.Fatal("no guarded memory")
		}
		for _, old := range stale {
			if old/uintptr(page) != addr/uintptr(page) {
				continue
			}
			again++
			if (max(old, addr)-min(old, addr))%size != 0 {
				t.Fatalf("%d values at %#x lie across those that were at %#x", n, addr, old)
			}
		}
		stale = append(stale, addr)
		g.free(addr)
	}
	if again == 0 {
		t.Error("no address was used again: the test saw nothing")
	}
}

// TestShortAddressSpace: quarantined addresses serve again where the system gives no more.
func TestShortAddressSpace(t *testing.T) {
	needPages(t)
	fake := &fakemem.Fake{}
	g, left := newGuards(fake, 100, 1<<30)
	first, _ := g.alloc(1, 1)
	g.free(first)
	g.regions[0].used = g.regions[0].end // As if others had taken the rest.
	fake.FailFrom(1, vmem.OpReserve)
	defer fake.Heal()
	addr, ok := g.alloc(1, 1)
	if !ok || addr != first || len(*left) != 1 {
		t.Errorf("got %#x, %v; want %#x, which was in quarantine", addr, ok, first)
	}
}
