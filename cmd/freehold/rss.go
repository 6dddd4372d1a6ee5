// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
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
		ArgsUsage: "PID | URL | PID URL | REPORT ...",
		Description: "PID alone needs no change to the program, and has the coarse lines (Linux). With the URL of its net/http/pprof the Go heap\n" +
			"is split, too. No collection is forced without -gc. A REPORT is a file that -save wrote: the last one is shown, and what grew\n" +
			"since the first.\n\n" +
			"Exit status: 0 with an account; 2 without one, or if the process is no Go program.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "gc", Usage: "run a collection first, so that the live heap is exact"},
			&cli.BoolFlag{Name: "creators", Usage: "count goroutines by the function that started them; the program stops while their stacks are written"},
			&cli.BoolFlag{Name: "leaks", Usage: "find goroutines that nothing can wake, with Go 1.27 or later; runs a collection"},
			&cli.BoolFlag{Name: "find", Usage: "ask the process's listeners on loopback for net/http/pprof; one request to each"},
			&cli.BoolFlag{Name: "watch", Usage: "look each second until the process ends; an account when the resident set has moved by 5 %, at most each minute"},
			&cli.DurationFlag{Name: "for", Usage: "end the watch after `DURATION`"},
			&cli.StringFlag{Name: "at", Usage: "watch, and when memory reaches `SHARE` of the control group's limit (90%), or an amount (2GiB), write the account and profiles to the folder of -o"},
			&cli.StringFlag{Name: "o", Usage: "the folder `DIR` for -at"},
			&cli.StringFlag{Name: "save", Usage: "write the report to `FILE`, too, as an input for a later call"},
			&cli.StringFlag{Name: "html", Usage: "write a page to `FILE`, too; with stacked areas if there are several reports or a watch"},
			&cli.BoolFlag{Name: "v", Usage: "list files, sites, libraries and goroutines, too"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object in place of the text"},
		}, serverFlags()...),
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
	if files, err := rssFiles(c); files != nil || err != nil {
		if err != nil {
			return err
		}
		return finishRSS(c, files)
	}
	o, err := rssOptions(c)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if c.Bool("find") {
		log.SetOutput(io.Discard) // net/http logs what a listener with another protocol says
		if o.URL, err = rss.Find(ctx, o); err != nil {
			return err
		}
	}
	if c.Bool("watch") || c.IsSet("at") || c.IsSet("for") || c.IsSet("o") {
		return watchRSS(ctx, c, o)
	}
	report, err := rss.Run(ctx, o)
	if err != nil {
		return err
	}
	return finishRSS(c, []*rss.Report{report})
}

// rssFiles reads the reports that the command line names; nil if it names a process.
func rssFiles(c *cli.Command) (list []*rss.Report, err error) {
	for i, arg := range c.Args().Slice() {
		_, number := strconv.Atoi(arg)
		isFile := number != nil && !strings.Contains(arg, "://")
		if i > 0 && isFile != (list != nil) {
			return nil, fmt.Errorf("rss: %q and %q: give a process, or reports that -save wrote", c.Args().First(), arg)
		}
		if !isFile {
			continue
		}
		r, err := rss.ReadReport(arg)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	if list == nil {
		return nil, nil
	}
	for _, flag := range []string{"gc", "creators", "leaks", "find", "watch", "for", "at", "o", "save"} {
		if c.IsSet(flag) {
			return nil, fmt.Errorf("rss: -%s is for a running process, and %s is a report", flag, c.Args().First())
		}
	}
	if last := len(list) - 1; last > 0 {
		return list, list[last].Since(list[0])
	}
	return list, nil
}

// finishRSS writes the last report in each of the forms that were asked for.
func finishRSS(c *cli.Command, list []*rss.Report) error {
	report := list[len(list)-1]
	if file := c.String("save"); file != "" {
		if err := writeFile("rss: -save", file, report.WriteJSON); err != nil {
			return err
		}
	}
	if file := c.String("html"); file != "" {
		if err := writeFile("rss: -html", file, func(w io.Writer) error { return rss.WriteHTML(w, list) }); err != nil {
			return err
		}
	}
	return writeRSS(c, report)
}

// watchRSS watches, and prints a line for each tick: rewritten on a terminal, plain in a pipe, JSON Lines with -json.
func watchRSS(ctx context.Context, c *cli.Command, o rss.Options) error {
	w := rss.WatchOptions{Options: o, For: c.Duration("for"), Dir: c.String("o")}
	if w.For < 0 {
		return errors.New("rss: -for must not be negative")
	}
	if text := c.String("at"); text != "" {
		var err error
		if w.At, err = rss.ParseThreshold(text); err != nil {
			return err
		}
	}
	out := c.Root().Writer
	line := terminal.NewProgress(out)
	w.Tick = func(t *rss.Tick) error {
		switch {
		case c.Bool("json"):
			return json.NewEncoder(out).Encode(t)
		case t.Account != nil:
			line.End()
			if err := t.Account.WriteText(out, terminal.Colours(out), terminal.Width(out), c.Bool("v")); err != nil {
				return err
			}
		}
		if t.Saved != "" {
			line.Say("memory reached " + c.String("at") + ": the account and the profiles are in " + t.Saved)
		}
		if t.Problem != "" {
			line.Say(t.Problem)
		}
		if terminal.Is(out) {
			line.Show(t.String())
			return nil
		}
		_, err := fmt.Fprintln(out, t)
		return err
	}
	list, err := rss.Watch(ctx, w)
	line.End()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return cli.Exit("rss: interrupted before the first account", exitInterrupted)
	}
	if file := c.String("save"); file != "" {
		if err := writeFile("rss: -save", file, list[len(list)-1].WriteJSON); err != nil {
			return err
		}
	}
	if file := c.String("html"); file != "" {
		return writeFile("rss: -html", file, func(w io.Writer) error { return rss.WriteHTML(w, list) })
	}
	return nil
}

// rssOptions reads the command line.
func rssOptions(c *cli.Command) (o rss.Options, err error) {
	if o.Server, err = readServer(c, "rss"); err != nil {
		return o, err
	}
	o.Collect, o.Creators, o.Leaks = c.Bool("gc"), c.Bool("creators"), c.Bool("leaks")
	for _, arg := range c.Args().Slice() {
		pid, err := strconv.Atoi(arg)
		switch {
		case err == nil && pid > 0 && o.PID == 0:
			o.PID = pid
		case strings.Contains(arg, "://") && o.URL == "":
			o.URL = arg
		default:
			return o, fmt.Errorf("rss: %q is one too many; give one process: PID, URL (http://localhost:6060), or both", debugport.Redacted(arg))
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
