// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/freehold-go/freehold/alloctest"
	"github.com/freehold-go/freehold/internal/allocsample"
	"github.com/freehold-go/freehold/internal/sizeclass"
)

// sampling samples with a period until the test ends. Its random numbers are the same in each run
// if they are drawn in the same order.
func sampling(t testing.TB, period int64) {
	needSlabs(t)
	rng := rand.New(rand.NewPCG(1, uint64(period)))
	draw := rng.ExpFloat64
	if period == 1 { // Each block, of which none is below 16 bytes: without one in e^16.
		draw = func() float64 { return min(rng.ExpFloat64(), 15) }
	}
	t.Cleanup(allocsample.SetSource(draw))
	old := allocsample.SetPeriod(period)
	t.Cleanup(func() { allocsample.SetPeriod(old) })
}

// samplingAtRandom is sampling for tests of several goroutines.
func samplingAtRandom(t testing.TB, period int64) {
	needSlabs(t)
	old := allocsample.SetPeriod(period)
	t.Cleanup(func() { allocsample.SetPeriod(old) })
}

// sampled is how many blocks were sampled, and how many of them are in use.
func sampled() (allocs, live int64) {
	for _, s := range allocsample.Sites() {
		allocs += s.Allocs
		live += s.Allocs - s.Frees
	}
	return allocs, live
}

// TestSuiteSampled runs the suite while all blocks are sampled, and while few are.
func TestSuiteSampled(t *testing.T) {
	periods := []int64{1, 5000}
	if testing.Short() {
		periods = periods[1:]
	}
	for _, period := range periods {
		t.Run(fmt.Sprintf("period=%d", period), func(t *testing.T) {
			samplingAtRandom(t, period)
			_, before := sampled()
			cfg := config()
			cfg.Limits = false // A sampled block that is freed at a limit is no room for another one.
			cfg.New = func(testing.TB) alloctest.Allocator { return stdHeap{} }
			alloctest.Test(t, cfg)
			if _, live := sampled(); live != before {
				t.Errorf("%d blocks are noted as in use, %d were before the test", live, before)
			}
		})
	}
}

// TestSuiteOfLocalSampled does so with a Local.
func TestSuiteOfLocalSampled(t *testing.T) {
	samplingAtRandom(t, 300)
	cfg := config()
	cfg.Concurrent, cfg.Limits = false, false
	cfg.New = func(t testing.TB) alloctest.Allocator {
		l := NewLocal()
		t.Cleanup(l.Close)
		return localHeap{l}
	}
	alloctest.Test(t, cfg)
}

// TestEverythingSampled lets everything happen at once and samples besides, or not.
func TestEverythingSampled(t *testing.T) {
	samplingAtRandom(t, 3000)
	_, before := sampled()
	everything(t, func(*rand.Rand) {
		for i := range 50 {
			allocsample.SetPeriod([]int64{0, 3000, 1, 500}[i%4])
			Purge()
		}
	})
	if _, live := sampled(); live != before {
		t.Errorf("%d blocks are noted as in use, %d were before the test", live, before)
	}
}

// within fails the test if got is further from the n*p of n blocks that are expected than happens
// by chance once in 1e12 times (Bernstein's inequality). The draws differ in each run, because the
// scheduler moves the test from P to P.
func within(t *testing.T, what string, got, n, p float64) {
	t.Helper()
	const rare = 28.4 // ln(2e12)
	want, variance := n*p, n*p*(1-p)
	if most := rare/3 + math.Sqrt(rare*rare/9+2*rare*variance); math.Abs(got-want) > most || most > want {
		t.Errorf("%s: %.0f, want %.1f and no further off than %.1f", what, got, want, most)
	}
}

