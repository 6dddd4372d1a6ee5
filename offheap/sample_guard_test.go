// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/allocsample"
	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/checks/testenv/modes"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// inSampleMode runs the test in a process of its own whose every allocation is guarded by sampling.
// It reports whether this is that process.
func inSampleMode(t *testing.T) bool {
	t.Helper()
	needOwnMemory(t)
	if raceEnabled {
		t.Skip("the slabs do not serve here")
	}
	if !testenv.InChild(t, "FREEHOLD=sample=1") {
		return false
	}
	std.start()
	return true
}

var stray byte

// fault runs f and returns the address at which it faulted, or 0.
func fault(f func()) (addr uintptr) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if e, ok := recover().(interface{ Addr() uintptr }); ok {
			addr = e.Addr()
		}
	}()
	f()
	return 0
}

// TestSampledGuards uses what it has freed, and what lies behind its blocks, where each allocation
// is a guarded sample.
func TestSampledGuards(t *testing.T) {
	testenv.MisusesMemory(t)
	if !inSampleMode(t) {
		return
	}
	quiet(t)
	before := ReadStats().InUse
	b := Alloc(100)
	if got := ReadStats().InUse - before; got != 100 {
		t.Errorf("a guarded block of 100 bytes counts as %d", got)
	}
	b[0] = 1
	last := addrOf(b) + 99
	if at := fault(func() { stray = *unsafex.At[byte](last + 8) }); at != last+8 { // It ends at the page's end as nearly as 8 bytes allow.
		t.Errorf("an overflow by 8 faulted at %#x, want %#x", at, last+8)
	}
	b = Realloc(b, 5000)
	if b[0] != 1 || b[4999] != 0 {
		t.Error("Realloc lost the bytes")
	}
	Free(b)
	at := fault(func() { stray = b[7] })
	report, ok := debugmode.Explain(at)
	if at != addrOf(b)+7 || !ok || !strings.Contains(report.String(), "use after Free: access 7 bytes into a block of 5000 bytes ([]byte, offheap)") {
		t.Errorf("a stale read faulted at %#x: %v", at, report.String())
	}
	m := wantMisuse(t, "second Free", "double free", func() { Free(b) })
	if !strings.Contains(m.Freed, "TestSampledGuards") || !strings.Contains(m.Allocated, "TestSampledGuards") {
		t.Errorf("the error lacks the stacks: %v", m)
	}
}

// TestSampledGuardsOfValues does so with values, links, slices and large blocks, which count for
// their purpose, and in the profile.
func TestSampledGuardsOfValues(t *testing.T) {
	testenv.MisusesMemory(t)
	if !inSampleMode(t) {
		return
	}
	quiet(t)
	sampling(t, 1)
	_, live := sampled()
	p := New[point]()
	r := RefOf(p)
	if r.Ptr() != p || r.off&guardedRef == 0 {
		t.Errorf("the Ref %v of a guarded value does not lead to it", r)
	}
	f := For[flags](NewPurpose("sampled guards")).New()
	f.A = true
	if RefOf(f).Ptr() != f || account(t, "sampled guards").InUse != int64(unsafex.Size[flags]()) {
		t.Errorf("%d bytes of the purpose are in use", account(t, "sampled guards").InUse)
	}
	s := Append(MakeSlice[int64](3, 3), 1, 2)
	if len(s) != 5 || s[3] != 1 || s[4] != 2 || s[0] != 0 {
		t.Errorf("Append made %v", s)
	}
	large := Alloc(200_000)
	if at := fault(func() { stray = *unsafex.At[byte](addrOf(large) + 200_000) }); at == 0 {
		t.Error("an overflow of a large block was not seen")
	}
	if _, now := sampled(); now != live+4 {
		t.Errorf("%d blocks are in the profile, want %d", now, live+4)
	}
	wantMisuse(t, "Free(large[8:])", "interior pointer", func() { Free(large[8:]) })
	Free(large)
	FreeSlice(s)
	Delete(f)
	Delete(p)
	wantMisuse(t, "Ptr of a stale Ref", "use after Delete", func() { r.Ptr() })
	if _, now := sampled(); now != live {
		t.Errorf("%d blocks are in the profile at the end, %d were before", now, live)
	}
	if err := Check(); err != nil {
		t.Error(err)
	}
	allocsample.SetEvery(0)
	q := New[point]()
	if RefOf(q).off&guardedRef != 0 {
		t.Error("a value is guarded after the end of sampling")
	}
	Delete(q)
}

// TestSampledGuardsWithinLimits: guarded memory counts against the limits, and is refused like
// anything else.
func TestSampledGuardsWithinLimits(t *testing.T) {
	testenv.MisusesMemory(t)
	if !inSampleMode(t) {
		return
	}
	quiet(t)
	p := NewPurpose("guarded within limits")
	p.SetLimit(10_000)
	a, b := p.Alloc(4000), p.Alloc(4000)
	for _, n := range []int{4000, 200_000} {
		if c, err := p.TryAlloc(n); !errors.Is(err, ErrLimit) {
			t.Errorf("%d bytes beyond the limit: %v", n, err)
			Free(c)
		}
	}
	if n := account(t, p.Name()).InUse; n != 8000 {
		t.Errorf("%d bytes are in use, want 8000", n)
	}
	Free(a)
	c, err := p.TryAlloc(5000)
	if err != nil {
		t.Errorf("within the limit: %v", err)
	}
	Free(c)
	Free(b)
	r := RefOf(New[point]())
	want := fmt.Sprintf("%#x", r.off)
	if text := fmt.Sprint(caught(func() { (Ref[flags]{off: r.off}).Ptr() })); !strings.Contains(text, want) {
		t.Errorf("a Ref of another type: %s, want %s in it", text, want)
	}
	DeleteRef(r)
}

// TestRepeatedMistakeAmongManyBlocks makes the same mistake again and again beside a million blocks
// that live: some use after a free must fault. The numbers that chance draws are the same in each
// run. With sample=100 this is what sample=1000 is with ten million blocks and ten times as many
// mistakes.
func TestRepeatedMistakeAmongManyBlocks(t *testing.T) {
	testenv.MisusesMemory(t)
	for _, c := range []struct {
		words           string
		alive, mistakes int
	}{
		{"sample=100", 1_000_000, 1000},
		{"sample", 100_000, 10_000},
		{"guard,guardmaps=400", 1_000, 2_000},
	} {
		t.Run(c.words, func(t *testing.T) {
			if !modes.InChild(t, c.words, "GOMAXPROCS=1", "GOGC=off") {
				return
			}
			needOwnMemory(t) // It freezes the modes.
			if raceEnabled {
				t.Skip("the slabs do not serve here")
			}
			rng := rand.New(rand.NewPCG(1, 2))
			t.Cleanup(allocsample.SetSource(rng.ExpFloat64))
			t.Cleanup(debugmode.SetDraw(rng.Float64))
			for range c.alive {
				New[point]()
			}
			var seen int64
			for i := range c.mistakes {
				p := New[point]()
				Delete(p)
				if at := fault(func() { seen += p.X }); at != 0 { // A write would also damage a pattern.
					t.Logf("mistake %d faults", i)
					return
				}
				New[point]() // It would be at the same place.
			}
			t.Errorf("none of %d uses after a free faults: %+v", c.mistakes, debugmode.ReadStats())
		})
	}
}
