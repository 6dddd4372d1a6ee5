// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold/cmd/sweep"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// sweepCommand is the verb sweep: what each setting of the collector costs.
func sweepCommand(program []string) *cli.Command {
	return &cli.Command{
		Name:      "sweep",
		Usage:     "measure a program under several settings of GOGC and GOMEMLIMIT",
		ArgsUsage: "-- COMMAND | -load CMD -- SERVER | -bench REGEXP PACKAGE",
		Description: "COMMAND does a fixed amount of work. It runs under GOGC=50 to 800, and under two memory limits that follow from the memory\n" +
			"that it takes. The settings take turns; the first round does not count. With -load COMMAND is a server: in each run it is\n" +
			"started, the load runs once when it listens, and it is asked to end (SIGTERM).\n\n" +
			"Exit status: 0 measured; 2 no result; 130 interrupted, with the rounds that were done.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "load", Usage: "run `CMD` once while the server is up; its elapsed time counts, and the server's CPU time and memory"},
			&cli.StringFlag{Name: "prepare", Usage: "run `CMD` before each run, unmeasured"},
			&cli.StringFlag{Name: "ready", Usage: "the server is ready when it listens at `HOST:PORT`; on Linux by default when it listens anywhere"},
			&cli.DurationFlag{Name: "wait", Value: sweep.DefaultWait, Usage: "give up if the server does not listen after `DURATION`"},
			&cli.StringFlag{Name: "bench", Usage: "run the benchmark of a package that matches `REGEXP`, as in go test -bench"},
			&cli.IntFlag{Name: "rounds", Value: sweep.DefaultRounds, Usage: "run each setting `N` times"},
			&cli.StringFlag{Name: "memory", Usage: "propose the setting that takes the least CPU time within `SIZE`, such as 2GiB"},
			&cli.StringSliceFlag{Name: "settings", Usage: "run these in place of the usual settings: `'GOGC=100,GOGC=off GOMEMLIMIT=1GiB'`; the first is what the others are compared with"},
			&cli.StringFlag{Name: "html", Usage: "write a page with the picture of CPU time over memory to `FILE`, too"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object in place of the table"},
		},
		OnUsageError: terminal.UsageError(exitNoResult),
		Action: func(ctx context.Context, c *cli.Command) error {
			err := runSweep(ctx, c, program)
			if _, ok := err.(cli.ExitCoder); ok || err == nil { // not errors.As: a child's exit status is not ours
				return err
			}
			return cli.Exit(err, exitNoResult)
		},
	}
}

func runSweep(ctx context.Context, c *cli.Command, program []string) error {
	o := sweep.Options{
		Bench: c.String("bench"), Prepare: c.String("prepare"), Load: c.String("load"), Ready: c.String("ready"), Wait: c.Duration("wait"), Rounds: int(c.Int("rounds")),
	}
	var err error
	switch n := c.Args().Len(); {
	case o.Bench != "" && n != 1:
		return fmt.Errorf("sweep: -bench wants one package, but got %d arguments", n)
	case o.Bench == "" && n > 0:
		return fmt.Errorf("sweep: %q stands in front of --; the command and its arguments stand behind it", c.Args().First())
	}
	o.Command, o.Package = program, c.Args().First()
	if list := c.StringSlice("settings"); len(list) > 0 {
		if o.Settings, err = sweep.ParseSettings(strings.Split(strings.Join(list, ","), ",")); err != nil {
			return err
		}
	}
	if text := c.String("memory"); text != "" {
		if o.Memory, err = sweep.ParseMemory(text); err != nil {
			return fmt.Errorf("sweep: -memory: %w", err)
		}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	line := terminal.NewProgress(c.Root().ErrWriter)
	o.Progress, o.Say = line.Show, line.Say
	report, err := sweep.Run(ctx, o)
	line.End()
	if err != nil {
		return err
	}
	out := c.Root().Writer
	if file := c.String("html"); file != "" {
		if err := writeFile("sweep: -html", file, report.WriteHTML); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		err = report.WriteJSON(out)
	} else {
		err = report.WriteText(out, terminal.Colours(out), terminal.Width(out))
	}
	if err == nil && report.Interrupted {
		return cli.Exit("sweep: interrupted; the report holds the rounds that were done", exitInterrupted)
	}
	return err
}
