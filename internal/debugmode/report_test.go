// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// explained runs f and returns the report of the fault that it met.
func explained(t *testing.T, f func()) (r Report) {
	t.Helper()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		e, ok := recover().(interface{ Addr() uintptr })
		if !ok {
			t.Fatal("no fault")
		}
		if r, ok = Explain(e.Addr()); !ok {
			t.Fatalf("nothing is known of %#x", e.Addr())
		}
	}()
	f()
	return Report{}
}

// The functions whose names the stacks must show.

//go:noinline
func reader(addr uintptr) { sink = *unsafex.At[byte](addr) }

//go:noinline
func copier(addr, n uintptr) { copy(make([]byte, n), unsafex.Bytes(addr, n)) }

//go:noinline
func allocator(t *testing.T, size, align uintptr) uintptr {
	addr, ok := GuardAlloc(size, align)
	if !ok {
		t.Fatal("no guarded memory: " + said.take())
	}
	Add(Block{Addr: addr, Size: size, Owner: "offheap", Type: "[]byte", Alloc: Callers(0), AllocBy: Goroutine()})
	return addr
}

//go:noinline
func freer(addr uintptr) {
	Freed(addr, "Free", 0)
	GuardFree(addr)
}

func TestExplain(t *testing.T) {
	needPages(t)
	page := vmem.PageSize()
	live, freed := allocator(t, 64, 8), allocator(t, 64, 8)
	var wg sync.WaitGroup
	wg.Go(func() { freer(freed) })
	wg.Wait()
	arena := Block{Owner: "arena", Arena: 12, Type: "main.node", Size: 48, Alloc: Callers(0), FreeOp: "Reset"}
	tomb := NewTomb(arena)
	for _, c := range []struct {
		name string
		f    func()
		want string // a pattern for the whole
	}{
		{"use after Free", func() { reader(freed + 16) }, `^freehold: use after Free: access 16 bytes into a block of 64 bytes \(\[\]byte, offheap\) that was freed
  accessed by goroutine \d+:
    \S+/debugmode\.reader
        \S+report_test\.go:\d+
(?s:.*)  allocated by goroutine \d+:
    \S+/debugmode\.allocator
(?s:.*)  freed, by offheap\.Free:
    \S+/debugmode\.freer
(?s:.*)  What to do: Free a block after its last use, .*\.
$`},
		{"copy", func() { copier(freed+1, 8) }, `(?s)^freehold: use after Free: access 1 byte into .*\n  accessed by goroutine \d+:\n    \S+/debugmode\.copier\n`},
		{"overflow", func() { reader(live + 64) }, `(?s)^freehold: overflow: access right behind a block of 64 bytes \(\[\]byte, offheap\)\n.*debugmode\.reader.*debugmode\.allocator`},
		{"overflow by a page", func() { reader(live + 64 + page) }, `^freehold: overflow: access 4096 bytes behind a block of 64 bytes`},
		{"underflow", func() { reader(live - page) }, `(?s)^freehold: underflow: access 4096 bytes before a block of 64 bytes \(\[\]byte, offheap\)\n.*What to do`},
		{"use after Reset", func() { reader(tomb + 100) }, `(?s)^freehold: use after Reset: access through a pointer out of a block of 48 bytes \(main.node, arena 12\) that was given up\n` +
			`.*debugmode\.reader.*allocated:\n.*freed, by Reset of arena 12:\n    \S+TestExplain\n`},
	} {
		got := explained(t, c.f).String()
		if page != 4096 {
			got = strings.ReplaceAll(got, count(uint64(page), "byte"), "4096 bytes")
		}
		if !regexp.MustCompile(c.want).MatchString(got) {
			t.Errorf("%s:\n%s\nwant %s", c.name, got, c.want)
		}
		if strings.Contains(got, "runtime.") {
			t.Errorf("%s: calls of the runtime in\n%s", c.name, got)
		}
	}
	if r, ok := Explain(unsafex.Addr(t)); ok {
		t.Errorf("of an address of the Go heap is known:\n%s", r)
	}
	if r, _ := Explain(freed); r.Access != "" {
		t.Errorf("a stack of an access where there was none:\n%s", r)
	}
}

