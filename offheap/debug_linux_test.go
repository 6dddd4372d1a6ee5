// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/checks/testenv/modes"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// inMode runs the calling test in a process of its own with FREEHOLD set to the words. It returns
// true there.
func inMode(t *testing.T, words string) bool {
	t.Helper()
	if freehold.Modes().Heap {
		t.Skip("the debug modes do not reach blocks of the Go heap")
	}
	return modes.InChild(t, words)
}

// inModes runs f as a subtest in each of the modes.
func inModes(t *testing.T, f func(t *testing.T), modes ...string) {
	testenv.MisusesMemory(t)
	for _, m := range modes {
		t.Run(m, func(t *testing.T) {
			if inMode(t, m) {
				f(t)
			}
		})
	}
}

const allModes = "guard,leaks,pointers"

//go:noinline
func allocatesHere(n int) []byte { return Alloc(n) }

//go:noinline
func freesHere(b []byte) { Free(b) }

//go:noinline
func freesAgain(b []byte) { Free(b) }

// wantText wants all parts in the text, in that order.
func wantText(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, p := range parts {
		i := strings.Index(rest, p)
		if i < 0 {
			t.Fatalf("no %q, or not in that place, in\n%s", p, text)
		}
		rest = rest[i+len(p):]
	}
}

// TestReportHasStacks: a double free is told with where the block was allocated and freed, by the
// program's own functions.
func TestReportHasStacks(t *testing.T) {
	testenv.MisusesMemory(t)
	inModes(t, func(t *testing.T) {
		b := allocatesHere(64)
		freesHere(b)
		e := wantMisuse(t, "second free", "double free", func() { freesAgain(b) })
		wantText(t, e.Error(), "freehold: double free: Free of a block of 64 bytes ([]byte, offheap) that was freed already\n",
			"  found in offheap.Free, called", "freesAgain", "  allocated", "allocatesHere", "  freed", ", by offheap.Free:\n", "freesHere", "What to do: ")
		for what, s := range map[string]string{"allocatesHere": e.Allocated, "freesHere": e.Freed, "freesAgain": e.Here} {
			first, _, _ := strings.Cut(s, "\n")
			if !strings.Contains(first, what) {
				t.Errorf("the stack of %s begins with %q:\n%s", what, first, s)
			}
		}
		p := New[flags]()
		at, size := unsafe.Offsetof(p.N), unsafe.Sizeof(*p)
		e = wantMisuse(t, "a field", "interior pointer", func() { Delete(&p.N) })
		wantText(t, e.Error(), fmt.Sprintf("freehold: interior pointer: Delete of an address %d bytes into a block of %d bytes (offheap.flags, offheap)\n", at, size), "TestReportHasStacks", "What to do: ")
		Delete(p)
		e = wantMisuse(t, "a field of a freed value", "interior pointer", func() { Delete((*int64)(unsafe.Add(unsafe.Pointer(p), at))) }) // &p.N would read.
		wantText(t, e.Error(), fmt.Sprintf("%d bytes into a block of %d bytes (offheap.flags, offheap) that was freed already", at, size))
		mine := make([]byte, 10)
		e = wantMisuse(t, "Go memory", "foreign pointer", func() { freesHere(mine) })
		wantText(t, e.Error(), "freehold: foreign pointer: Free of 0x", "freesHere", "What to do: ")
	}, "guard", "leaks", "pointers", allModes)
}

// faults runs f, and wants an access in it to fault; it returns the report.
func faults(t *testing.T, f func()) debugmode.Report {
	t.Helper()
	debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(false)
	var r debugmode.Report
	func() {
		defer func() {
			t.Helper()
			e, ok := recover().(interface{ Addr() uintptr })
			if !ok {
				t.Fatal("no fault")
			}
			r, ok = debugmode.Explain(e.Addr())
			if !ok {
				t.Fatalf("nothing is known of %#x", e.Addr())
			}
		}()
		f()
	}()
	return r
}

var sink byte

