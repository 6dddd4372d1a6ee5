// SPDX-License-Identifier: Apache-2.0

// Command freehold measures what memory costs on this machine.
//
//	freehold doctor   the collector's cost in a program, the lines that cause it, and the CPU that a change saves
//	freehold sweep    what each setting of GOGC and GOMEMLIMIT costs, measured
//	freehold rss      where the resident memory of a running program is
//	freehold compare  whether a change made a program cheaper, with the interval of the ratio
//	freehold bench    the field's classic measurements, quick; -full for figures that count
//	freehold env      the machine's memory facilities
//	freehold sort     lines sorted within a memory budget, as LC_ALL=C sort sorts them
//	freehold cache    a cache for clients of memcached, on this machine
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold/cmd/bench/usermessage"
	"github.com/freehold-go/freehold/cmd/bench/workloads"
	"github.com/freehold-go/freehold/cmd/cache"
	"github.com/freehold-go/freehold/cmd/doctor/service"
	"github.com/freehold-go/freehold/cmd/terminal"
)

func main() {
	workloads.All().RunChild()
	service.RunChild()
	args, program := splitProgram(os.Args)
	if err := newCommand(program).Run(context.Background(), args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUsage)
	}
}

// newCommand builds the command line. Program is the command line behind "--".
func newCommand(program []string) *cli.Command {
	cli.VersionFlag = &cli.BoolFlag{Name: "version", Usage: "print the version", HideDefault: true, Local: true} // -v is the doctor's
	return &cli.Command{
		Name:                  "freehold",
		Usage:                 "memory that the garbage collector neither scans nor waits for: what it costs and what it saves",
		Version:               version(),
		Commands:              []*cli.Command{doctorCommand(program), sweepCommand(program), rssCommand(), compareCommand(), benchCommand(), envCommand(), sortCommand(version()), cache.Command(version())},
		EnableShellCompletion: true,
		ConfigureShellCompletionCommand: func(c *cli.Command) {
			c.Hidden, c.Usage = false, "print the completion script for bash, zsh, fish or pwsh"
		},
		OnUsageError: terminal.UsageError(exitUsage),
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Len() > 0 {
				return unknownCommand(c, c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
	}
}

// release is the version of a released binary; .goreleaser.yaml sets it. The go command stamps no
// version into a binary that it builds in a workspace.
var release string

// version is the command's version and Go's.
func version() string { return cmp.Or(moduleVersion(), "(devel)") + " " + runtime.Version() }

// moduleVersion is the version of the release, or as the go command has written it into the binary.
func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && release == "" {
		return info.Main.Version
	}
	return release
}

func benchCommand() *cli.Command {
	return usermessage.Command(workloads.All().Command(), moduleVersion())
}

// unknownCommand is the error for a command that does not exist. It names the nearest that does.
func unknownCommand(c *cli.Command, name string) error {
	text := fmt.Sprintf("freehold: unknown command %q", name)
	if near := cli.SuggestCommand(c.Commands, name); near != "" && near != "h" {
		text += fmt.Sprintf("; did you mean %s?", near)
	}
	return cli.Exit(text+" The commands are doctor, sweep, rss, compare, bench, env, sort and cache.", exitUnknown)
}
