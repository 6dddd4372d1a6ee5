// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/doctor/collect"
	"github.com/freehold-go/freehold/cmd/doctor/render"
	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/terminal"
)

const doctorUsage = "[flags] [FILE | FOLDER | URL | PACKAGE ...] [-- COMMAND ARGUMENT ...]"

// doctorCommand is the verb doctor: the collector's cost in a program, and the CPU that a change
// saves. Program is the command line behind "--".
func doctorCommand(program []string) *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		Usage:     "show the cost of garbage collection in a program, the lines that cause it, and the CPU that a change saves",
		ArgsUsage: doctorUsage,
		Description: "Inputs are profiles (CPU and heap), metrics, traces and the output of go test -bench, in files or folders; the\n" +
			"address of a running program with net/http/pprof; with -bench a package; after -- a command, which runs with\n" +
			"GODEBUG=gctrace=1. All inputs must be of one program. Without inputs, the doctor profiles a sample service for ten seconds.",
		Flags: slices.Concat([]cli.Flag{
			&cli.DurationFlag{Name: "duration", Usage: "watch for `DURATION`; the default is 10s for a running program, 3s for each benchmark, and the whole run of a command"},
			&cli.StringFlag{Name: "bench", Usage: "run the benchmarks of the given package that match `REGEXP`"},
			&cli.StringSliceFlag{Name: "before", Usage: "compare with an earlier state: `FILE` or folder; repeat the flag for several files"},
			&cli.StringFlag{Name: "per", Usage: "show the cost of one operation, counted by `COUNTER` in /metrics or /debug/vars of the program or in two files of the inputs, or a number of operations; with -before also two numbers, BEFORE,AFTER"},
			&cli.StringFlag{Name: "label", Usage: "split the CPU time by the values of the label `KEY` that the program sets with pprof.Do, or restrict the findings to KEY=VALUE"},
			&cli.StringFlag{Name: "source", Usage: "look for the program's source in `DIR`; the default is the place that the profiles name; none reads no source"},
			&cli.StringFlag{Name: "save", Usage: "keep the collected files in `DIR`, as an input for a later call"},
			&cli.BoolFlag{Name: "v", Usage: "print all: the CPU time by class, every finding, its evidence, code and checks, and the missing evidence"},
		}, serverFlags(), []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print the report as one JSON object"},
			&cli.BoolFlag{Name: "sarif", Usage: "print the findings as SARIF 2.1.0"},
			&cli.StringFlag{Name: "html", Usage: "write one self-contained page with a flame graph to `FILE`"},
			&cli.StringFlag{Name: "pprof", Usage: "write the CPU profile, with the collector's work charged to its causes, to `FILE`"},
			&cli.StringFlag{Name: "fail-above", Usage: "exit with 1 if a finding's gain is above `SHARE`, such as 0.05 or 5%"},
		}),
		DisableSliceFlagSeparator: true, // a file's name may hold a comma
		OnUsageError:              terminal.UsageError(exitNoIdea),
		Action: func(ctx context.Context, c *cli.Command) error {
			// Large profiles are many small objects that live to the end: with a smaller heap, one
			// of 20 MB stays below 300 MB of memory.
			if os.Getenv("GOGC") == "" {
				debug.SetGCPercent(35)
			}
			err := runDoctor(ctx, c, program)
			var exit cli.ExitCoder
			if err != nil && !errors.As(err, &exit) {
				return cli.Exit(err, exitNoIdea)
			}
			return err
		},
	}
}

// splitProgram cuts a command line at "--", which the library for flags would swallow. Only the
// doctor has something behind it.
func splitProgram(args []string) (own, program []string) {
	if len(args) < 2 || args[1] != "doctor" && args[1] != "sweep" {
		return args, nil
	}
	for i, a := range args {
		if a == "--" {
			return args[:i], args[i+1:]
		}
	}
	return args, nil
}

