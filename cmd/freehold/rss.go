// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold/cmd/debugport"
	"github.com/freehold-go/freehold/cmd/rss"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// rssCommand is the verb rss: where the resident memory of a program is.
func rssCommand() *cli.Command {
	return &cli.Command{
		Name:      "rss",
		Usage:     "split the resident memory of a running Go program into lines that add up, and say what to do about the largest",
		ArgsUsage: "PID | URL | PID URL",
		Description: "PID alone needs no change to the program, and has the coarse lines (Linux). With the URL of its net/http/pprof the Go heap\n" +
			"is split, too. No collection is forced without -gc.\n\n" +
			"Exit status: 0 with an account; 2 without one, or if the process is no Go program.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "gc", Usage: "run a collection first, so that the live heap is exact"},
			&cli.BoolFlag{Name: "creators", Usage: "count goroutines by the function that started them; the program stops while their stacks are written"},
			&cli.BoolFlag{Name: "leaks", Usage: "find goroutines that nothing can wake, with Go 1.27 or later; runs a collection"},
			&cli.BoolFlag{Name: "v", Usage: "list files, sites, libraries and goroutines, too"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object in place of the text"},
			&cli.BoolFlag{Name: "insecure", Usage: "accept every certificate of the program's address"},
			&cli.StringFlag{Name: "ca", Usage: "trust the certificate authority in the PEM `FILE` for the program's address"},
			&cli.StringSliceFlag{Name: "header", Usage: "send `HEADER` with each request, such as 'Authorization: Bearer TOKEN'; it is never printed"},
			&cli.DurationFlag{Name: "timeout", Value: debugport.AnswerTime, Usage: "wait `DURATION` for an answer"},
		},
		DisableSliceFlagSeparator: true, // a header may hold a comma
		OnUsageError:              terminal.UsageError(exitNoResult),
		Action: func(ctx context.Context, c *cli.Command) error {
			err := runRSS(ctx, c)
			if _, ok := err.(cli.ExitCoder); ok || err == nil {
				return err
			}
			return cli.Exit(err, exitNoResult)
		},
	}
}

func runRSS(ctx context.Context, c *cli.Command) error {
	o, err := rssOptions(c)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := rss.Run(ctx, o)
	if err != nil {
		return err
	}
	return writeRSS(c, report)
}

// rssOptions reads the command line.
func rssOptions(c *cli.Command) (o rss.Options, err error) {
	if c.Duration("timeout") <= 0 {
		return o, errors.New("rss: -timeout must be above 0; the default is 30s")
	}
	o.Collect, o.Creators, o.Leaks = c.Bool("gc"), c.Bool("creators"), c.Bool("leaks")
	o.Server = debugport.Options{Insecure: c.Bool("insecure"), CA: c.String("ca"), Headers: c.StringSlice("header"), Timeout: c.Duration("timeout")}
	for _, arg := range c.Args().Slice() {
		pid, err := strconv.Atoi(arg)
		switch {
		case err == nil && pid > 0 && o.PID == 0:
			o.PID = pid
		case strings.Contains(arg, "://") && o.URL == "":
			o.URL = arg
		default:
			return o, fmt.Errorf("rss: %q is no process ID and no URL; give one process: PID, URL (http://localhost:6060), or both", debugport.Redacted(arg))
		}
	}
	return o, nil
}

func writeRSS(c *cli.Command, report *rss.Report) error {
	out := c.Root().Writer
	err := error(nil)
	if c.Bool("json") {
		err = report.WriteJSON(out)
	} else {
		err = report.WriteText(out, terminal.Colours(out), terminal.Width(out), c.Bool("v"))
	}
	if err == nil && report.NotGo() {
		return cli.Exit(fmt.Sprintf("rss: process %d is no Go program; the lines are its mappings alone, and its own tools say more", report.PID), exitNoResult)
	}
	return err
}
