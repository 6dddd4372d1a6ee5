// Command accuracy compares the doctor's predictions with measurements, on programs whose cost is
// known.
//
//	go run ./accuracy -fast             # a quick look
//	go run ./accuracy -run 'lru|btree'  # some programs
//	go run ./accuracy -keep DIR         # all of them; profiles and measurements stay in DIR
//	go run ./accuracy -add DIR          # adds pairs of runs to the kept ones
//	go run ./accuracy -judge DIR        # the present doctor judges the kept profiles
//
// Each program in ../samples has a form before and a form after a change, or runs under two
// environments. The form before runs once with profiles, which the doctor reads. Then both forms
// run without, in turns, each in a process of its own, and the gain in CPU time for an operation is
// what they measure. Where the doctor proposes a value for a setting, the form after runs with that
// value.
//
// The exit code is 1 if a bar is missed, and 2 after an error.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
)

func main() {
	bad, err := command()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(2)
	case bad:
		os.Exit(1)
	}
}

// command reports whether a bar was missed.
func command() (bad bool, err error) {
	run := flag.String("run", "", "only programs whose name matches the `pattern`")
	count := flag.Int("count", 7, "pairs of runs whose medians are compared")
	fast := flag.Bool("fast", false, "three pairs and short profiles; the figures are rough")
	keep := flag.String("keep", "", "`directory` for profiles and measurements, kept")
	add := flag.String("add", "", "add pairs of runs to what an earlier run kept in the `directory`")
	judge := flag.String("judge", "", "judge what an earlier run kept in the `directory`, instead of running")
	golden := flag.String("golden", "", "write small profiles of each finding to the `directory`, for the doctor's tests, and end")
	doc := flag.String("doc", "", "write the table into this `file`, between its marks")
	flag.Parse()
	if flag.NArg() > 0 {
		return false, fmt.Errorf("argument %q: there are only flags, see -h", flag.Arg(0))
	}
	o := options{count: *count, scale: 3, keep: *keep, golden: *golden, doc: *doc}
	if *fast {
		o.count, o.scale = 3, 1
	}
	if o.run, err = regexp.Compile(*run); err != nil {
		return false, fmt.Errorf("-run: %w", err)
	}
	if o.count < 1 {
		return false, fmt.Errorf("-count %d: at least one pair is needed", o.count)
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
		if o.keep, err = os.MkdirTemp("", "accuracy"); err != nil {
			return false, err
		}
		defer os.RemoveAll(o.keep)
	}
	return runAll(ctx, o)
}

// runAll runs what the pattern selects, and judges it.
func runAll(ctx context.Context, o options) (bad bool, err error) {
	h, err := build(ctx, o)
	if err != nil {
		return false, err
	}
	defer h.close()
	if o.golden != "" {
		return false, h.goldens()
	}
	for _, p := range selected(o.run) {
		fmt.Fprintf(os.Stderr, "%-20s", p.name)
		if err := h.measure(p); err != nil {
			fmt.Fprintln(os.Stderr)
			return false, fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintln(os.Stderr)
	}
	return report(ctx, o)
}
