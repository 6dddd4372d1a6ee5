// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// The exit statuses of bench. 130 is the status that shells report for a program that Ctrl-C ended.
const (
	exitFailed      = 1
	exitInterrupted = 130
)

// errFailed ends the command with an error after the report, which names the failures.
var errFailed = errors.New("bench: a contestant failed, see the report")

// Command returns the verb bench for a command line, over the workloads of the set. Flags may be written with one dash
// or two.
func (s *Set) Command() *cli.Command {
	return &cli.Command{
		Name:  "bench",
		Usage: "measure ways to allocate memory on this machine",
		Description: "Each contestant runs in child processes of its own, interleaved with the others. Without flags a quick\n" +
			"selection ends in less than 90 seconds; only the figures of -full count. Time is CPU time, user and system.",
		Flags: slices.Concat([]cli.Flag{
			&cli.BoolFlag{Name: "full", Usage: "run everything at full size, and judge the bars"},
			&cli.StringFlag{Name: "run", Usage: "run only the workloads whose name matches `REGEXP`"},
			&cli.StringFlag{Name: "contestants", Usage: "run only the contestants whose name matches `REGEXP`"},
			&cli.IntFlag{Name: "count", Usage: "measure `N` passes, whatever time they take"},
			&cli.DurationFlag{Name: "mintime", Usage: "repeat the rounds of a child for `DURATION`"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object a row instead of tables"},
			&cli.StringFlag{Name: "html", Usage: "write one self-contained page with charts to `FILE`"},
			&cli.StringFlag{Name: "cpuprofile", Usage: "write a CPU profile of every contestant into `DIR`"},
		}, s.flags(), []cli.Flag{
			&cli.BoolFlag{Name: "list", Usage: "list the workloads and their contestants"},
		}),
		OnUsageError: terminal.UsageError(exitFailed),
		Action: func(ctx context.Context, c *cli.Command) error {
			if c.Args().Len() > 0 {
				return fmt.Errorf("bench: unknown argument %q; workloads are selected with -run", c.Args().First())
			}
			return s.run(ctx, c)
		},
	}
}

func (s *Set) run(ctx context.Context, c *cli.Command) error {
	stdout, stderr := c.Root().Writer, c.Root().ErrWriter
	if c.Bool("list") {
		return s.list(stdout)
	}
	options, err := s.readOptions(c)
	if err != nil {
		return err
	}
	p, err := s.makePlan(options)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Fprintln(stderr, p.outlook())
	line := terminal.NewProgress(stderr)
	p.run(ctx, func(e event) { line.Show(e.line()) })
	line.End()
	interrupted := ctx.Err() != nil
	rep := newReport(p, interrupted)
	if err := writeReport(c, rep, stdout, stderr); err != nil {
		return err
	}
	if interrupted {
		return cli.Exit("bench: interrupted; the report holds what was done", exitInterrupted)
	}
	if rep.failed() {
		return errFailed
	}
	return nil
}

// flags are the flags of the workloads.
func (s *Set) flags() (flags []cli.Flag) {
	for _, w := range s.workloads {
		for _, f := range w.Flags {
			flags = append(flags, f.Flag)
		}
	}
	return flags
}

// readFlags notes the values of the workloads' flags.
func (s *Set) readFlags(c *cli.Command, o *Options) error {
	for _, w := range s.workloads {
		for _, f := range w.Flags {
			if c.IsSet(f.Names()[0]) {
				if err := f.Read(c, o); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *Set) readOptions(c *cli.Command) (Options, error) {
	o := Options{
		Full: c.Bool("full"), Count: int(c.Int("count")), MinTime: c.Duration("mintime"),
		ProfileDir: c.String("cpuprofile"), Sizes: map[string][]int{}, Flags: map[string]string{},
	}
	var err error
	if o.Run, err = readRegexp(c, "run"); err != nil {
		return o, err
	}
	if o.Contestants, err = readRegexp(c, "contestants"); err != nil {
		return o, err
	}
	if o.Count < 0 || o.MinTime < 0 || o.MinTime > time.Hour {
		return o, errors.New("bench: -count must not be negative, and -mintime must be between 0 and an hour")
	}
	if err := s.readFlags(c, &o); err != nil {
		return o, err
	}
	if o.ProfileDir != "" {
		if err := os.MkdirAll(o.ProfileDir, 0o755); err != nil {
			return o, fmt.Errorf("bench: -cpuprofile: %w", err)
		}
	}
	return o, nil
}

func readRegexp(c *cli.Command, flag string) (*regexp.Regexp, error) {
	text := c.String(flag)
	if text == "" {
		return nil, nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("bench: -%s: %w", flag, err)
	}
	return re, nil
}

func writeReport(c *cli.Command, rep *report, stdout, stderr io.Writer) error {
	if c.Bool("json") {
		if err := rep.writeJSON(stdout); err != nil {
			return err
		}
		// Stdout has only the rows. Failures and bars go to stderr, for the user at the terminal.
		t := &tableWriter{out: stderr, Painter: terminal.Painter{On: terminal.Colours(stderr)}}
		t.writeFailures(rep.Rows)
		t.writeBars(rep.Bars)
	} else {
		t := &tableWriter{out: stdout, Painter: terminal.Painter{On: terminal.Colours(stdout)}}
		t.write(rep)
	}
	if file := c.String("html"); file != "" {
		return rep.writeHTML(file)
	}
	return nil
}

// list prints the workloads and their contestants.
func (s *Set) list(out io.Writer) error {
	for _, w := range s.workloads {
		if _, err := fmt.Fprintf(out, "%s: %s\n", w.Name, w.Doc); err != nil {
			return err
		}
		for _, c := range w.Contestants {
			fmt.Fprintf(out, "    %-28s %s\n", c.Name, c.Note)
		}
	}
	return nil
}
