// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/freehold-go/freehold/cmd/compare/child"
	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// Run measures the settings. If ctx is cancelled after the first whole round, the report has the rounds until then, and says so.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.prepare(); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "freehold-sweep-")
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	defer os.RemoveAll(temp)
	p, err := newProgram(ctx, &o, temp)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	rows, err := firstRound(ctx, p, &o)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	whole := time.Duration(0)
	for _, r := range rows {
		whole += r.took
	}
	o.say(fmt.Sprintf("sweep: %d settings, %d rounds: about %s; Ctrl-C ends it with the rounds that are done", len(rows), o.Rounds, terminal.Elapsed(whole*time.Duration(o.Rounds))))
	err = rounds(ctx, p, rows, &o)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	done := len(rows[0].cpu)
	for _, r := range rows {
		done = min(done, len(r.cpu))
	}
	if done == 0 {
		return nil, interrupted(ctx, err)
	}
	return newReport(&o, p, rows, done, ctx.Err() != nil), nil
}

// interrupted says that nothing was measured, if that is why.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("sweep: interrupted before the first round was done")
	}
	return err
}

// firstRound runs the first setting to warm caches, then each setting once, with the collector's trace, and chooses the limits. Nothing of
// its times counts.
func firstRound(ctx context.Context, p program, o *Options) ([]*row, error) {
	settings := o.Settings
	if settings == nil {
		for _, n := range percentages {
			settings = append(settings, Setting{GOGC: n})
		}
	}
	var rows []*row
	add := func(settings []Setting) error {
		for _, s := range settings {
			o.progress("sweep: the first round, which does not count: " + s.String())
			r, err := firstRun(ctx, p, s, o)
			if err != nil {
				return err
			}
			rows = append(rows, r)
		}
		return nil
	}
	// The very first run may find cold caches, and its collections and memory would be theirs.
	o.progress("sweep: a run before the first round, which warms caches: " + settings[0].String())
	if _, err := firstRun(ctx, p, settings[0], o); err != nil {
		return nil, err
	}
	if err := add(settings); err != nil {
		return nil, err
	}
	if o.Settings == nil {
		if err := add(limits(rows[0].peak)); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func firstRun(ctx context.Context, p program, s Setting, o *Options) (*row, error) {
	begin := time.Now()
	if err := prepare(ctx, o); err != nil {
		return nil, err
	}
	out, err := p.run(ctx, s, true)
	if err != nil {
		return nil, err
	}
	cycles, err := out.Cycles("sweep")
	if err != nil {
		return nil, err
	}
	cycles = slices.DeleteFunc(cycles, func(c evidence.GCCycle) bool { return c.Forced })
	return &row{setting: s, took: time.Since(begin), cycles: len(cycles), gogc: shownGOGC(cycles), peak: out.PeakRSS}, nil
}

// shownGOGC is the GOGC that the goals of the heap show: how far each lies above what the collection before found live. It is 0 if the
// trace, which has whole MiB, does not show it.
func shownGOGC(cycles []evidence.GCCycle) float64 {
	const least = 4 << 20
	var shown []float64
	for i := 1; i < len(cycles); i++ {
		if live := cycles[i-1].Live; live >= least && cycles[i].Number == cycles[i-1].Number+1 {
			shown = append(shown, 100*(float64(cycles[i].Goal)/float64(live)-1))
		}
	}
	if len(shown) < 2 {
		return 0
	}
	return max(1, terminal.Median(shown))
}

// prepare runs -prepare.
func prepare(ctx context.Context, o *Options) error {
	if o.Prepare == "" {
		return nil
	}
	return once(ctx, "sweep: -prepare", o.Prepare)
}

// rounds runs each setting once a round. A round begins one setting later than the one before, and every second one runs backwards.
func rounds(ctx context.Context, p program, rows []*row, o *Options) error {
	for round := range o.Rounds {
		order := slices.Concat(rows[round%len(rows):], rows[:round%len(rows)])
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for i, r := range order {
			o.progress(fmt.Sprintf("sweep: round %d of %d, %d of %d: %s", round+1, o.Rounds, i+1, len(rows), r.setting))
			if err := prepare(ctx, o); err != nil {
				return err
			}
			out, err := p.run(ctx, r.setting, false)
			if err != nil {
				return err
			}
			r.cpu = append(r.cpu, out.CPU.Seconds())
			r.wall = append(r.wall, out.Wall.Seconds())
			r.rss = append(r.rss, out.PeakRSS)
		}
	}
	return nil
}

// newProgram makes the program ready.
func newProgram(ctx context.Context, o *Options, temp string) (program, error) {
	if o.Bench != "" {
		return newBenchmark(ctx, o, temp)
	}
	env, args := leadingVariables(o.Command)
	if len(args) == 0 {
		return nil, errors.New("sweep: there are variables and no command behind --")
	}
	c := &commandProgram{child.Process{Name: "sweep: the command", Args: args, Env: env}}
	if o.Load != "" {
		return &serverProgram{commandProgram: c, o: o}, nil
	}
	return c, nil
}
