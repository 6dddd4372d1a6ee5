// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold"
)

// account is what Stats say of a purpose.
func account(t testing.TB, name string) PurposeStats {
	t.Helper()
	list := ReadStats().Purposes
	i := slices.IndexFunc(list, func(p PurposeStats) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("no purpose %q in %v", name, list)
	}
	return list[i]
}

// TestPurposeAccounts follows the bytes of two purposes, in sizes that are size classes exactly.
func TestPurposeAccounts(t *testing.T) {
	quiet(t)
	a, b := NewPurpose("account a"), NewPurpose("account b")
	if NewPurpose("account a") != a || a.Name() != "account a" {
		t.Error("a second NewPurpose of a name makes another purpose")
	}
	want := map[string]int64{}
	check := func(when string) {
		t.Helper()
		for name, n := range want {
			if got := account(t, name); got.InUse != n || got.Held < n {
				t.Errorf("%s: %q has %d bytes in use and holds %d, want %d", when, name, got.InUse, got.Held, n)
			}
		}
	}
	total := ReadStats().InUse
	var blocks [][]byte
	for i := range 100 {
		blocks = append(blocks, a.Alloc(1024), b.AllocUninit(4096))
		want["account a"] += 1024
		want["account b"] += 4096
		if i%10 == 0 {
			blocks = append(blocks, b.Alloc(1<<20))
			want["account b"] += 1 << 20
		}
	}
	check("blocks")
	if now := ReadStats().InUse; now-total != want["account a"]+want["account b"] {
		t.Errorf("all together: %d bytes, want %d", now-total, want["account a"]+want["account b"])
	}
	v, w := For[[8]uint64](a).New(), For[[64]bool](b).New()
	s, u := For[uint64](a).MakeSlice(10, 1024), For[bool](b).MakeSlice(0, 8192)
	want["account a"] += 64 + 8192
	want["account b"] += 64 + 8192
	check("values")
	plain := Alloc(5000) // Counts to none.
	check("plain")
	Free(plain)
	l := NewLocal()
	for i, c := range blocks {
		if i%2 == 0 {
			Free(c)
		} else {
			l.Free(c)
		}
	}
	l.Close()
	DeleteRef(RefOf(v))
	Delete(w)
	FreeSlice(s)
	FreeSlice(u)
	want["account a"], want["account b"] = 0, 0
	check("freed")
}

// TestPurposesShareNoSlabs: memory of one purpose can be told from that of another by its granule.
func TestPurposesShareNoSlabs(t *testing.T) {
	needSlabs(t)
	quiet(t)
	m := territory{}
	a, b := NewPurpose("apart a"), NewPurpose("apart b")
	var all [][]byte
	for range 3000 {
		for name, alloc := range map[string]func(int) []byte{"a": a.Alloc, "b": b.Alloc, "none": Alloc} {
			c := alloc(100)
			m.claim(t, name, addrOf(c), 100)
			all = append(all, c)
		}
	}
	for _, c := range all {
		Free(c)
	}
}

// TestPurposeSurvivesGrowth: what Realloc and Append return counts to the purpose of what they were
// given.
func TestPurposeSurvivesGrowth(t *testing.T) {
	quiet(t)
	p := NewPurpose("growth")
	b := Realloc(Realloc(p.Alloc(4096), 16_384), 200_000)
	if n := account(t, "growth").InUse; n < 200_000 {
		t.Errorf("Realloc: %d bytes in use", n)
	}
	Free(b)
	s := Append(For[int64](p).MakeSlice(512, 512), make([]int64, 100_000)...)
	if n := account(t, "growth").InUse; n < 800_000 {
		t.Errorf("Append: %d bytes in use", n)
	}
	FreeSlice(s)
	f := Append(For[bool](p).MakeSlice(4096, 4096), make([]bool, 9000)...)
	if n := account(t, "growth").InUse; n < 9000 {
		t.Errorf("Append of bools: %d bytes in use", n)
	}
	FreeSlice(f)
	if n := account(t, "growth").InUse; n != 0 {
		t.Errorf("%d bytes in use after all was freed", n)
	}
}

