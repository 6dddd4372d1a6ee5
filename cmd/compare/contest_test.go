// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold/cmd/compare/pairs"
)

// A drawn contest has pairs in which B takes ratio times what A takes, but for noise. It notes in
// which order sides were run.
type drawn struct {
	contest
	swapped, traced []bool
}

func newDrawn(ratio, noise float64) *drawn {
	random := rand.New(rand.NewPCG(3, 4))
	d := &drawn{contest: contest{per: "process", traces: true, warm: true}}
	d.pair = func(_ context.Context, swapped, traced bool) ([2]sample, error) {
		d.swapped, d.traced = append(d.swapped, swapped), append(d.traced, traced)
		if traced {
			return [2]sample{{MeasureGCCPU: 1, MeasureGCCycles: 10}, {MeasureGCCPU: ratio, MeasureGCCycles: 10}}, nil
		}
		value := func(v float64) sample { return sample{MeasureCPU: v * (1 + noise*random.NormFloat64())} }
		return [2]sample{value(1), value(ratio)}, nil
	}
	return d
}

func options(budget time.Duration, precision float64, count int) *Options {
	o := &Options{A: "a", B: "b", Budget: budget, Precision: precision, Count: count}
	if err := o.prepare(); err != nil {
		panic(err)
	}
	return o
}

func TestRunEndsWhenTight(t *testing.T) {
	d := newDrawn(2, 0.01)
	if err := run(t.Context(), []*contest{&d.contest}, options(time.Hour, 0.02, 0)); err != nil {
		t.Fatal(err)
	}
	if d.ended != endTight || len(d.plain) < minPairs || len(d.contest.traced) != tracedPairs || d.width() > 0.02 {
		t.Errorf("ended %q after %d pairs and %d traced ones, ±%g", d.ended, len(d.plain), len(d.contest.traced), d.width())
	}
	if runs := len(d.swapped); runs != 1+len(d.plain)+tracedPairs {
		t.Errorf("%d runs; the one that warms up does not count", runs)
	}
	for i, swapped := range d.swapped[1:] {
		if swapped != (i%2 == 1) {
			t.Errorf("the order does not alternate: %v", d.swapped)
			break
		}
	}
	if d.traced[0] || d.traced[1] || !d.traced[2] || d.traced[3] || !d.traced[4] {
		t.Errorf("plain and traced pairs do not alternate: %v", d.traced)
	}
	if name, i, ok := d.decisive(); name != MeasureCPU || !ok || i.Low > 2 || i.High < 2 {
		t.Errorf("%s: %+v", name, i)
	}
}

// TestRunEndsWithTheBudget gives no time at all: the first contest has a pair in any case, and the
// second is not even prepared.
func TestRunEndsWithTheBudget(t *testing.T) {
	d, e := newDrawn(2, 0.01), newDrawn(1, 0.01)
	e.prepare = func(context.Context, *contest) error { return errors.New("prepared") }
	if err := run(t.Context(), []*contest{&d.contest, &e.contest}, options(time.Nanosecond, 0.02, 0)); err != nil {
		t.Fatal(err)
	}
	if d.ended != endBudget || len(d.plain) != 1 || e.ended != endBudget || len(e.plain) != 0 {
		t.Errorf("ended %q after %d pairs, %q after %d", d.ended, len(d.plain), e.ended, len(e.plain))
	}
}

// TestShares wants each contest to have an equal part of the rest of the budget.
func TestShares(t *testing.T) {
	var contests []*contest
	for range 4 {
		contests = append(contests, &newDrawn(1, 0).contest)
	}
	if err := run(t.Context(), contests, options(time.Hour, 0.02, 0)); err != nil {
		t.Fatal(err)
	}
	for i, c := range contests {
		if part := time.Hour / time.Duration(4-i); c.share > part || c.share < part-time.Minute || c.deadline < c.share || c.ended != endTight {
			t.Errorf("contest %d of 4 has %s until %s and ended %q", i, c.share, c.deadline, c.ended)
		}
	}
}

