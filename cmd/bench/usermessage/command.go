// SPDX-License-Identifier: Apache-2.0

package usermessage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/urfave/cli/v3"
)

const typeName = "type"

// passed are the flags of bench that the program has, too.
var passed = []string{"full", "run", "contestants", "count", "mintime", "json", "html", "cpuprofile", "list", "docs"}

// Command is the command bench with a flag -type, which makes it build and run a program for that type. version is the
// version of freehold, or empty in a build of a checkout.
func Command(c *cli.Command, version string) *cli.Command {
	c.Flags = append(c.Flags, &cli.StringFlag{
		Name:  typeName,
		Usage: "decode the files of -docs, each one message of Protocol Buffers, as `TYPE`: a package's import path, a dot and a name; built in the module of this folder",
	})
	bench := c.Action
	c.Action = func(ctx context.Context, c *cli.Command) error {
		if !c.IsSet(typeName) {
			return bench(ctx, c)
		}
		return run(ctx, c, version)
	}
	return c
}

func run(ctx context.Context, c *cli.Command, version string) error {
	args, err := arguments(c)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "freehold-bench-")
	if err != nil {
		return fmt.Errorf("bench: -type: %w", err)
	}
	defer os.RemoveAll(temp)
	program, err := build(ctx, temp, c.String(typeName), version)
	if err != nil {
		return fmt.Errorf("bench: -type %s: %w", c.String(typeName), err)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = c.Root().Writer, c.Root().ErrWriter
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return cli.Exit("", exit.ExitCode()) // The program has said why.
	}
	return err
}

// arguments are those of the program.
func arguments(c *cli.Command) (args []string, err error) {
	if c.Args().Len() > 0 {
		return nil, fmt.Errorf("bench: unknown argument %q", c.Args().First())
	}
	if c.String("docs") == "" {
		return nil, errors.New("bench: -type needs -docs 'GLOB', the files with the messages")
	}
	for _, f := range c.Flags {
		name := f.Names()[0]
		switch {
		case name == typeName || !c.IsSet(name):
		case slices.Contains(passed, name):
			args = append(args, fmt.Sprintf("-%s=%v", name, c.Value(name)))
		default:
			return nil, fmt.Errorf("bench: -%s has no meaning with -type", name)
		}
	}
	return args, nil
}