// TestPurposeAligned: aligned blocks count to their purpose and end at its limit.
func TestPurposeAligned(t *testing.T) {
	quiet(t)
	p := NewPurpose("aligned")
	var blocks [][]byte
	for align := 1; align <= maxAlign; align *= 4 {
		b := For[byte](p).Aligned(align).MakeSlice(4096, 4096)
		if addr := addrOf(b); addr%uintptr(align) != 0 || len(b) != 4096 || cap(b) != 4096 || !allZero(b) {
			t.Fatalf("4096 bytes aligned to %d: %#x, %d of %d bytes, or not zero", align, addr, len(b), cap(b))
		}
		blocks = append(blocks, b)
		if n := account(t, "aligned").InUse; n < int64(len(blocks))*4096 {
			t.Errorf("%d bytes in use by %d blocks of 4096", n, len(blocks))
		}
	}
	p.SetLimit(16 << 20)
	if _, err := For[byte](p).Aligned(64).TryMakeSlice(32<<20, 32<<20); !errors.Is(err, ErrLimit) {
		t.Errorf("beyond the limit: %v", err)
	}
	for _, b := range blocks {
		Free(b)
	}
	if n := account(t, "aligned").InUse; n != 0 {
		t.Errorf("%d bytes in use after all was freed", n)
	}
}

// TestStatsTellLimits: who watches how full a purpose is need not know who set its limit.
func TestStatsTellLimits(t *testing.T) {
	p := NewPurpose("limited")
	before := p.SetLimit(3 << 30)
	defer p.SetLimit(before)
	old := SetLimit(5 << 40)
	defer SetLimit(old)
	if got, want := ReadStats().Limit, int64(5<<40); got != want {
		t.Errorf("the limit of all is %d, want %d", got, want)
	}
	if got := account(t, "limited").Limit; got != 3<<30 {
		t.Errorf("the limit of the purpose is %d, want %d", got, int64(3<<30))
	}
	p.SetLimit(0)
	if got := account(t, "limited").Limit; got != 0 {
		t.Errorf("the limit of the purpose is %d after it was lifted", got)
	}
}

func TestPurposeFromManyGoroutines(t *testing.T) {
	quiet(t)
	p := NewPurpose("many goroutines")
	var workers sync.WaitGroup
	for g := range 8 {
		workers.Go(func() {
			for i := range 2000 {
				b, v := p.Alloc(1+i%5000), For[flags](p).New()
				v.N = int64(g)
				fill(b[:1], g)
				Delete(v)
				Free(b)
			}
		})
	}
	workers.Wait()
	if got := account(t, p.Name()).InUse; got != 0 {
		t.Errorf("%d bytes are in use after all was freed", got)
	}
}

// untilLimit calls try until it reports an error, which must be ErrLimit, and returns how often it
// did not.
func untilLimit(t *testing.T, try func() error) (n int) {
	t.Helper()
	for n = 0; n < 1_000_000; n++ {
		if err := try(); err != nil {
			message := err.Error()
			if !errors.Is(err, ErrLimit) || errors.Is(err, ErrOutOfMemory) || !strings.Contains(message, "free blocks") || !strings.Contains(message, "SetLimit") {
				t.Fatalf("want ErrLimit and what to do, got %v", err)
			}
			return n
		}
	}
	t.Fatal("no limit")
	return n
}

// needBatches is for tests of the limits' grain, which fill them with the smallest blocks: without
// slabs there is none, and with a record for each block it takes minutes.
func needBatches(t testing.TB) {
	if std.start(); std.serving() != nil && std.serving().modes.On() {
		t.Skip("blocks are counted one by one here")
	}
}

// batches are the sizes of blocks that the limits are filled with. Where no slabs serve those of 16
// bytes are as good as others, and would take most of the package's time under the race detector.
func batches() []int {
	list := []int{1000, 30_000, 100_000, 1 << 20}
	if std.serving() == nil {
		list = append(list, 16)
	}
	return list
}

// TestLimitInTheMiddleOfABatch fills the package's limit with blocks of a size, frees half, and
// goes on.
func TestLimitInTheMiddleOfABatch(t *testing.T) {
	needBatches(t)
	for _, size := range batches() {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			quiet(t)
			const room = 8 << 20
			limit := ReadStats().Held + room
			old := SetLimit(limit)
			defer SetLimit(old)
			fillToLimit(t, size, func() (int64, int64) { return ReadStats().Held, limit }, TryAlloc)
		})
	}
}

// TestPurposeLimitInTheMiddleOfABatch does so for a Purpose; the others are not concerned.
func TestPurposeLimitInTheMiddleOfABatch(t *testing.T) {
	needBatches(t)
	for _, size := range batches() {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			quiet(t)
			p := NewPurpose("limited")
			if old := p.SetLimit(8 << 20); old != 0 {
				t.Errorf("a limit of %d was set before", old)
			}
			fillToLimit(t, size, func() (int64, int64) { return account(t, "limited").Held, 8 << 20 }, p.TryAlloc)
			if old := p.SetLimit(0); old != 8<<20 {
				t.Errorf("the limit was %d", old)
			}
		})
	}
}