func runDoctor(ctx context.Context, c *cli.Command, program []string) error {
	threshold, err := 0.0, error(nil)
	if c.IsSet("fail-above") {
		if threshold, err = readShare(c.String("fail-above")); err != nil {
			return err
		}
	}
	if c.Bool("json") && c.Bool("sarif") {
		return errors.New("doctor: -json and -sarif both print to the standard output; choose one")
	}
	if program != nil && len(program) == 0 {
		return errors.New("doctor: there is no command behind --")
	}
	if c.Duration("duration") < 0 {
		return errors.New("doctor: -duration must not be negative")
	}
	if len(c.StringSlice("before")) > 0 && c.Args().Len() == 0 && program == nil {
		return errors.New("doctor: -before has nothing to be compared with; give the state after the change as well: files, an address, or a command behind --")
	}
	after, before, err := examine(ctx, c, program)
	if err != nil {
		return err
	}
	if err := writeDoctor(c, after, before, sweepFor(c, program)); err != nil {
		return err
	}
	if failure := after.evidence.Failure; failure != "" {
		return cli.Exit("doctor: the program failed: "+failure+"; the report covers the time before", exitFailed)
	}
	if after.report.Confidence == doctor.None && len(after.report.Allocators) == 0 && len(after.report.Benchmarks) == 0 {
		return cli.Exit("doctor: no answer; the report names the missing evidence", exitNoIdea)
	}
	if c.IsSet("fail-above") {
		return gate(after, threshold, c.String("fail-above"))
	}
	return nil
}

// gate is the exit code of -fail-above.
func gate(p *patient, limit float64, text string) error {
	err := doctor.Gate(p.evidence, p.report, limit, "-fail-above "+text)
	var failed *doctor.GateError
	switch {
	case !errors.As(err, &failed):
		return err
	case failed.Undecided:
		return cli.Exit(fmt.Errorf("doctor: %w", err), exitNoIdea)
	}
	return cli.Exit(fmt.Errorf("doctor: %w", err), exitAbove)
}

// A patient is a program that was diagnosed.
type patient struct {
	evidence *evidence.Evidence
	report   *doctor.Report
}

// subject is what a page shows of it. The attributed profile is made here alone, because it is as
// large as the original.
func (p *patient) subject() render.Subject {
	return render.Subject{Report: p.report, Attributed: doctor.Attributed(p.evidence)}
}

// examine collects from what the command line names and diagnoses it. Before is nil without
// -before.
func examine(ctx context.Context, c *cli.Command, program []string) (after, before *patient, err error) {
	stderr := c.Root().ErrWriter
	progress := terminal.NewProgress(stderr)
	defer progress.End()
	server, err := readServer(c, "doctor")
	if err != nil {
		return nil, nil, err
	}
	o := collect.Options{Server: server, Source: c.String("source"), Stdin: os.Stdin, Progress: progress.Show, Output: stderr}
	list := c.StringSlice("before")
	per, err := readPer(c.String("per"), len(list) > 0)
	if err != nil {
		return nil, nil, err
	}
	if o.Per = per[0]; len(list) > 0 {
		if before, err = diagnose(ctx, list, nil, o, c.String("label"), stderr); err != nil {
			return nil, nil, err
		}
	}
	o.Per = per[1]
	o.Duration, o.Bench, o.Save = c.Duration("duration"), c.String("bench"), c.String("save")
	after, err = diagnose(ctx, c.Args().Slice(), program, o, c.String("label"), stderr)
	return after, before, err
}

// diagnose collects from one state of a program, and judges it, by a label if that is not empty.
func diagnose(ctx context.Context, inputs, program []string, o collect.Options, label string, stderr io.Writer) (*patient, error) {
	e, err := gather(ctx, inputs, program, o)
	if err != nil {
		return nil, err
	}
	if label != "" {
		if err := e.ChooseLabel(label); err != nil {
			return nil, fmt.Errorf("doctor: -label: %s: %w", e.Source, err)
		}
	}
	if terminal.Is(stderr) { // in a log it would be the only line for inputs that are read at once
		o.Progress("diagnosing " + e.Source)
	}
	// The compilers that read the source are in process groups of their own, so that the doctor has
	// to end them. A second interrupt ends the doctor at once.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	report := doctor.Diagnose(ctx, e)
	if ctx.Err() != nil {
		return nil, errors.New("doctor: interrupted")
	}
	return &patient{evidence: e, report: report}, nil
}

