// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"math"
	"testing"

	"github.com/freehold-go/freehold/cmd/evidence"
)

// model is an account with round figures: 100 s of CPU, 20 of them marking and 10 sweeping; 1000 MB
// allocated, 100 MB live, 80 MB of it with pointers, and 20 MB of roots, half of the live heap in
// each of two sites.
func model() (a *account, short, cache, blob *site) {
	short = &site{allocBytes: 800e6, allocCPU: 10e9, zeroCPU: 2e9, scan: 1}
	cache = &site{allocBytes: 0, inuseBytes: 80e6, scan: 1}
	blob = &site{allocBytes: 0, inuseBytes: 20e6, scan: 0}
	a = &account{
		ev: &evidence.Evidence{}, total: 100e9, period: 10e6, mark: 20e9, sweep: 10e9, allocBytes: 1000e6, live: 100e6, roots: 20e6, scan: 100e6,
		sites: []*site{short, cache, blob},
	}
	return a, short, cache, blob
}

func TestGain(t *testing.T) {
	a, short, cache, blob := model()
	for _, c := range []struct {
		name      string
		sites     []*site
		rest      float64
		gogc, mem float64
	}{
		// Four fifths of the collections go, with the sites' 12 s of allocation and four fifths of
		// sweeping.
		{"short-lived", []*site{short}, 0, 0.12 + 0.20*0.8 + 0.10*0.8, 0.12 + 0.20*0.8 + 0.10*0.8},
		{"an arena clears still", []*site{short}, 2e9, 0.10 + 0.16 + 0.08, 0.10 + 0.16 + 0.08},
		// Each collection reads a fifth; at the same GOGC there are 120/40 times as many.
		{"long-lived", []*site{cache}, 0, 0.20 * (1 - 3*0.2), 0.20 * 0.8},
		// Nothing less to read, and 120/100 as many collections: moving it costs.
		{"ballast", []*site{blob}, 0, 0.20 * (1 - 1.2), 0},
		{"both", []*site{short, cache}, 0, 0.12 + 0.20*(1-0.2*3*0.2) + 0.08, 0.12 + 0.20*(1-0.2*0.2) + 0.08},
	} {
		g := a.gain(c.sites, c.rest)
		if math.Abs(g.SameGOGC-c.gogc) > 1e-9 || math.Abs(g.SameMemory-c.mem) > 1e-9 {
			t.Errorf("%s: %.4f at the same GOGC and %.4f in the same memory, want %.4f and %.4f", c.name, g.SameGOGC, g.SameMemory, c.gogc, c.mem)
		}
		if g.Error <= 0 && c.name != "ballast" {
			t.Errorf("%s: the error is %v", c.name, g.Error)
		}
	}
}

// Gains of sites one by one add up to more than all of them together have, which is why they are
// never added up.
func TestGainsOverlap(t *testing.T) {
	a, short, cache, blob := model()
	together := a.gain([]*site{short, cache, blob}, 0)
	apart := a.gain([]*site{short}, 0).SameMemory + a.gain([]*site{cache}, 0).SameMemory + a.gain([]*site{blob}, 0).SameMemory
	if together.SameMemory >= apart {
		t.Errorf("%v together, %v apart", together.SameMemory, apart)
	}
	f := func(sites ...*site) Finding { return Finding{Gain: a.gain(sites, 0), sites: sites} }
	both := a.winnable([]Finding{f(short), f(cache)})
	if want := a.gain([]*site{short, cache}, 0).Best(); math.Abs(both-want) > 1e-9 {
		t.Errorf("winnable %v, want the gain of both at once, %v", both, want)
	}
	if twice := a.winnable([]Finding{f(short, cache), f(cache), f(short)}); math.Abs(twice-both) > 1e-9 {
		t.Errorf("winnable %v with sites under two findings, %v without", twice, both)
	}
	setting := Finding{Gain: a.cyclesTo(0.5), setting: true}
	if with := a.winnable([]Finding{f(short), f(cache), setting}); with != both {
		t.Errorf("a setting that gains less raised what can be won from %v to %v", both, with)
	}
}

// The more samples there are, the smaller the error.
func TestGainError(t *testing.T) {
	a, short, _, _ := model()
	long := a.gain([]*site{short}, 0).Error
	a.period *= 100
	if few := a.gain([]*site{short}, 0).Error; few <= long {
		t.Errorf("error %v with a hundredth of the samples, %v with all", few, long)
	}
}

func TestNoCPU(t *testing.T) {
	a, short, _, _ := model()
	a.total = 0
	if g := a.gain([]*site{short}, 0); g != (Gain{}) {
		t.Errorf("a gain of %+v without CPU times", g)
	}
}