// TestGuard: accesses after a free and beyond a page fault, and are explained; those beside a block
// on its own page are found at its free.
func TestGuard(t *testing.T) {
	testenv.MisusesMemory(t)
	inModes(t, func(t *testing.T) {
		b := allocatesHere(100)
		freesHere(b)
		wantText(t, faults(t, func() { sink = b[16] }).String(), "freehold: use after Free: access 16 bytes into a block of 100 bytes ([]byte, offheap) that was freed\n",
			"TestGuard", "allocated", "allocatesHere", "freed", "freesHere")
		wantText(t, faults(t, func() { b[0] = 1 }).String(), "use after Free: access at the start of")

		full := Alloc(os.Getpagesize())
		behind := unsafe.Slice(&full[0], len(full)+1)
		wantText(t, faults(t, func() { sink = behind[len(full)] }).String(), "freehold: overflow: access right behind a block of")
		before := unsafex.At[byte](addrOf(full) - 1)
		wantText(t, faults(t, func() { sink = *before }).String(), "freehold: underflow: access 1 byte before a block of")
		Free(full)

		odd := Alloc(61)
		unsafe.Slice(&odd[0], 62)[61] = 7
		wantText(t, wantMisuse(t, "odd", "damaged canary", func() { Free(odd) }).Error(), "freehold: damaged canary: a byte right behind a block of 61 bytes")
		unsafe.Slice(&odd[0], 62)[61] = debugmode.Canary
		unsafex.Bytes(addrOf(odd)-3, 1)[0] = 7
		wantText(t, Check().Error(), "a byte 3 bytes before a block of 61 bytes")
		unsafex.Bytes(addrOf(odd)-3, 1)[0] = debugmode.Canary
		Free(odd)

		p := New[flags]()
		if !debugmode.Guarded(addrOf(unsafe.Slice((*byte)(unsafe.Pointer(p)), 1))) {
			t.Error("a value with bools is not guarded")
		}
		Delete(p)
		n := (*int64)(unsafe.Add(unsafe.Pointer(p), unsafe.Offsetof(p.N))) // &p.N reads p under the race detector.
		wantText(t, faults(t, func() { *n++ }).String(), fmt.Sprintf("use after Delete: access %d bytes into a block of %d bytes (offheap.flags, offheap)", unsafe.Offsetof(p.N), unsafe.Sizeof(*p)))

		old := Alloc(100)
		b = Realloc(old, 50)
		faults(t, func() { old[0]++ })
		Free(b)
	}, "guard", allModes)
}

// TestGuardBudget: past the budget blocks come unguarded, and work.
func TestGuardBudget(t *testing.T) {
	inModes(t, func(t *testing.T) {
		var blocks [][]byte
		guarded := 0
		for range 50 {
			b := Alloc(10)
			blocks = append(blocks, b)
			if debugmode.Guarded(addrOf(b)) {
				guarded++
			}
		}
		if guarded == 0 || guarded == len(blocks) {
			t.Errorf("%d of %d blocks are guarded", guarded, len(blocks))
		}
		for _, b := range blocks {
			Free(b)
			wantMisuse(t, "second", "double free", func() { Free(b) })
		}
		if n := ReadStats().InUse; n != 0 {
			t.Errorf("%d bytes are in use", n)
		}
	}, "guard,guardmaps=20")
}

// TestPoison: fresh and freed memory bears the patterns, and canaries and writes after a free are
// found.
func TestPoison(t *testing.T) {
	testenv.MisusesMemory(t)
	inModes(t, func(t *testing.T) {
		for _, n := range []int{1, 61, 64, 5000, 200_000} {
			b := AllocUninit(n)
			if _, whole := unpainted(addrOf(b), uintptr(n), debugmode.PoisonFresh); !whole {
				t.Errorf("%d bytes that are not initialised: % x", n, b[:min(n, 16)])
			}
			if z := Alloc(n); !allZero(z) {
				t.Errorf("%d bytes of Alloc are not zero", n)
			} else {
				Free(z)
			}
			for _, over := range []int{1, 8} {
				wide := unsafe.Slice(&b[0], n+over)
				was := wide[n+over-1]
				wide[n+over-1] = 0
				where := "right behind"
				if over > 1 {
					where = "7 bytes behind"
				}
				wantText(t, Check().Error(), "damaged canary: a byte "+where+" a block of ")
				wantMisuse(t, "overflow", "damaged canary", func() { Free(b) })
				wide[n+over-1] = was
			}
			if err := Check(); err != nil {
				t.Errorf("all is well again, but: %v", err)
			}
			Free(b)
			if _, whole := unpainted(addrOf(b), uintptr(n), debugmode.PoisonFreed); !whole {
				t.Errorf("%d bytes after their free: % x", n, b[:min(n, 16)])
			}
			b[n/2]++
			var m *MisuseError
			if err := Check(); !errors.As(err, &m) || m.Kind != "write after Free" || m.Addr != addrOf(b)+uintptr(n/2) {
				t.Errorf("a write after the free: %v", err)
			}
			if err := Check(); err != nil {
				t.Errorf("a write after a free is told twice: %v", err)
			}
		}
		p := New[flags]()
		Delete(p)
		if on := debugmode.TypedPattern == 1; p.A != on || p.B != debugmode.TypedPattern || p.C != on {
			t.Errorf("a freed value is %+v; its bools must be valid", *p)
		}
	}, "guard,guardmaps=1", "guard,guardmaps=1,leaks", "guard,guardmaps=1,pointers")
}

