// SPDX-License-Identifier: Apache-2.0

// Package collect gathers evidence for the doctor: from files, a running program, a package's
// benchmarks, a command, or the sample service.
//
// Errors name the fault, its place and the remedy in one line.
package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/debugport"
	"github.com/freehold-go/freehold/cmd/evidence"
)

// From collects from every input, and from the command if there is one, into one Evidence. An input
// is a file, a folder of files, the address of a program with net/http/pprof, "-", or with
// Options.Bench a package. Without input and command the sample service is watched; then
// service.RunChild must have been called first in main.
func From(ctx context.Context, inputs, command []string, o Options) (*evidence.Evidence, error) {
	c := &collector{Options: o, ev: &evidence.Evidence{}}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	if c.Output == nil {
		c.Output = io.Discard
	}
	c.Output = &lockedWriter{out: c.Output}
	var err error
	c.ev.Per = c.Per
	if c.perAddress, c.ev.Per.Counter, err = splitPer(c.Per.Counter); err != nil {
		return nil, err
	}
	if err := c.from(ctx, inputs, command); err != nil {
		return nil, err
	}
	if err := c.findSource(); err != nil {
		return nil, err
	}
	if err := c.save(); err != nil {
		return nil, err
	}
	if _, err := c.ev.Work(); err != nil {
		return nil, fmt.Errorf("doctor: -per: %s: %w", c.ev.Source, err)
	}
	return c.ev, nil
}

// sorted holds the inputs by kind.
type sorted struct {
	files, addresses, packages []string
	named                      []string // the files and folders as they were given
}

func (c *collector) from(ctx context.Context, inputs, command []string) error {
	in, err := c.sort(inputs)
	if err != nil {
		return err
	}
	if err := c.checkMix(in, command); err != nil {
		return err
	}
	if err := c.checkPer(in, command); err != nil {
		return err
	}
	c.sources = append(c.sources, in.named...)
	for _, file := range in.files {
		if err := c.file(file); err != nil {
			return err
		}
	}
	if watched := slices.Concat(in.addresses, in.packages); len(watched) > 0 && (c.ev.Heap[1] != nil || !c.ev.Metrics[1].Empty()) {
		return fmt.Errorf("doctor: %s has heap profiles and metrics, and the doctor takes its own from %s; give one or the other",
			strings.Join(in.named, ", "), debugport.Redacted(watched[0]))
	}
	switch {
	case len(in.addresses) > 0 && len(command) > 0:
		err = c.commandAt(ctx, in.addresses[0], command)
	case len(in.addresses) > 0:
		err = c.address(ctx, in.addresses[0])
	case len(in.packages) > 0:
		err = c.benchmarks(ctx, in.packages[0])
	case len(command) > 0:
		err = c.command(ctx, command)
	case len(in.files) == 0:
		err = c.service(ctx)
	}
	c.ev.Source = strings.Join(c.sources, ", ")
	return err
}

// sort divides the inputs by kind. It refuses inputs that cannot be of one program.
func (c *collector) sort(inputs []string) (in sorted, err error) {
	for _, input := range inputs {
		info, err := os.Stat(input)
		switch {
		case input == "-":
			in.files, in.named = append(in.files, input), append(in.named, "standard input")
		case strings.HasPrefix(input, "http://") || strings.HasPrefix(input, "https://"):
			in.addresses = append(in.addresses, input)
		case err == nil && !info.IsDir():
			in.files, in.named = append(in.files, input), append(in.named, input)
		case c.Bench != "":
			in.packages = append(in.packages, input)
		case err == nil:
			files, err := filesIn(input)
			if err != nil {
				return in, err
			}
			in.files, in.named = append(in.files, files...), append(in.named, input)
		case errors.Is(err, os.ErrPermission):
			return in, fmt.Errorf("doctor: %s: permission denied; run the doctor as a user with access, or copy the file", input)
		default:
			return in, noSuchInput(input)
		}
	}
	if len(in.addresses) > 1 || len(in.packages) > 1 || len(in.packages) > 0 && len(in.addresses) > 0 {
		var names []string
		for _, input := range slices.Concat(in.addresses, in.packages) {
			names = append(names, debugport.Redacted(input))
		}
		return in, fmt.Errorf("doctor: %s are different programs; diagnose one at a time, or compare two with -before", strings.Join(names, " and "))
	}
	return in, nil
}

