// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold/cmd/compare"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// compareCommand is the verb compare: whether a change made a program cheaper.
func compareCommand() *cli.Command {
	return &cli.Command{
		Name:      "compare",
		Usage:     "measure whether B takes less than A, with the interval of the ratio",
		ArgsUsage: "A B | -go A,B | -with MODULE@A,B | -env NAME=VALUE  PROGRAM",
		Description: "A and B are two commands in quotes, two addresses of running servers with net/http/pprof, with -bench two test\n" +
			"binaries or packages, or with -package two revisions of a git repository (. is the working tree). With -go, -with or\n" +
			"-env both sides are built from one PROGRAM: a main package with arguments, in quotes, or with -bench a package of\n" +
			"benchmarks. go.mod, go.sum and go.work stay as they are. The sides run in turns\n" +
			"until the 95 % interval of the ratio of their CPU times is as narrow as -precision says, or until -budget ends.\n\n" +
			"Exit status: 0 compared; 1 with -fail-above or -gate alone, and B above it; 2 no result; 130 interrupted.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "bench", Usage: "compare the benchmarks of two test binaries or packages that match `REGEXP`, as in go test -bench"},
			&cli.StringFlag{Name: "package", Usage: "compare the benchmarks of the package in folder `DIR` at two revisions"},
			&cli.StringFlag{Name: "go", Usage: "build A and B with two `RELEASES` of Go, such as 1.26.8,1.27.4, or both with one"},
			&cli.BoolFlag{Name: "goline", Usage: "set the go line to the release of each side, and so the defaults of GODEBUG"},
			&cli.StringFlag{Name: "with", Usage: "build A and B with two versions of a module: `MODULE@V1,V2`"},
			&cli.StringSliceFlag{Name: "env", Usage: "build and run B with a variable, `NAME=VALUE`, that A lacks: GOEXPERIMENT=…, GOGC=…"},
			&cli.DurationFlag{Name: "budget", Value: compare.DefaultBudget, Usage: "start no run that would end after `DURATION`"},
			&cli.FloatFlag{Name: "precision", Value: compare.DefaultPrecision, Usage: "end when the interval is no wider than ±`SHARE`"},
			&cli.IntFlag{Name: "count", Usage: "run `N` pairs, at most 2000, without a limit of time"},
			&cli.DurationFlag{Name: "benchtime", Value: compare.DefaultBenchtime, Usage: "let a run of a benchmark last `DURATION` on the slower side"},
			&cli.DurationFlag{Name: "window", Value: compare.DefaultWindow, Usage: "watch servers for `DURATION` at a time"},
			&cli.StringFlag{Name: "per", Usage: "divide the cost of servers by the counter `NAME` in their /debug/vars or /metrics"},
			&cli.StringFlag{Name: "doctor", Usage: "compare the gain that the doctor's report in `FILE` (from -json, of A) predicts with the measurement"},
			&cli.StringFlag{Name: "finding", Usage: "take the prediction of the finding `ID`; by default the first with a gain or a loss"},
			&cli.FloatFlag{Name: "fail-above", Usage: "exit with status 1 if the whole interval says that B takes more than `SHARE` above A: 0.05 is 5 %"},
			&cli.StringSliceFlag{Name: "gate", Usage: "exit with status 1 if the whole interval of a measure says that B is more than a share above A: `MEASURE=SHARE`, such as allocs=0.01 or peak_heap=0.05"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object in place of tables"},
		},
		OnUsageError: terminal.UsageError(exitNoResult),
		Action: func(ctx context.Context, c *cli.Command) error {
			err := runCompare(ctx, c)
			if _, ok := err.(cli.ExitCoder); ok || err == nil { // not errors.As: a child's exit status is not ours
				return err
			}
			return cli.Exit(err, exitNoResult)
		},
	}
}