// TestQuarantineIsChecked: a write after a free is told when the block leaves the quarantine, by
// the free that comes then.
func TestQuarantineIsChecked(t *testing.T) {
	testenv.MisusesMemory(t)
	if !inMode(t, "guard,guardmaps=1,guardbytes=64K") {
		return
	}
	bad := allocatesHere(64)
	freesHere(bad)
	bad[3] = 0
	for range 10_000 {
		b := Alloc(64)
		if v := caught(func() { Free(b) }); v != nil {
			wantText(t, v.(*MisuseError).Error(), "freehold: write after Free: byte 3 of a block of 64 bytes ([]byte, offheap) that was freed was written\n",
				"allocatesHere", "freesHere")
			wantMisuse(t, "what the panic was not about", "double free", func() { Free(b) })
			return
		}
	}
	t.Error("nothing was told")
}

// TestQuarantineIsCheckedInTurn: a write after a free is told by one of the next frees, long before
// the block would leave the quarantine.
func TestQuarantineIsCheckedInTurn(t *testing.T) {
	testenv.MisusesMemory(t)
	if !inMode(t, "guard,guardmaps=1") {
		return
	}
	const blocks = 1000
	var list [blocks][]byte
	for i := range list {
		list[i] = allocatesHere(64)
	}
	for _, b := range list {
		freesHere(b)
	}
	for _, i := range []int{0, 499, blocks - 1} {
		list[i][3] = 0
		told := false
		for range 2 * blocks / looksPerFree {
			b := Alloc(8)
			if v := caught(func() { Free(b) }); v != nil {
				wantText(t, v.(*MisuseError).Error(), "freehold: write after Free: byte 3 of a block of 64 bytes ([]byte, offheap) that was freed was written\n",
					"allocatesHere", "freesHere")
				told = true
				break
			}
		}
		if !told {
			t.Errorf("nothing was told of block %d in %d frees", i, 2*blocks/looksPerFree)
		}
	}
}

// TestQuarantineYields: blocks in quarantine are released if memory is short.
func TestQuarantineYields(t *testing.T) {
	if !inMode(t, "guard,guardmaps=1") {
		return
	}
	std.start()
	freesHere(Alloc(1 << 20))
	if !std.serving().releaseOldest() || std.serving().releaseOldest() {
		t.Error("one block is in quarantine")
	}
}

type holder struct {
	N    int32
	List [3]struct {
		A uint32
		P uintptr
	}
}

var static int

//go:noinline
func onHeap() *[64]int { return new([64]int) }

// TestPointers: addresses of the Go heap off it are found, by field; others are not.
func TestPointers(t *testing.T) {
	inModes(t, func(t *testing.T) {
		v := onHeap()
		h := New[holder]()
		h.List[1].P = uintptr(unsafe.Pointer(&v[5]))
		wantText(t, Check().Error(), fmt.Sprintf("freehold: heap pointer in off-heap memory: offheap.holder.List[1].P, %d bytes into a block of %d bytes (offheap.holder, offheap), holds 0x",
			uintptr(unsafe.Pointer(&h.List[1].P))-uintptr(unsafe.Pointer(h)), unsafe.Sizeof(*h)),
			"allocated", "TestPointers", "What to do: ")
		wantMisuse(t, "free", "heap pointer in off-heap memory", func() { Delete(h) })
		h.List[1].P = 0
		Delete(h)

		many := MakeSlice[holder](3, 3)
		many[2].List[0].P = uintptr(unsafe.Pointer(v))
		wantText(t, Check().Error(), "[]offheap.holder[2].List[0].P, ")
		many[2].List[0].P = 0
		FreeSlice(many)

		b := AllocUninit(16)
		*(*uintptr)(unsafe.Pointer(&b[8])) = uintptr(unsafe.Pointer(&v[0]))
		wantText(t, Check().Error(), fmt.Sprintf("[]byte[8:%d], ", 8+ptrSize))
		var here [100]int
		*(*uintptr)(unsafe.Pointer(&b[8])) = uintptr(unsafe.Pointer(&here[50]))
		wantText(t, Check().Error(), fmt.Sprintf("[]byte[8:%d], ", 8+ptrSize))
		runtime.KeepAlive(&here)
		clear(b)
		Free(b)

		l, next := New[link](), New[link]()
		l.Next = (*link)(unsafe.Pointer(v))
		wantText(t, Check().Error(), "offheap.link.Next, ")
		l.Next = next
		next.Next = (*link)(unsafe.Pointer(&static))
		h = New[holder]()
		h.N, h.List[0].P, h.List[1].P, h.List[2].P = -1, 1, uintptr(unsafe.Pointer(unsafe.StringData("text"))), ^uintptr(0)
		if err := Check(); err != nil {
			t.Errorf("static data, off-heap memory and numbers: %v", err)
		}
		Delete(next)
		Delete(l)
		Delete(h)
		runtime.KeepAlive(v)
	}, "pointers", allModes)
}

