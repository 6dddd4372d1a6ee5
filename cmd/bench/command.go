package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"regexp"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// exitInterrupted is what shells report for a program that Ctrl-C ended.
const exitInterrupted = 130

// errFailed ends the command with an error after the report, which has told what failed.
var errFailed = errors.New("bench: a contestant failed, see the report")

// Command returns the verb bench for a command line. Flags may be written with one dash or two.
func Command() *cli.Command {
	return &cli.Command{
		Name:  "bench",
		Usage: "measure ways to allocate memory on this machine",
		Description: "Each contestant runs in child processes of its own, interleaved with the others. Without flags a quick\n" +
			"selection ends in less than 90 seconds; only the figures of -full count. Time is CPU time, user and system.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "full", Usage: "run everything at full size, and judge the bars"},
			&cli.StringFlag{Name: "run", Usage: "run only the workloads whose name matches `REGEXP`"},
			&cli.StringFlag{Name: "contestants", Usage: "run only the contestants whose name matches `REGEXP`"},
			&cli.IntFlag{Name: "count", Usage: "measure `N` passes, whatever time they take"},
			&cli.DurationFlag{Name: "mintime", Usage: "repeat the rounds of a child for `DURATION`"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object a row instead of tables"},
			&cli.StringFlag{Name: "html", Usage: "write one self-contained page with charts to `FILE`"},
			&cli.StringFlag{Name: "cpuprofile", Usage: "write a CPU profile of every contestant into `DIR`"},
			&cli.FloatFlag{Name: "fragmentation-gib", Usage: "let fragmentation grow to `GIB`"},
			&cli.IntFlag{Name: "scan-maps", Usage: "fill the maps of scan with `N` entries"},
			&cli.StringFlag{Name: "docs", Usage: "let json and decode read the files that match `GLOB`, .zst and .gz too, in place of the Go distribution's"},
			&cli.FloatFlag{Name: "frame-hz", Usage: "begin `N` frames of frame a second, 0 for no pauses; the default is 60 with -full, 0 without"},
			&cli.BoolFlag{Name: "list", Usage: "list the workloads and their contestants"},
		},
		OnUsageError: UsageError,
		Action: func(ctx context.Context, c *cli.Command) error {
			if c.Args().Len() > 0 {
				return fmt.Errorf("bench: unknown argument %q; workloads are selected with -run", c.Args().First())
			}
			return runCommand(ctx, c)
		},
	}
}

// UsageError is what a wrong flag leads to: one line, where the library would print the whole help before it.
func UsageError(_ context.Context, c *cli.Command, err error, _ bool) error {
	return fmt.Errorf("%s: %w; see %s -help", c.Name, err, c.FullName())
}

func runCommand(ctx context.Context, c *cli.Command) error {
	stdout, stderr := writers(c)
	if c.Bool("list") {
		return listContestants(stdout)
	}
	options, err := readOptions(c)
	if err != nil {
		return err
	}
	p, err := makePlan(options)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
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

// writers are the streams of the root command, which a test may have replaced.
func writers(c *cli.Command) (stdout, stderr io.Writer) {
	stdout, stderr = os.Stdout, os.Stderr
	if w := c.Root().Writer; w != nil {
		stdout = w
	}
	if w := c.Root().ErrWriter; w != nil {
		stderr = w
	}
	return stdout, stderr
}

// maxGiB is how far fragmentation may grow: what an int of this machine holds, and at most a TiB.
const maxGiB = min(1024, math.MaxInt>>30)

func readOptions(c *cli.Command) (Options, error) {
	o := Options{
		Full: c.Bool("full"), Count: int(c.Int("count")), MinTime: c.Duration("mintime"),
		ProfileDir: c.String("cpuprofile"), Sizes: map[string][]int{}, Docs: c.String("docs"),
	}
	if o.Full {
		o.FrameHz = frameHz
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
	if c.IsSet("fragmentation-gib") {
		gib := c.Float("fragmentation-gib")
		if !(gib > 0 && gib <= maxGiB) {
			return o, fmt.Errorf("bench: -fragmentation-gib is %g; it must be more than 0 and at most %d", gib, maxGiB)
		}
		o.Sizes["fragmentation/log"] = []int{int(gib * (1 << 30))}
		o.Sizes["fragmentation/big"] = o.Sizes["fragmentation/log"]
	}
	if c.IsSet("frame-hz") {
		if o.FrameHz = c.Float("frame-hz"); !(o.FrameHz >= 0 && o.FrameHz <= maxFrameHz) {
			return o, fmt.Errorf("bench: -frame-hz is %g; it must be from 0 to %d", o.FrameHz, maxFrameHz)
		}
	}
	if c.IsSet("scan-maps") {
		n := int(c.Int("scan-maps"))
		if n < 1 || n > 1<<31-1 {
			return o, fmt.Errorf("bench: -scan-maps is %d; it must be from 1 to %d, because keys are int32", n, 1<<31-1)
		}
		o.Sizes["scan/maps"] = []int{n}
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
		// The rows keep stdout for themselves; failures and bars are for who watches.
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

// listContestants prints what there is to run.
func listContestants(out io.Writer) error {
	for _, w := range registry {
		if _, err := fmt.Fprintf(out, "%s: %s\n", w.Name, w.Doc); err != nil {
			return err
		}
		for _, c := range w.contestants {
			fmt.Fprintf(out, "    %-28s %s\n", c.Name, c.Note)
		}
	}
	return nil
}