func fillToLimit(t *testing.T, size int, state func() (used, limit int64), alloc func(int) ([]byte, error)) {
	t.Helper()
	var live [][]byte
	one := func() error {
		b, err := alloc(size)
		if err == nil {
			fill(b[:16], len(live))
			live = append(live, b)
		}
		return err
	}
	first := untilLimit(t, one)
	used, limit := state()
	if used > limit || used < limit*3/4 {
		t.Errorf("refused with %d bytes of %d held", used, limit)
	}
	for i, b := range live {
		if !filled(b[:16], i) {
			t.Fatalf("block %d of %d changed", i, first)
		}
	}
	for _, b := range live[first/2:] {
		Free(b)
	}
	live = live[:first/2]
	if again := untilLimit(t, one); again < first*3/8 || len(live) > first+first/4 {
		t.Errorf("%d blocks went in, half of them out, and %d in again", first, again)
	}
	for _, b := range live {
		Free(b)
	}
	if err := one(); err != nil {
		t.Errorf("after all was freed: %v", err)
		return
	}
	Free(live[len(live)-1])
}

// TestLimitOfEveryFunction is refused by each function, which must leave its arguments as they are.
func TestLimitOfEveryFunction(t *testing.T) {
	quiet(t)
	l := NewLocal()
	defer l.Close()
	p := NewPurpose("under the package's limit")
	b, s := Alloc(1000), MakeSlice[point](100, 100)
	fill(b, 5)
	s[99].X = 7
	old := SetLimit(1)
	type mega [1 << 20]byte
	const n = 1 << 20
	for what, f := range map[string]func(){
		"Alloc": func() { Alloc(n) }, "AllocUninit": func() { AllocUninit(n) }, "AllocAligned": func() { AllocAligned(n, 4096) },
		"Realloc": func() { Realloc(b, n) }, "New": func() { New[mega]() },
		"NewIn": func() { In[mega](l).New() }, "NewFor": func() { For[mega](p).New() }, "NewRef": func() { RefOf(New[mega]()) },
		"MakeSlice": func() { MakeSlice[bool](n, n) }, "MakeSliceFor": func() { For[bool](p).MakeSlice(n, n) },
		"Append":      func() { Append(s, make([]point, n)...) },
		"Local.Alloc": func() { l.Alloc(n) }, "Purpose.Alloc": func() { p.Alloc(n) },
	} {
		wantPanic(t, what, ErrLimit, f)
	}
	if got := SetLimit(old); got != 1 {
		t.Errorf("the limit was %d", got)
	}
	if !filled(b, 5) || s[99].X != 7 || len(s) != 100 {
		t.Error("a refused call changed its argument")
	}
	Free(b)
	FreeSlice(s)
	works(t)
}

// TestTotals compares the package's part of the root package's totals with Stats.
func TestTotals(t *testing.T) {
	quiet(t)
	b := Alloc(1 << 20)
	defer Free(b)
	_, parts := freehold.ReadTotals()
	i := slices.IndexFunc(parts, func(p freehold.PackageTotals) bool { return p.Name == "offheap" })
	if i < 0 {
		t.Fatalf("offheap is not registered: %v", parts)
	}
	got, s := parts[i].Totals, ReadStats()
	want := freehold.Totals{InUse: s.InUse, Reserved: s.Reserved, Retained: s.Retained + s.Metadata, Purged: s.Purged}
	if s.InUse < 1<<20 {
		t.Errorf("%d bytes in use", s.InUse)
	}
	if std.serving() != nil && std.serving().under == nil {
		want = freehold.Totals{} // The Go heap counts these bytes already.
	}
	if got != want {
		t.Errorf("the totals are %+v, want %+v", got, want)
	}
}

// BenchmarkPurposePair is an allocation and its free by the options of a Purpose.
func BenchmarkPurposePair(b *testing.B) {
	for name, o := range map[string]PurposeOptions{"plain": {}, "wipe": {Wipe: true}} {
		for _, n := range []int{64, 4096} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				p := NewPurposeWith("benchmark of "+name, o)
				for b.Loop() {
					Free(p.AllocUninit(n))
				}
			})
		}
	}
}