// TestPrepare wants it once, before the first pair.
func TestPrepare(t *testing.T) {
	d, prepared := newDrawn(1, 0), 0
	d.prepare = func(_ context.Context, c *contest) error {
		prepared++
		if c != &d.contest || len(d.swapped) > 0 {
			t.Errorf("prepared after %d runs", len(d.swapped))
		}
		return nil
	}
	if err := run(t.Context(), []*contest{&d.contest}, options(time.Hour, 0.02, 2)); err != nil || prepared != 1 || len(d.plain) != 2 {
		t.Errorf("prepared %d times, %d pairs, %v", prepared, len(d.plain), err)
	}
}

// TestPrepareKeepsToTheBudget wants an end to finding the number of operations when the share of
// the budget is over, and none where the number of pairs is given.
func TestPrepareKeepsToTheBudget(t *testing.T) {
	d, e := newDrawn(1, 0), newDrawn(1, 0)
	d.prepare = func(ctx context.Context, _ *contest) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Minute):
			return errors.New("nobody ended it")
		}
	}
	if err := run(t.Context(), []*contest{&d.contest, &e.contest}, options(20*time.Millisecond, 0.02, 0)); err != nil {
		t.Fatal(err)
	}
	if d.ended != endBudget || len(d.plain) != 0 || len(d.notes) != 1 || e.ended == "" {
		t.Errorf("ended %q after %d pairs with the notes %q, then %q", d.ended, len(d.plain), d.notes, e.ended)
	}
	d = newDrawn(1, 0)
	d.prepare = func(ctx context.Context, _ *contest) error {
		if _, limited := ctx.Deadline(); limited {
			return errors.New("there is a deadline")
		}
		return nil
	}
	if err := run(t.Context(), []*contest{&d.contest}, options(time.Hour, 0.02, 1)); err != nil {
		t.Error(err)
	}
}

func TestRunEndsWithTheCount(t *testing.T) {
	for _, count := range []int{1, 3, 20} {
		d := newDrawn(1, 0)
		if err := run(t.Context(), []*contest{&d.contest}, options(time.Nanosecond, 0.02, count)); err != nil {
			t.Fatal(err)
		}
		if d.ended != endCount || len(d.plain) != count || len(d.contest.traced) != min(count, tracedPairs) {
			t.Errorf("asked for %d pairs: ended %q after %d and %d traced ones", count, d.ended, len(d.plain), len(d.contest.traced))
		}
	}
}