// TestSampledShare compares how many blocks of each size are sampled to the probability that the
// size gives, for blocks that come and go and for blocks that stay, of slots and without.
func TestSampledShare(t *testing.T) {
	quiet(t)
	sampling(t, 16<<10)
	l := NewLocal()
	defer l.Close()
	ways := []struct {
		name  string
		alloc func(int) []byte
		free  func([]byte)
	}{{"Local", l.AllocUninit, l.Free}, {"package", AllocUninit, Free}}
	for _, size := range []int{16, 48, 512, 4096, 16 << 10, 64 << 10, 72 << 10} {
		block := float64(size)
		if size > sizeclass.Max {
			block = float64(roundUp(uintptr(size), granule))
		}
		period := int64(min(16<<10, 32*size)) // So that of small ones enough are sampled.
		allocsample.SetPeriod(period)
		p := allocsample.Probability(uintptr(block), period)
		for _, way := range ways {
			const n, stay = 20_000, 40
			before, live := sampled()
			var kept [][]byte
			for i := range n {
				b := way.alloc(size)
				if i%(n/stay) == 0 {
					kept = append(kept, b)
				} else {
					way.free(b)
				}
			}
			allocs, _ := sampled()
			within(t, fmt.Sprintf("%s, %d bytes: sampled", way.name, size), float64(allocs-before), n, p)
			for _, b := range kept {
				way.free(b)
			}
			if _, now := sampled(); now != live {
				t.Errorf("%s, %d bytes: %d blocks are noted as in use, %d were before", way.name, size, now, live)
			}
		}
	}
}

// TestSampledPairs frees the one block that it allocates, again and again: the fast path serves it
// where it can. Sampling that begins in the midst of that must be noticed.
func TestSampledPairs(t *testing.T) {
	quiet(t)
	for range 100 {
		Delete(New[point]())
	}
	const n, period = 100_000, 1000
	sampling(t, period)
	before, _ := sampled()
	for range n {
		Delete(New[point]())
	}
	during, live := sampled()
	p := allocsample.Probability(16, period)
	within(t, "sampled", float64(during-before), n, p)
	allocsample.SetPeriod(0)
	kept := New[point]()
	for range n {
		Delete(New[point]())
	}
	Delete(kept)
	if allocs, now := sampled(); allocs != during || now != live {
		t.Errorf("%d blocks were sampled after the end", allocs-during)
	}
}

// TestSampledKinds samples each value of types that must keep to themselves, and blocks of a
// purpose.
func TestSampledKinds(t *testing.T) {
	quiet(t)
	sampling(t, 1)
	if std.guards != nil {
		t.Skip("guarded blocks count as large as they were asked for")
	}
	before, live := sampled()
	f, k := New[flags](), New[link]()
	f.A, k.Next, k.N = true, k, 1
	r := RefOf(f)
	if r.Ptr() != f {
		t.Error("the Ref to a sampled value leads elsewhere")
	}
	Delete(f)
	Delete(k)
	if f := New[flags](); *f != (flags{}) {
		t.Errorf("a new value is %v", *f)
	} else {
		DeleteRef(RefOf(f))
	}
	p := NewPurpose("sampled")
	was := account(t, "sampled").InUse
	b := p.Alloc(1000)
	if now := account(t, "sampled").InUse; now != was+1024 {
		t.Errorf("the purpose has %d bytes in use, %d before a block of 1000", now, was)
	}
	b = Realloc(b, 3000) // Elsewhere, for the same purpose.
	if now := account(t, "sampled").InUse; now != was+3072 {
		t.Errorf("the purpose has %d bytes in use, %d before a block of 3000", now, was)
	}
	m := wantMisuse(t, "Free(b[8:])", "interior pointer", func() { Free(b[8:]) })
	if m.Addr != addrOf(b)+8 {
		t.Errorf("the message names %#x", m.Addr)
	}
	names := 0
	for _, s := range allocsample.Sites() {
		if s.Purpose == "sampled" {
			names++
		}
	}
	if names != 2 {
		t.Errorf("%d sites bear the purpose, want that of Alloc and that of Realloc", names)
	}
	Free(b)
	wantMisuse(t, "second Free", "double free", func() { Free(b) })
	if allocs, now := sampled(); allocs-before != 5 || now != live {
		t.Errorf("%d blocks were sampled, %d are noted as in use, want 5 and %d", allocs-before, now, live)
	}
}

