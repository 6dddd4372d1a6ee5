// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// explainCommand is the verb explain: what a process has left that ran with
// FREEHOLD=...,evidence=DIR.
func explainCommand() *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "name the mistake that ended a process, from the evidence that the process left",
		ArgsUsage: "FOLDER",
		Description: "FOLDER is the folder that a process wrote under FREEHOLD=sample=1000,evidence=DIR (or guard, poison, leaks), or DIR\n" +
			"itself, for the latest process. The folder may be copied from another machine, and the process may still run. The text\n" +
			"of the crash is in the folder, unless the program set a crash output of its own: then pass the text with -crash.\n\n" +
			"    freehold explain /var/tmp/evidence\n" +
			"    kubectl logs --previous POD | freehold explain -crash - ./evidence\n\n" +
			"Exit status: 0 no mistake found; 1 a mistake explained, or leaks listed; 2 no evidence to read, or incomplete evidence\n" +
			"that names no mistake.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "crash", Usage: "read the process's standard error from `FILE`; - is standard input"},
		},
		OnUsageError: terminal.UsageError(exitUnreadable),
		Action: func(_ context.Context, c *cli.Command) error {
			mistakes, err := explain(c)
			switch {
			case err != nil:
				return cli.Exit(err, exitUnreadable)
			case mistakes > 0:
				return cli.Exit("", exitMistake)
			}
			return nil
		},
	}
}

func explain(c *cli.Command) (mistakes int, err error) {
	if n := c.Args().Len(); n != 1 {
		return 0, fmt.Errorf("explain: want one folder of evidence, but got %d arguments", n)
	}
	var crash io.Reader
	switch file := c.String("crash"); file {
	case "":
	case "-":
		crash = os.Stdin
	default:
		f, err := os.Open(file)
		if err != nil {
			return 0, fmt.Errorf("explain: -crash: %w", err)
		}
		defer f.Close()
		crash = f
	}
	return freehold.ExplainEvidence(c.Root().Writer, c.Args().First(), crash)
}
