// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold/internal/vmem"
)

// seeded makes chance the same in each run of the test.
func seeded(t *testing.T, seed uint64) {
	t.Helper()
	t.Cleanup(SetDraw(rand.New(rand.NewPCG(seed, 12)).Float64))
}

// The default budgets for samples where vm.max_map_count is 65530 and the process may use 512 MiB,
// the least that thin.go speaks of.
const (
	usualMaps  = 65530 / 2
	usualBytes = 64 << 20
)

// admitOne and dropOne are the bookkeeping of guarded blocks without the pages.
func (g *guards) admitOne(bytes int64) bool {
	if g.admit(bytes, mapsPerBlock) != nil {
		return false
	}
	g.count(1, bytes, mapsPerBlock)
	return true
}

func (g *guards) dropOne(bytes int64) { g.count(-1, -bytes, -mapsPerBlock) }

// TestThinningFindsRepeatedMistake runs programs that make the same mistake 10000 times, with
// sample=1000, after and among millions of other blocks. In each of the histories at least 95 of
// 100 runs must see it. With budgets of 4096 mappings that were served first come, first served,
// all but the first history and those that freed their blocks saw nothing.
func TestThinningFindsRepeatedMistake(t *testing.T) {
	const sample, mistakes = 1000, 10_000
	runs := 100
	if testing.Short() {
		runs = 20
	}
	page := int64(vmem.PageSize())
	if page != 4096 {
		t.Skip("the figures are those of pages of 4 KiB")
	}
	type program struct {
		g     guards
		rng   *rand.Rand
		alive [][]int64 // bytes of guarded blocks, by phase
	}
	// live makes n blocks of a size that stay; chosen ones are a binomial number, here by its
	// normal approximation.
	live := func(p *program, n int, size int64) {
		mean := float64(n) / sample
		chosen := int(math.Round(mean + p.rng.NormFloat64()*math.Sqrt(mean)))
		var kept []int64
		bytes := (size + page - 1) / page * page
		for range chosen {
			if p.g.admitOne(bytes) {
				kept = append(kept, bytes)
			}
		}
		p.alive = append(p.alive, kept)
	}
	// die frees a share of the blocks of a phase.
	die := func(p *program, phase int, part float64) {
		var kept []int64
		for _, bytes := range p.alive[phase] {
			if p.rng.Float64() < part {
				p.g.dropOne(bytes)
			} else {
				kept = append(kept, bytes)
			}
		}
		p.alive[phase] = kept
	}
	for _, h := range []struct {
		name    string
		history func(p *program)
	}{
		{"nothing", func(p *program) {}},
		{"ten million nodes", func(p *program) { live(p, 10_000_000, 64) }},
		{"forty million of which thirty were freed", func(p *program) { live(p, 40_000_000, 64); die(p, 0, 0.75) }},
		{"three times ten million that were freed, and ten million", func(p *program) {
			for i := range 3 {
				live(p, 10_000_000, 64)
				die(p, i, 1)
			}
			live(p, 10_000_000, 64)
		}},
		{"nodes among buffers", func(p *program) { live(p, 2_000, 1<<20); live(p, 9_998_000, 64) }},
		{"nodes after a buffer of all bytes that one block may have", func(p *program) {
			p.g.admitOne(liveBytes(usualBytes))
			live(p, 10_000_000, 64)
		}},
	} {
		found := 0
		for run := range runs {
			p := &program{g: guards{maps: usualMaps, limit: usualBytes}, rng: rand.New(rand.NewPCG(uint64(run), 1))}
			restore := SetDraw(p.rng.Float64)
			h.history(p)
			for i := 0; i < mistakes; i++ {
				i += int(p.rng.ExpFloat64() * sample) // To the next that is chosen.
				if i < mistakes && p.g.admitOne(page) {
					found++
					break
				}
			}
			restore()
		}
		if found < 95*runs/100 {
			t.Errorf("after %s the mistake was found in %d of %d runs", h.name, found, runs)
		}
	}
}

