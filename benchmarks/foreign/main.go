// Command foreign compares the doctor's report on programs of other people with measurements and
// with the judgement of an expert.
//
//	go run ./foreign -keep DIR -count 0   # builds and profiles all programs
//	go run ./foreign -add DIR             # times them: five rounds, added to those in DIR
//	go run ./foreign -add DIR -blind      # the same, and prints the gains without the doctor
//	go run ./foreign -judge DIR           # the present doctor judges the kept profiles
//	go run ./foreign -run 'goja|bleve'    # some programs: builds, profiles, times, judges
//	go run ./foreign -keep DIR -sweep     # compares freehold sweep with thirty rounds on some programs
//
// A program is built from its module at an exact version. Its driver in programs/ has the load, and
// none of its code is here. Each program runs:
//
//  1. Once with profiles, as its users can take them: a CPU profile, heap profiles, and the text of
//     heap?debug=1. There are no runtime metrics.
//  2. In rounds without profiles. Each round runs the program in its own environment, then under
//     each setting (GOGC=200, 400 and 800, unless the list says otherwise), then in its form after
//     a change, if it has one. Each run is a process of its own, in turns. Measured are the CPU
//     time for an operation and the peak of the resident set.
//
// The judge reads the profiles as freehold doctor FOLDER does. The exit code is 1 if a bar is
// missed, and 2 after an error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
)

func main() {
	bad, err := start()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "foreign:", err)
		os.Exit(2)
	case bad:
		os.Exit(1)
	}
}

// start reports whether a bar was missed.
func start() (bad bool, err error) {
	run := flag.String("run", "", "only programs whose name matches the `pattern`")
	count := flag.Int("count", 5, "rounds of runs; 0 profiles the programs only")
	keep := flag.String("keep", "", "`directory` for sources, binaries, profiles and measurements, kept")
	add := flag.String("add", "", "add rounds to what an earlier run kept in the `directory`")
	blind := flag.Bool("blind", false, "print the measured gains, without the doctor's report")
	judge := flag.String("judge", "", "judge what an earlier run kept in the `directory`, instead of running")
	sweeps := flag.Bool("sweep", false, "compare freehold sweep with a sweep of many rounds; what the directory of -keep has is not swept again")
	doc := flag.String("doc", "", "write the tables into this `file`, between their marks")
	flag.Parse()
	if flag.NArg() > 0 {
		return false, fmt.Errorf("argument %q: there are only flags, see -h", flag.Arg(0))
	}
	o := options{count: *count, keep: *keep, doc: *doc, blind: *blind}
	if o.run, err = regexp.Compile(*run); err != nil {
		return false, fmt.Errorf("-run: %w", err)
	}
	if o.count < 0 || *add != "" && o.count == 0 {
		return false, fmt.Errorf("-count %d: at least one round is needed", o.count)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	if *judge != "" {
		o.keep = *judge
		return report(ctx, o)
	}
	if *add != "" {
		o.keep, o.add = *add, true
	}
	if o.keep == "" {
		if o.keep, err = os.MkdirTemp("", "foreign"); err != nil {
			return false, err
		}
		defer os.RemoveAll(o.keep)
	}
	// The profiles name the source by its path, which the judge looks for.
	if o.keep, err = filepath.Abs(o.keep); err != nil {
		return false, err
	}
	if *sweeps {
		h, err := newHarness(ctx, o)
		if err != nil {
			return false, err
		}
		return h.sweepAll()
	}
	return runAll(ctx, o)
}

// runAll runs what the pattern selects, and judges it. After a program that fails it goes on.
func runAll(ctx context.Context, o options) (bad bool, err error) {
	h, err := newHarness(ctx, o)
	if err != nil {
		return false, err
	}
	var failed error
	for _, p := range selected(o.run) {
		fmt.Fprintf(os.Stderr, "%-20s", p.name)
		err := h.program(p)
		fmt.Fprintln(os.Stderr)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", p.name, err))
		}
		if ctx.Err() != nil {
			return false, failed
		}
	}
	if failed != nil {
		fmt.Fprintln(os.Stderr, failed)
	}
	if o.count == 0 {
		return false, failed // the judgement of a new program is written now, before the doctor's
	}
	if o.blind {
		return false, errors.Join(failed, printGains(os.Stdout, o))
	}
	bad, err = report(ctx, o)
	return bad, errors.Join(failed, err)
}