// TestSampledResize grows and shrinks large blocks in place: their records follow.
func TestSampledResize(t *testing.T) {
	quiet(t)
	sampling(t, 1)
	size := func() (sum uintptr) {
		for _, s := range allocsample.Sites() {
			sum += s.Size * uintptr(s.Allocs-s.Frees)
		}
		return sum
	}
	before := size()
	b := Alloc(100 << 10)
	for _, n := range []int{300 << 10, 90 << 10, 1 << 20} {
		b = Realloc(b, n)
		// A guarded block takes its requested size, any other block whole granules.
		if got := size() - before; got != uintptr(n) && got != roundUp(uintptr(n), granule) {
			t.Errorf("resized to %d bytes, %d are noted", n, got)
		}
	}
	Free(b)
	allocsample.SetPeriod(1 << 50) // So that the block is sampled when it grows or never.
	b = Alloc(100 << 10)
	allocsample.SetPeriod(1)
	b = Realloc(b, 200<<10)
	if got := size() - before; got != 200<<10 && ReadStats().InUse > 0 {
		t.Errorf("grown to 200 KiB, %d bytes are noted", got)
	}
	Free(b)
	if got := size(); got != before {
		t.Errorf("%d bytes are noted at the end, %d before", got, before)
	}
}

// TestSamplingIsNoReasonToFail lets samples find no memory of their own: the slots serve.
func TestSamplingIsNoReasonToFail(t *testing.T) {
	needSlabs(t) // Before a block is allocated that a skip would leave.
	needNoSamples(t)
	quiet(t)
	p := NewPurpose("sampled at the limit")
	first := p.Alloc(4000)
	defer p.SetLimit(p.SetLimit(4 * 4096))
	sampling(t, 1)
	for range 3 { // There is a slab with room for them, and must be no other.
		defer Free(p.Alloc(4000))
	}
	Free(first)
}

// TestSampledLocalNotices switches sampling on while a Local allocates and frees one block again
// and again.
func TestSampledLocalNotices(t *testing.T) {
	quiet(t)
	l := NewLocal()
	defer l.Close()
	pairs := func(n int) {
		for range n {
			deleteIn(l, In[point](l).New())
		}
	}
	pairs(100)
	sampling(t, 1000)
	pairs(idle)
	before, _ := sampled()
	const n = 100_000
	pairs(n)
	allocs, _ := sampled()
	p := allocsample.Probability(16, 1000)
	within(t, "sampled", float64(allocs-before), n, p)
}

// TestBytesAreDrawnForOnce: a large block that shrinks and grows in place gains bytes that it had before. Another draw
// for them would make a sampled block stand for more blocks than there are.
func TestBytesAreDrawnForOnce(t *testing.T) {
	sampling(t, 1<<30)
	draws := 0
	t.Cleanup(allocsample.SetSource(func() float64 { draws++; return 100 })) // No block is sampled.
	const large, small = 256 << 10, 72 << 10
	Free(Alloc(large + 256<<10)) // Room to grow.
	s := Alloc(large)
	defer func() { Free(s) }()
	at := &s[0]
	before := draws
	for range 10 {
		s = Realloc(Realloc(s, small), large)
	}
	if &s[0] != at {
		t.Fatal("the block has moved; it was to be resized in place")
	}
	if draws != before {
		t.Errorf("%d draws while the block had no more bytes than at first", draws-before)
	}
	s = Realloc(s, large+64<<10)
	if &s[0] == at && draws != before+1 {
		t.Errorf("%d draws when the block had more bytes than ever, want 1", draws-before)
	}
}