// TestThinningNeverEnds: however many blocks live, the next still has a chance, and the law in
// thin.go holds.
func TestThinningNeverEnds(t *testing.T) {
	seeded(t, 1)
	g := guards{maps: 2000 * mapsPerBlock, limit: 1 << 40}
	n, b := 2000.0, 128*math.Ln2
	asked := 0
	for ; g.admitOne(1); asked++ {
	}
	if float64(asked) < thinFrom*n {
		t.Fatalf("after %d of %v blocks one was refused, want none below %v", asked, n, thinFrom*n)
	}
	for _, more := range []float64{1e3, 1e4, 1e5} {
		for ; float64(asked) < thinFrom*n+more; asked++ {
			g.admitOne(1)
		}
		want := thinFrom*n + n/b*math.Log1p(b*more/n)
		fill := float64(g.live) / n
		if math.Abs(float64(g.live)-want) > 25 || chance(fill) == 0 {
			t.Errorf("after %v more blocks %d are guarded, want about %.0f; the chance of the next is %v", more, g.live, want, chance(fill))
		}
	}
}

// TestLargeBlockLeavesRoom: one block that takes nearly the whole budget would leave nothing to the
// others.
func TestLargeBlockLeavesRoom(t *testing.T) {
	page := int64(vmem.PageSize())
	g := guards{maps: 1000, limit: 8000 * page}
	if err := g.admit(6900*page, mapsPerBlock); err != errBudget {
		t.Errorf("a block of 6900 of 7000 pages: %v", err)
	}
	if err := g.admit(6000*page, mapsPerBlock); err != nil {
		t.Errorf("a block of 6000 of 7000 pages: %v", err)
	}
}

// TestThinningIsSaid: the operator hears once that some blocks come unguarded, and once that all
// do.
func TestThinningIsSaid(t *testing.T) {
	needPages(t)
	said.take()
	t.Cleanup(SetDraw(func() float64 { return 0.999 }))
	g, _ := newGuards(vmem.System(), 16*mapsPerBlock, 1<<30)
	for range 20 {
		g.alloc(8, 8)
	}
	want := "freehold: the budget of guarded memory is nearly used up (32 mappings, 1073741824 bytes; 15 blocks guarded): " +
		"from now on some blocks come unguarded, and more the less is left\n"
	if got := said.take(); got != want || g.live != 15 {
		t.Errorf("%d are guarded, said %q; want %q", g.live, got, want)
	}
	draw = func() float64 { return 0 }
	for range 3 {
		g.alloc(8, 8)
	}
	if got := said.take(); !strings.Contains(got, "is used up (32 mappings") || strings.Count(got, "\n") != 1 || g.live != 16 {
		t.Errorf("%d are guarded, said %q", g.live, got)
	}
}

// TestSampleRate: samples not used in 16 seconds may be used at once, and beyond that the rate
// holds without a second that sees nothing.
func TestSampleRate(t *testing.T) {
	seeded(t, 2)
	const rate = 1000
	var s sampler
	taken := func(ask int, from, to time.Duration) (n int) {
		for i := range ask {
			if s.take(rate, from+(to-from)*time.Duration(i)/time.Duration(ask)) {
				n++
			}
		}
		return n
	}
	if n := taken(14000, 0, 0); n != 14000 {
		t.Errorf("%d of 14000 at the start", n)
	}
	if n := taken(100_000, 0, 0); n < 100 || n > 2000 {
		t.Errorf("%d of 100000 more in the same moment; 2000 are left", n)
	}
	// At ten times the rate the chance is a tenth. The samples that were taken at once, above that
	// level, are subtracted.
	if n := taken(100_000, 0, 10*time.Second); n < 8_000 || n > 10_000 {
		t.Errorf("%d of 100000 in ten seconds, want a little less than %d", n, 10*rate)
	}
	for i := range time.Duration(100) { // Ten times the rate: each tenth of a second sees some.
		from := 10*time.Second + i*100*time.Millisecond
		if n := taken(1000, from, from+100*time.Millisecond); n < 50 || n > 160 {
			t.Errorf("%d of 1000 in tenth %d of a second, want about 100", n, i)
		}
	}
	if n := taken(10, 0, time.Second); n > 10 {
		t.Errorf("%d of 10 by a clock that goes back", n)
	}
	if s = (sampler{}); !s.take(0, 0) || s.skipped.Load() != 0 {
		t.Error("without a bound one was skipped")
	}
	if s.take(5, 0); s.used.Load() != int64(time.Second/5) {
		t.Errorf("one of five a second counts for %v", time.Duration(s.used.Load()))
	}
}
