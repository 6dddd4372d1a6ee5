// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// envCommand is the verb env: the machine's facilities for an allocator.
func envCommand() *cli.Command {
	return &cli.Command{
		Name:  "env",
		Usage: "show the machine's memory facilities",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object"},
		},
		OnUsageError: terminal.UsageError(exitUsage),
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Len() > 0 {
				return fmt.Errorf("freehold: env takes no arguments, but got %q", c.Args().First())
			}
			m := freehold.ReadMachine()
			out := c.Root().Writer
			if c.Bool("json") {
				enc := json.NewEncoder(out)
				enc.SetIndent("", "  ")
				return enc.Encode(m)
			}
			_, err := fmt.Fprintln(out, m)
			return err
		},
	}
}