// TestEstimatesAreFew counts how often the interval is computed, which takes time by the square of
// the number of pairs: once for each of the first pairs, then with each twentieth more.
func TestEstimatesAreFew(t *testing.T) {
	d, computed, before := newDrawn(1, 0.3), 0, -1
	d.contest.prepare = nil
	o := options(time.Hour, leastPrecision, 0)
	for n := 1; n <= 400; n++ {
		if err := d.step(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		d.width()
		d.line(0, o)
		if d.estimate.pairs != before {
			computed, before = computed+1, d.estimate.pairs
		}
		if have := len(d.plain); before > have || have > pairs.ExactRanks && float64(before) < 0.94*float64(have) || have <= pairs.ExactRanks && before != have {
			t.Fatalf("of %d pairs the interval is of %d", have, before)
		}
	}
	if computed > pairs.ExactRanks+1+45 {
		t.Errorf("computed %d times", computed)
	}
}

// TestRunEndsWithTheMostPairs wants an end where no interval gets tight, and no more pairs by
// -count either.
func TestRunEndsWithTheMostPairs(t *testing.T) {
	d := newDrawn(1, 0.3)
	draw := d.pair
	d.plain, d.contest.traced = pairsOf(MeasureCPU, mostPairs-2, 1, 1, 1), make([][2]sample, tracedPairs)
	d.pair = func(ctx context.Context, swapped, traced bool) ([2]sample, error) {
		if len(d.plain) >= mostPairs {
			return [2]sample{}, errors.New("one pair too many")
		}
		return draw(ctx, swapped, traced)
	}
	if err := run(t.Context(), []*contest{&d.contest}, options(time.Hour, leastPrecision, 0)); err != nil {
		t.Fatal(err)
	}
	if d.ended != endPairs || len(d.plain) != mostPairs {
		t.Errorf("ended %q after %d pairs", d.ended, len(d.plain))
	}
	r := newReport(options(time.Hour, leastPrecision, 0), []*contest{&d.contest}, nil, nil, false)
	if !strings.HasSuffix(r.Verdict, ": 2000 pairs are the limit") {
		t.Errorf("verdict is %q", r.Verdict)
	}
	expectError(t, Options{A: "a", B: "b", Count: mostPairs + 1}, "-count is 2001; it must be 2000 at most")
}

func TestRunKeepsWhatWasDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := newDrawn(1, 0.5)
	draw := d.pair
	d.pair = func(ctx context.Context, swapped, traced bool) ([2]sample, error) {
		if len(d.plain) == 3 {
			cancel()
			return [2]sample{}, ctx.Err()
		}
		return draw(ctx, swapped, traced)
	}
	if err := run(ctx, []*contest{&d.contest}, options(time.Hour, 0.02, 0)); err != nil {
		t.Fatal(err)
	}
	if d.ended != endInterrupted || len(d.plain) != 3 {
		t.Errorf("ended %q after %d pairs", d.ended, len(d.plain))
	}
	failed := errors.New("the child failed")
	d = newDrawn(1, 0.5)
	d.pair = func(context.Context, bool, bool) ([2]sample, error) { return [2]sample{}, failed }
	if err := run(t.Context(), []*contest{&d.contest}, options(time.Hour, 0.02, 0)); !errors.Is(err, failed) {
		t.Errorf("error is %v", err)
	}
}

// A sided side notes when it runs.
type sided struct {
	name string
	log  *string
}

func (s sided) measure(context.Context, bool) (sample, error) {
	*s.log += s.name
	return sample{MeasureWall: 1}, nil
}

func TestInTurn(t *testing.T) {
	log := ""
	pair := inTurn([2]side{sided{"A", &log}, sided{"B", &log}})
	for _, swapped := range []bool{false, true} {
		if _, err := pair(t.Context(), swapped, false); err != nil {
			t.Fatal(err)
		}
	}
	if log != "ABBA" {
		t.Errorf("order is %s", log)
	}
}

func TestOptionsRefuse(t *testing.T) {
	for want, o := range map[string]Options{
		"A and B must not be empty":                       {A: " ", B: "b"},
		"must not be negative":                            {A: "a", B: "b", Count: -1},
		"-precision is 1; it must be":                     {A: "a", B: "b", Precision: 1},
		"-benchtime is -1ns":                              {A: "a", B: "b", Benchtime: -1},
		"-window is 1.5s; it must be whole seconds":       {A: "a", B: "b", Window: 1500 * time.Millisecond},
		"A is an address and B is none":                   {A: "http://x", B: "b"},
		"B is an address and A is none":                   {A: "a", B: "HTTPS://x"},
		"-bench: error parsing regexp":                    {A: "a", B: "b", Bench: "("},
		"-bench and -package are for benchmarks":          {A: "http://x", B: "http://y", Bench: "."},
		"-per names a counter of running servers":         {A: "a", B: "b", Per: "requests"},
		"-finding names a finding of the report":          {A: "a", B: "b", Finding: "x"},
		"-package \"missing\" is no folder":               {A: "main", B: "HEAD", Package: "missing"},
		"A, \"a 'b\": it cannot be split into words":      {A: "a 'b", B: "b"},
		"\"a | b\": pipes, redirections and lists":        {A: "a", B: "a | b"},
		"\"X=1\": it has no command":                      {A: "X=1", B: "b"},
		"\"http://\" is no address":                       {A: "http://", B: "http://x"},
		"no command \"no-such-command-anywhere\" in PATH": {A: "no-such-command-anywhere", B: "b"},
		"there is no file ./no-such-file":                 {A: "./no-such-file", B: "b"},
	} {
		expectError(t, o, want)
	}
}