// TestPointersIntoNewHeap: the ranges of the Go heap follow its growth.
func TestPointersIntoNewHeap(t *testing.T) {
	if !is64 {
		t.Skip("there a part of the heap is known only, see Check")
	}
	if sanitize.Enabled && sanitize.Kind != "asan" {
		t.Skip("the mode is ignored, since it reads what nobody may have written")
	}
	if !inMode(t, "pointers") {
		return
	}
	h := New[holder]()
	var keep [][]byte
	for range 40 {
		b := make([]byte, 8<<20)
		keep = append(keep, b)
		h.List[2].P = uintptr(unsafe.Pointer(&b[len(b)-1]))
		wantMisuse(t, "free", "heap pointer in off-heap memory", func() { Delete(h) })
	}
	runtime.KeepAlive(keep)
	h.List[2].P = 0
	Delete(h)
}

//go:noinline
func leaksHere() []byte { return AllocUninit(100) }

// TestLeaks: blocks in use are listed by the place of their allocation.
func TestLeaks(t *testing.T) {
	inModes(t, func(t *testing.T) {
		var old [][]byte
		for range 3 {
			old = append(old, leaksHere())
		}
		big := MakeSlice[point](100, 100)
		list := Leaks()
		if len(list) != 2 || list[0].Blocks != 1 || list[0].Bytes != 1600 || list[0].Type != "[]offheap.point" ||
			list[1].Blocks != 3 || list[1].Bytes != 300 || list[1].Type != "[]byte" {
			t.Fatalf("%v", list)
		}
		wantText(t, list[1].String(), "  3 blocks, 300 bytes ([]byte, offheap) allocated by:\n", "leaksHere", "TestLeaks")
		FreeSlice(big)

		var r fakeTB
		CheckLeaks(&r)
		if s := r.end(); s != "" {
			t.Errorf("blocks that were there before: %s", s)
		}
		r = fakeTB{}
		CheckLeaks(&r)
		Free(old[0])
		old[0] = leaksHere() // The bytes are the same.
		wantText(t, r.end(), "freehold: leak: 1 block of 100 bytes", "leaksHere")
		for _, b := range old {
			Free(b)
		}
		if list := Leaks(); list != nil {
			t.Errorf("all was freed: %v", list)
		}
	}, "leaks", allModes)
}

// TestStaleRef: a Ref to a freed block is told from a damaged one.
func TestStaleRef(t *testing.T) {
	inModes(t, func(t *testing.T) {
		r := RefOf(New[point]())
		DeleteRef(r)
		e := wantMisuse(t, "Ptr", "use after Delete", func() { r.Ptr() })
		wantText(t, e.Error(), "freehold: use after Delete: Ref.Ptr of a Ref to a offheap.point", "allocated", "freed", "TestStaleRef")
	}, "leaks", "guard", "guard,guardmaps=1")
}

// TestGoMappings: what counts as the Go heap in /proc/self/maps.
func TestGoMappings(t *testing.T) {
	if !is64 {
		t.Skip("there mappings that adjoin tell nothing")
	}
	const text = `00400000-00500000 r-xp 00000000 08:01 1234 /bin/program
00600000-00700000 rw-p 00000000 00:00 0
c000000000-c000400000 rw-p 00000000 00:00 0
c000400000-c000800000 rw-p 00000000 00:00 0 [anon: Go: heap]
c000800000-c004000000 ---p 00000000 00:00 0
d000000000-d000100000 rw-p 00000000 00:00 0 [anon: Go: heap]
7f0000000000-7f0001000000 rw-p 00000000 00:00 0 [anon:freehold offheap blocks]
7f0001000000-7f0002000000 rw-p 00000000 00:00 0
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0 [stack]
bad line
`
	at := func(n uint64) uintptr { return uintptr(n) } // Constants of 64 bits do not compile on 32.
	got := mergeRanges(goMappings(text, []uintptr{at(0xc000000010)}))
	if want := []addrRange{{at(0xc000000000), at(0xc004000000)}, {at(0xd000000000), at(0xd000100000)}}; !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}
