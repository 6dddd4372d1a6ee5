// Command freehold measures what memory costs on this machine.
//
//	freehold doctor   the collector's cost in a program, the lines that cause it, and the CPU that a change saves
//	freehold compare  whether a change made a program cheaper, with the interval of the ratio
//	freehold bench    the field's classic measurements, quick; -full for figures that count
//	freehold explain  the mistake that ended a process, from the evidence that the process left
//	freehold env      the machine's memory facilities
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold/cmd/bench/workloads"
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

// newCommand builds the command line. The library's own version is the module's, so none is kept
// here. Program is the command line behind "--".
func newCommand(program []string) *cli.Command {
	return &cli.Command{
		Name:         "freehold",
		Usage:        "memory that the garbage collector neither scans nor waits for: what it costs and what it saves",
		Commands:     []*cli.Command{doctorCommand(program), compareCommand(), workloads.All().Command(), explainCommand(), envCommand()},
		OnUsageError: terminal.UsageError(exitUsage),
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Len() > 0 {
				return fmt.Errorf("freehold: unknown verb %q; the verbs are doctor, compare, bench, explain and env", c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
	}
}