// gather collects until an interrupt. A second one ends the doctor at once, unless a command must
// be ended first, for which there is a limit. Afterwards one is enough again: nothing is left that
// was started.
func gather(ctx context.Context, inputs, program []string, o collect.Options) (*evidence.Evidence, error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(program) == 0 {
		context.AfterFunc(ctx, stop)
	}
	e, err := collect.From(ctx, inputs, program, o)
	if err == nil && len(program) == 0 && ctx.Err() != nil {
		return nil, errors.New("doctor: interrupted")
	}
	return e, err
}

// writeDoctor writes the report in each of the forms that were asked for.
func writeDoctor(c *cli.Command, after, before *patient, measure string) error {
	stdout := c.Root().Writer
	var old *doctor.Report
	if before != nil {
		old = before.report
	}
	if file := c.String("html"); file != "" {
		if err := writePage(file, after, before); err != nil {
			return err
		}
	}
	if file := c.String("pprof"); file != "" {
		attributed := doctor.Attributed(after.evidence)
		if attributed == nil {
			return errors.New("doctor: -pprof: there is no CPU profile to charge the collector's work in")
		}
		if err := writeFile("doctor: -pprof", file, attributed.Write); err != nil {
			return err
		}
	}
	switch {
	case c.Bool("json"):
		return render.JSON(stdout, after.report, old)
	case c.Bool("sarif"):
		return render.SARIF(stdout, after.report, after.evidence.Root, after.evidence.Main)
	}
	return render.Text(stdout, after.report, old, render.Style{Width: terminal.Width(stdout), Colours: terminal.Colours(stdout), Verbose: c.Bool("v"), Measure: measure})
}

// sweepFor is the call of freehold sweep that measures the settings of the program that was examined.
func sweepFor(c *cli.Command, program []string) string {
	switch {
	case c.String("bench") != "":
		return fmt.Sprintf("freehold sweep -bench '%s' %s", c.String("bench"), c.Args().First())
	case c.Args().Len() == 0 && len(program) > 0:
		return "freehold sweep -- " + strings.Join(program, " ")
	}
	return "freehold sweep -- COMMAND, or with -load CMD for a server"
}

func writePage(file string, after, before *patient) error {
	var old *render.Subject
	if before != nil {
		subject := before.subject()
		old = &subject
	}
	return writeFile("doctor: -html", file, func(w io.Writer) error { return render.HTML(w, after.subject(), old) })
}

// writeFile writes what a flag asked for; what begins its errors.
func writeFile(what, file string, write func(io.Writer) error) error {
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := write(f); err != nil {
		f.Close()
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// readShare reads a share: a fraction, or a percentage with its sign.
func readShare(text string) (float64, error) {
	number, isPercent := strings.CutSuffix(strings.TrimSpace(text), "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if isPercent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, fmt.Errorf("doctor: -fail-above is %q; it must be a share of the CPU between 0 and 1, or 0%% and 100%%", text)
	}
	return share, nil
}

// readPer reads how operations are counted, before and after: a counter's name, a number, or two
// numbers if two states are compared.
func readPer(text string, both bool) (per [2]evidence.Per, err error) {
	if text == "" {
		return per, nil
	}
	numbers := strings.Split(text, ",")
	for i := range per {
		v, err := strconv.ParseFloat(strings.TrimSpace(numbers[min(i, len(numbers)-1)]), 64)
		if err != nil {
			return [2]evidence.Per{{Counter: text}, {Counter: text}}, nil
		}
		if !(v > 0 && v < 1e18) || len(numbers) > 2 {
			return per, fmt.Errorf("doctor: -per is %q; it must be the name of a counter, or a number of operations above 0", text)
		}
		per[i].Number = v
	}
	if len(numbers) > 1 && !both {
		return per, fmt.Errorf("doctor: -per is %q; two numbers need -before, for the state before the change and that after it", text)
	}
	return per, nil
}
