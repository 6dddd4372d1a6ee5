// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/freehold-go/freehold/cmd/compare/pairs"
	"github.com/freehold-go/freehold/cmd/terminal"
)

const (
	// minPairs are run before an interval can count as tight: with fewer pairs its width says
	// little.
	minPairs = 8
	// tracedPairs is the number of pairs for the collector's figures: the fewest that have an interval, by the usual confidence and by
	// the strict one.
	tracedPairs       = 6
	tracedPairsStrict = 8
)

// A contest is one comparison: a pair of commands, one benchmark on both sides, or a pair of
// servers.
type contest struct {
	name string // of the benchmark, or empty
	per  string // the unit of work: process, op, second
	// pair measures both sides, B first if swapped. If traced, the samples have the collector's
	// figures and no others.
	pair func(ctx context.Context, swapped, traced bool) ([2]sample, error)
	// traces says that the collector's figures need pairs of their own.
	traces bool
	// warm says that the first pair runs with cold caches and does not count.
	warm  bool
	notes []string
	ops   int // of a benchmark: operations in a run
	// confidence is that of the intervals.
	confidence float64
	// prepare does the slow work before the first pair; it may be nil.
	prepare func(ctx context.Context, c *contest) error

	share, deadline time.Duration // of the budget: its length, and its end since the beginning
	first           bool
	plain, traced   [][2]sample
	runs            int // pairs so far, whether they count or not
	longest         time.Duration
	ended           string // why no more pairs are run
	estimate        estimate
}

// An estimate is the interval of the decisive measure, as it was after a number of pairs.
type estimate struct {
	pairs int
	name  string
	pairs.Interval
	ok bool
}

// The reasons to end.
const (
	endTight       = "tight"
	endCount       = "count"
	endBudget      = "budget"
	endPairs       = "pairs"
	endInterrupted = "interrupted"
)

// run runs one contest after the other, each until its interval is tight or its equal share of the
// remaining budget is used up. After an error or a cancelled ctx the measurements so far are kept.
func run(ctx context.Context, contests []*contest, o *Options) error {
	begin := time.Now()
	for i, c := range contests {
		c.confidence = o.confidence()
		elapsed := time.Since(begin)
		c.share = max(0, o.Budget-elapsed) / time.Duration(len(contests)-i)
		c.deadline = elapsed + c.share
		c.first = i == 0
		for c.ended == "" {
			if c.ended = c.reasonToEnd(ctx, o, time.Since(begin)); c.ended != "" {
				break
			}
			o.progress(c.line(time.Since(begin), o))
			if err := c.step(ctx, o); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
	return nil
}

// reasonToEnd decides whether c needs another pair, and whether there is time for it. The first
// contest gets one pair in any case.
func (c *contest) reasonToEnd(ctx context.Context, o *Options, elapsed time.Duration) string {
	done := !c.traces || len(c.traced) >= min(len(c.plain), c.mostTraced())
	switch {
	case ctx.Err() != nil:
		return endInterrupted
	case o.Count > 0:
		if len(c.plain) >= o.Count && done {
			return endCount
		}
	case (len(c.plain) > 0 || !c.first) && elapsed+c.longest > c.deadline:
		return endBudget
	case len(c.plain) >= minPairs && done && c.width() <= o.Precision:
		return endTight
	case len(c.plain) >= mostPairs && done:
		return endPairs
	}
	return ""
}

// mostTraced is the number of traced pairs.
func (c *contest) mostTraced() int {
	if c.confidence > pairs.Usual {
		return tracedPairsStrict
	}
	return tracedPairs
}

// step prepares the contest if it is not prepared yet, or runs one pair. Plain pairs and traced
// ones alternate until there are enough of the latter.
func (c *contest) step(ctx context.Context, o *Options) error {
	if prepare := c.prepare; prepare != nil {
		c.prepare = nil
		return c.prepareWithin(ctx, prepare, o)
	}
	traced := c.traces && len(c.traced) < min(len(c.plain), c.mostTraced())
	begin := time.Now()
	both, err := c.pair(ctx, c.runs%2 == 1, traced)
	if err != nil {
		return err
	}
	took := time.Since(begin)
	c.longest = max(c.longest, took)
	c.runs++
	switch {
	case c.warm && c.runs == 1 && (o.Count > 0 || took < c.share/10):
		c.runs, c.warm = 0, false
	case traced:
		c.traced = append(c.traced, both)
	default:
		c.plain = append(c.plain, both)
	}
	return nil
}

// prepareWithin prepares, for as long as the contest's share of the budget lasts.
func (c *contest) prepareWithin(ctx context.Context, prepare func(context.Context, *contest) error, o *Options) error {
	if o.Count > 0 {
		return prepare(ctx, c)
	}
	limited, cancel := context.WithTimeout(ctx, c.share)
	defer cancel()
	err := prepare(limited, c)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		c.ended = endBudget
		c.notes = append(c.notes, "finding the number of operations took longer than its share of the budget")
		return nil
	}
	return err
}

// decisive is the measure whose interval ends the runs: the CPU time, or the elapsed time if a side
// has no CPU time. Beyond pairs.ExactRanks pairs it is computed again only after 5 % more, because fewer
// hardly change it.
func (c *contest) decisive() (string, pairs.Interval, bool) {
	n, e := len(c.plain), &c.estimate
	if n == e.pairs || n > pairs.ExactRanks && n < mostPairs && float64(n) < 1.05*float64(e.pairs) {
		return e.name, e.Interval, e.ok
	}
	*e = estimate{pairs: n}
	all := measured(c.plain)
	for _, name := range []string{MeasureCPU, MeasureWall} {
		if s := all[name]; s != nil {
			if i, ok := pairs.Ratio(s.a, s.b, c.confidence); ok {
				e.name, e.Interval, e.ok = name, i, true
				break
			}
		}
	}
	return e.name, e.Interval, e.ok
}

// width is the width of the decisive interval; larger than any precision while there is none.
func (c *contest) width() float64 {
	if _, i, ok := c.decisive(); ok && i.Known() {
		return i.Width()
	}
	return 1e9
}

// line is the text of the progress line while a pair runs.
func (c *contest) line(elapsed time.Duration, o *Options) string {
	line := terminal.Elapsed(elapsed) + ": "
	if c.name != "" {
		line += c.name + ", "
	}
	if c.prepare != nil {
		return line + "how many operations?"
	}
	line += fmt.Sprintf("pair %d", len(c.plain)+len(c.traced)+1)
	if _, i, ok := c.decisive(); ok && i.Known() {
		line += fmt.Sprintf(", B/A %s ±%s", terminal.FineRatio(i.Ratio), terminal.Percent(i.Width()))
	}
	if o.Count == 0 {
		line += fmt.Sprintf(" (until ±%s, or %s)", terminal.Percent(o.Precision), terminal.Elapsed(c.deadline))
	}
	return line
}

// inTurn measures two sides one after the other.
func inTurn(sides [2]side) func(ctx context.Context, swapped, traced bool) ([2]sample, error) {
	return func(ctx context.Context, swapped, traced bool) (both [2]sample, err error) {
		order := [2]int{0, 1}
		if swapped {
			order = [2]int{1, 0}
		}
		for _, i := range order {
			if both[i], err = sides[i].measure(ctx, traced); err != nil {
				return both, err
			}
		}
		return both, nil
	}
}

// A side runs once and returns its cost. If traced, the sample has the collector's figures and no
// others.
type side interface {
	measure(ctx context.Context, traced bool) (sample, error)
}
