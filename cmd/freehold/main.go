// Command freehold measures what memory costs on this machine.
//
//	freehold bench    the field's classic measurements, quick; -full for figures that count
//	freehold env      what the machine offers
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold/cmd/bench"
)

func main() {
	bench.RunChild()
	if err := newCommand().Run(context.Background(), os.Args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// newCommand builds the command line. The library's own version is the module's, so none is kept here.
func newCommand() *cli.Command {
	return &cli.Command{
		Name:         "freehold",
		Usage:        "memory that the garbage collector neither scans nor waits for: what it costs and what it saves",
		Commands:     []*cli.Command{bench.Command(), envCommand()},
		OnUsageError: bench.UsageError,
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Len() > 0 {
				return fmt.Errorf("freehold: unknown verb %q; the verbs are bench and env", c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
	}
}
