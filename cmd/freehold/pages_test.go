// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mattn/go-shellwords"
	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold/cmd/bench/workloads"
	"github.com/freehold-go/freehold/cmd/sort"
)

var (
	// inlineCode is code in a sentence or in a table.
	inlineCode = regexp.MustCompile("`[^`]+`")
	// freeholdCommand is a call of this command, of which the group is the arguments.
	freeholdCommand = regexp.MustCompile(`(?:^|[|;&] *|\w=\S* )(?:go run (?:-tags \S+ )?\./cmd/freehold|freehold)(?:$| +([^:].*))`)
)

// TestPages parses each call of the command on the pages: its verb, its flags and their values
// must exist, and the pattern of -run must match a workload. A call is an indented line, or code in
// a sentence or table, that begins with freehold or with go run ./cmd/freehold.
func TestPages(t *testing.T) {
	const root = "../.."
	calls := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		page, err := os.ReadFile(path)
		for i, call := range callsOf(string(page)) {
			calls++
			if err := parseCall(call); err != nil {
				t.Errorf("%s, call %d, %q: %v", path, i+1, call, err)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if calls < 40 {
		t.Errorf("only %d calls found", calls)
	}
}

// callsOf lists the arguments of each call of the command on a page.
func callsOf(page string) (calls []string) {
	fenced := false
	for line := range strings.Lines(page) {
		var codes []string
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case fenced: // Go, or the output of a command
		case strings.HasPrefix(line, "    "):
			code, _, _ := strings.Cut(line, " # ")
			codes = []string{strings.TrimSpace(code)}
		default:
			for _, code := range inlineCode.FindAllString(line, -1) {
				codes = append(codes, strings.ReplaceAll(strings.Trim(code, "`"), `\|`, "|"))
			}
		}
		for _, code := range codes {
			if m := freeholdCommand.FindStringSubmatch(code); m != nil && m[1] != "" {
				calls = append(calls, m[1])
			}
		}
	}
	return calls
}

// parseCall parses a command line and runs nothing.
func parseCall(call string) error {
	words, err := shellwords.Parse(call)
	if err != nil {
		return err
	}
	args, program := splitProgram(append([]string{"freehold"}, words...))
	command := newCommand(program)
	usage := func(_ context.Context, _ *cli.Command, err error, _ bool) error { return err }
	command.OnUsageError = usage
	command.ExitErrHandler = func(context.Context, *cli.Command, error) {}
	for _, verb := range command.Commands {
		verb.OnUsageError = usage
		verb.Action = func(_ context.Context, c *cli.Command) error {
			return errors.Join(matchesWorkload(c), sortsLines(c))
		}
		for _, sub := range verb.Commands {
			sub.OnUsageError = usage
			sub.Action = func(context.Context, *cli.Command) error { return nil }
		}
	}
	return command.Run(context.Background(), args)
}

// matchesWorkload checks the pattern of bench -run.
func matchesWorkload(c *cli.Command) error {
	if c.Name != "bench" || c.String("run") == "" {
		return nil
	}
	re, err := regexp.Compile(c.String("run"))
	if err == nil && !slices.ContainsFunc(workloads.All().Names(), re.MatchString) {
		err = fmt.Errorf("-run %s matches no workload", re)
	}
	return err
}

// sortsLines checks the command line of sort, up to the help that is added to it.
func sortsLines(c *cli.Command) error {
	if c.Name != "sort" {
		return nil
	}
	var errs bytes.Buffer
	if sort.Main(append(c.Args().Slice(), "--help"), "", nil, io.Discard, &errs) != 0 {
		return errors.New(errs.String())
	}
	return nil
}

func TestCallsOf(t *testing.T) {
	page := "Run `freehold env -json`, or `freehold: not a call`.\n\n" +
		"    freehold doctor -bench 'A B' . > out  # comment\n    kubectl logs | freehold doctor -v - DIR\n    FREEHOLD=heap freehold bench\n    freeholder -x\n" +
		"| x | `go run -tags a ./cmd/freehold bench -run '^(list\\|pair)'` |\n```\nfreehold output\n    freehold output\n```\n"
	want := []string{"env -json", "doctor -bench 'A B' . > out", "doctor -v - DIR", "bench", "bench -run '^(list|pair)'"}
	if got := callsOf(page); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for call, says := range map[string]string{
		"nonsense": "unknown command", "env -nonsense": "not defined", "cache serve -nonsense": "not defined", "bench -count x": "invalid value", "bench -run '^nothing$'": "matches no workload",
		"doctor -- ./server -config x": "", "compare 'a -x' b": "", "bench 'open": "invalid command line",
	} {
		err := parseCall(call)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v, want %q", call, err, says)
		}
	}
}