func runCompare(ctx context.Context, c *cli.Command) error {
	versions := compare.Versions{GoLine: c.Bool("goline"), With: c.String("with"), Env: c.StringSlice("env")}
	if list := c.String("go"); list != "" {
		versions.Go = strings.Split(list, ",")
	}
	switch n, one := c.Args().Len(), versions.Any(); {
	case one && n != 1:
		return fmt.Errorf("compare: -go, -with and -env build both sides from one program, but got %d arguments; a program with arguments stands in quotes", n)
	case !one && n != 2:
		return fmt.Errorf("compare: want two sides, A and B, but got %d; a command with arguments stands in quotes", n)
	}
	gates, err := parseGates(c.StringSlice("gate"))
	if err != nil {
		return err
	}
	if c.IsSet("fail-above") && !(c.Float("fail-above") >= 0) {
		return fmt.Errorf("compare: -fail-above is %g; it must not be negative", c.Float("fail-above"))
	}
	for _, name := range []string{"budget", "benchtime", "window", "precision"} {
		if v := c.Value(name); v == time.Duration(0) || v == 0.0 {
			return fmt.Errorf("compare: -%s is 0; leave it out for the default", name)
		}
	}
	o := compare.Options{
		A: c.Args().Get(0), B: c.Args().Get(1), Bench: c.String("bench"), Package: c.String("package"), Versions: versions,
		Budget: c.Duration("budget"), Precision: c.Float("precision"), Count: int(c.Int("count")),
		Benchtime: c.Duration("benchtime"), Window: c.Duration("window"), Per: c.String("per"), Finding: c.String("finding"),
	}
	if err := readDoctorReport(&o, c.String("doctor")); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	line := terminal.NewProgress(c.Root().ErrWriter)
	o.Progress = line.Show
	report, err := compare.Run(ctx, o)
	line.End()
	if err != nil {
		return err
	}
	out := c.Root().Writer
	if c.Bool("json") {
		err = report.WriteJSON(out)
	} else {
		err = report.WriteText(out, terminal.Colours(out), terminal.Width(out))
	}
	switch {
	case err != nil:
		return err
	case report.Interrupted:
		return cli.Exit("compare: interrupted; the report holds what was done", exitInterrupted)
	case c.IsSet("fail-above") && report.Slower(c.Float("fail-above")):
		return cli.Exit(fmt.Sprintf("compare: B takes more than %s above A", terminal.Percent(c.Float("fail-above"))), exitSlower)
	}
	return holdGates(report, gates)
}

// A bound says how much more B may have of a measure.
type bound struct {
	measure string
	share   float64
}

func parseGates(list []string) (gates []bound, err error) {
	for _, text := range list {
		name, value, _ := strings.Cut(text, "=")
		share, err := strconv.ParseFloat(value, 64)
		if name == "" || err != nil || !(share >= 0) {
			return nil, fmt.Errorf("compare: -gate %q: want MEASURE=SHARE, such as allocs=0.01; the names of measures are in the JSON", text)
		}
		gates = append(gates, bound{name, share})
	}
	return gates, nil
}

// holdGates says which gates B is above.
func holdGates(r *compare.Report, gates []bound) error {
	var above []string
	for _, g := range gates {
		names, known := r.Above(g.measure, g.share)
		if !known {
			return cli.Exit(fmt.Sprintf("compare: -gate: nothing measured %s", g.measure), exitNoResult)
		}
		for _, name := range names {
			text := fmt.Sprintf("more than %s above A in %s", terminal.Percent(g.share), g.measure)
			if name != "" {
				text += " of " + name
			}
			above = append(above, text)
		}
	}
	if len(above) > 0 {
		return cli.Exit("compare: B is "+strings.Join(above, ", and "), exitSlower)
	}
	return nil
}

func readDoctorReport(o *compare.Options, file string) error {
	if file == "" {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("compare: -doctor: %w", err)
	}
	defer f.Close()
	o.Doctor, err = compare.ReadDoctorReport(file, f)
	return err
}
