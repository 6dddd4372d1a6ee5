// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold/cmd/sort"
)

// sortCommand is the verb sort. It reads its command line itself, because its options are those of
// GNU sort: -h is one of the order. Version is what --version prints.
func sortCommand(version string) *cli.Command {
	return &cli.Command{
		Name:               "sort",
		Usage:              "sort lines within a memory budget, with the output of LC_ALL=C sort",
		SkipFlagParsing:    true,
		HideHelp:           true,
		CustomHelpTemplate: sort.Help,
		Action: func(_ context.Context, c *cli.Command) error {
			if status := sort.Main(c.Args().Slice(), version, os.Stdin, os.Stdout, os.Stderr); status != 0 {
				return cli.Exit("", status)
			}
			return nil
		},
	}
}