// checkMix refuses inputs that would be ignored beside the others.
func (c *collector) checkMix(in sorted, command []string) error {
	switch {
	case len(in.packages) > 0 && len(command) > 0:
		return fmt.Errorf("doctor: the package %s and the command %s are different programs; diagnose one at a time", in.packages[0], command[0])
	case c.Duration > 0 && len(in.files) > 0 && len(in.addresses)+len(in.packages)+len(command) == 0:
		return errors.New("doctor: -duration: files have a length of their own; give an address, a command or -bench to watch")
	case c.Bench == "" || len(in.packages) > 0:
		return nil
	}
	if others := slices.Concat(in.addresses, in.named); len(others) > 0 {
		return fmt.Errorf("doctor: -bench needs a package, and %s is none", debugport.Redacted(others[0]))
	}
	return errors.New("doctor: -bench needs a package, such as ./ or example.com/module/package")
}

// checkPer refuses a way to count operations that the inputs do not allow.
func (c *collector) checkPer(in sorted, command []string) error {
	switch {
	case c.Per == evidence.Per{}:
		return nil
	case len(in.packages) > 0:
		return errors.New("doctor: -per: benchmarks count their operations themselves; leave it out")
	case c.Per.Number > 0 && len(in.addresses) > 0:
		return errors.New("doctor: -per: the number of operations in the window of a running program is not known before; name a counter of its /metrics or /debug/vars")
	case c.Per.Counter != "" && len(command) > 0 && len(in.addresses) == 0:
		return errors.New("doctor: -per: the counters of a command are read at its address, so give that as well, or give the number of operations of the whole run")
	}
	return nil
}

// noSuchInput is the error for an input that does not exist. It says what the user may have meant.
func noSuchInput(input string) error {
	switch {
	case strings.Contains(input, "://"):
		return fmt.Errorf("doctor: %s: only http:// and https:// addresses of a program with net/http/pprof can be read", input)
	case strings.Contains(input, ":") && !strings.ContainsAny(input, `/\`):
		return fmt.Errorf("doctor: there is no file %s; for a running program write http://%s", input, input)
	}
	return fmt.Errorf("doctor: there is no file %s; to diagnose a package's benchmarks, add -bench . ; to start a command, put -- before it", input)
}

// evidenceEndings are the endings of file names that mark evidence in a folder.
var evidenceEndings = []string{".pb.gz", ".pb", ".prof", ".pprof", "metrics.json", fileMetric0, fileMetric1, "vars.json", "vars0.json", "vars1.json", "gctrace.txt", ".prom"}

// evidenceTexts are the patterns of names of texts in a folder that are evidence.
var evidenceTexts = []string{"heap*.txt", "metrics*.txt", "bench*.txt"}

// isEvidence reports whether a file of a folder is evidence, by its name.
func isEvidence(name string) bool {
	return slices.ContainsFunc(evidenceEndings, func(end string) bool { return strings.HasSuffix(name, end) }) ||
		slices.ContainsFunc(evidenceTexts, func(pattern string) bool {
			match, err := filepath.Match(pattern, name)
			return match && err == nil
		})
}

// filesIn are the pieces of evidence in a folder, by name.
func filesIn(dir string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("doctor: %w", err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() && isEvidence(e.Name()) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("doctor: there are no profiles in the folder %s; to diagnose the benchmarks of a package there, add -bench .", dir)
	}
	return files, nil
}

// file reads one file.
func (c *collector) file(name string) error {
	if name == "-" {
		return c.readFrom("standard input", c.Stdin)
	}
	f, err := os.Open(name)
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("doctor: %s: permission denied; run the doctor as a user with access, or copy the file", name)
	}
	if err != nil {
		return fmt.Errorf("doctor: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > evidence.MaxInput {
		return fmt.Errorf("doctor: %s: larger than 512 MiB, so no profile; give profiles, metrics or a log of the collector's trace", name)
	}
	return c.readFrom(name, f)
}