func TestMisuseReport(t *testing.T) {
	b := Block{Addr: 0x1000, Size: 1, Owner: "offheap", Alloc: Callers(0), AllocBy: 3, Free: Callers(0), FreeBy: 4, FreeOp: "Free"}
	r := Misuse("double free", "the "+b.String()+" was freed before", "freed again", 0x1000, b, 0)
	want := `(?s)^freehold: double free: the block of 1 byte \(offheap\) was freed before\n  freed again by goroutine \d+:\n    \S+TestMisuseReport\n` +
		`.*  allocated by goroutine 3:\n.*  freed by goroutine 4, by offheap\.Free:\n    \S+TestMisuseReport\n`
	if !regexp.MustCompile(want).MatchString(r.String()) {
		t.Errorf("got\n%s", r)
	}
	if r.Error() != strings.TrimSuffix(r.String(), "\n") {
		t.Errorf("Error differs from String: %q", r.Error())
	}
}

func TestTombs(t *testing.T) {
	needPages(t)
	a, b := NewTomb(Block{FreeOp: "Free"}), NewTomb(Block{FreeOp: "Rewind"})
	if a == b || a%1024 != 0 || a == 0 {
		t.Fatalf("tombs %#x and %#x", a, b)
	}
	for _, off := range []uintptr{0, 1, tombWindow - tombFront - 1} {
		for _, write := range []bool{false, true} {
			if got := faultAt(a+off, write); got != a+off {
				t.Errorf("access at %d faulted at %#x, want %#x", off, got, a+off)
			}
		}
		if x, ok := Find(a + off); !ok || x.FreeOp != "Free" || x.Addr != a {
			t.Errorf("Find(tomb+%d) = %+v, %v", off, x, ok)
		}
	}
	if x, _ := Find(b); x.FreeOp != "Rewind" {
		t.Errorf("Find = %+v", x)
	}
}

// TestTombRange lets the system refuse, and uses all windows.
func TestTombRange(t *testing.T) {
	needPages(t)
	fake := fakemem.New(vmem.System())
	fake.FailAt(1)
	r := tombRange{mem: fake, wanted: 8 * leastTombs}
	first := r.take()
	if first == 0 || r.count != leastTombs {
		t.Fatalf("after one refusal: tomb %#x of %d", first, r.count)
	}
	seen := map[uintptr]bool{first: true}
	for range leastTombs - 1 {
		seen[r.take()] = true
	}
	if again := r.take(); len(seen) != leastTombs || again != first {
		t.Errorf("%d different tombs, and then %#x; want %d, and the first, %#x", len(seen), again, leastTombs, first)
	}
	fake.FailFrom(1)
	said.take()
	r = tombRange{mem: fake, wanted: 8 * leastTombs}
	if a, b := r.take(), r.take(); a != 0 || b != 0 {
		t.Errorf("tombs %#x and %#x without address space", a, b)
	}
	if got := said.take(); strings.Count(got, "they become nil: ") != 1 {
		t.Errorf("said %q", got)
	}
}

// TestStackBound fills a table of stacks.
func TestStackBound(t *testing.T) {
	said.take()
	tab := stackTable{limit: 2}
	var list []Stack
	for i := range uintptr(4) {
		list = append(list, tab.intern([maxFrames]uintptr{i + 1}, 1))
	}
	if list[0] == 0 || list[1] == 0 || list[2] != 0 || list[3] != 0 || tab.lost.Load() != 2 {
		t.Errorf("stacks %v of a table of two, %d lost", list, tab.lost.Load())
	}
	if again := tab.intern([maxFrames]uintptr{1}, 1); again != list[0] {
		t.Error("a full table has forgotten what it knew")
	}
	if got := said.take(); strings.Count(got, "2 different stacks are known") != 1 {
		t.Errorf("said %q", got)
	}
}

func TestStack(t *testing.T) {
	s := Callers(0)
	if again := func() Stack { return Callers(1) }(); again == s {
		t.Error("stacks of two lines are one")
	}
	if !strings.HasPrefix(s.String(), "    github.com/freehold-go/freehold/internal/debugmode.TestStack\n        ") {
		t.Errorf("got\n%s", s)
	}
	var stacks [2]Stack
	for i := range stacks {
		stacks[i] = Callers(0)
	}
	if stacks[0] != stacks[1] {
		t.Error("the same stack has two numbers")
	}
	if Stack(0).String() != "" || Stack(1<<31).String() != "" {
		t.Error("a stack that never was has a text")
	}
	if Goroutine() == 0 {
		t.Error("the goroutine has no number")
	}
}
