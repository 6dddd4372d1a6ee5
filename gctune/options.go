// SPDX-License-Identifier: Apache-2.0

package gctune

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// Options say how the collector, the rest of the program and other processes share memory. The zero
// value is right for nearly every service: nine tenths of the limit of the control group or the
// machine, measured every second.
type Options struct {
	// Policy says how the heap may use spare memory. The default is Balanced.
	Policy Policy

	// Ratio is the share of the limit that Go, off-heap and other memory may take together, above 0
	// and at most 1. 0 means 0.9. The rest is headroom, for growth between two measurements, and
	// for the kernel's own account, which runs some hundred kilobytes ahead for each CPU.
	Ratio float64

	// Reserve is a number of bytes to leave free besides, for example for the page cache of files
	// that the program maps or reads again and again.
	Reserve int64

	// Min is the smallest value of GOMEMLIMIT in bytes, for any amount of other memory. It holds as
	// long as all memory together stays below the limit less a quarter of the headroom. 0 sets
	// none. The live heap with a quarter on top, plus the runtime's memory, is always such a bound.
	Min int64

	// MaxGrowth bounds in bytes how far the heap grows beyond the live heap before a collection,
	// with a GOGC of at least 25. 0 sets no bound. It is for a program whose memory is to stay flat
	// although there is more: collections a second are bytes allocated a second by MaxGrowth.
	MaxGrowth int64

	// Source says which limit counts. The default is Auto.
	Source Source

	// Limit returns the limit in bytes, in place of Source; 1 EiB or more means none. The tuner
	// calls it at every measurement. It then reads the process's memory besides Go's and freehold's
	// from /proc/self/status, if the system has that file.
	Limit func() (int64, error)

	// Other returns the number of bytes that the program takes outside Go's runtime and freehold,
	// such as the memory of a C library. Most programs need no Other, because the tuner measures
	// such memory. The larger of the two numbers counts, so that nothing is subtracted twice.
	Other func() int64

	// Interval is the time between two measurements. 0 means a second; a negative value means one
	// measurement, in Start. GOMEMLIMIT follows growth of freehold's off-heap memory at once, not
	// only at measurements.
	Interval time.Duration

	// KeepGOGC leaves GOGC alone, so that the tuner sets only GOMEMLIMIT. It always leaves a GOGC
	// alone that the environment or the program has set to a value other than 100.
	KeepGOGC bool

	// DryRun measures, decides, logs and counts, and sets nothing.
	DryRun bool

	// Logger receives the first decision and changes (Info), limits that cannot be read, and a
	// limit too near to the live heap (Warn). nil logs nothing.
	Logger *slog.Logger

	// OnThrash is called once each time that the State becomes Thrashing: the limit is too near to
	// the live heap. It runs on the tuner's goroutine, or inside Start, and the next measurement
	// waits for it. A program can shed load here, or end itself with a clear message.
	OnThrash func(Stats)

	// Root is the file system from which /proc and /sys are read; nil is the machine's. It is for
	// tests.
	Root fs.FS
}

// Policy says how the heap may use the memory between live data and the limit.
type Policy int

const (
	// Balanced lets the heap grow to half of its room below the limit, with a GOGC from 100 to 400.
	// While the heap is below 32 MiB, GOGC may be up to 800.
	Balanced Policy = iota
	// Throughput lets the heap grow to eight tenths of its room below the limit, with a GOGC from
	// 100 to 800. While the heap is below 64 MiB, GOGC may be up to 1600.
	Throughput
	// Small keeps GOGC at 50: the least memory, at more work for the collector.
	Small
)

var policyNames = [...]string{"balanced", "throughput", "small"}

// String returns balanced, throughput or small.
func (p Policy) String() string {
	if p < 0 || int(p) >= len(policyNames) {
		return fmt.Sprintf("Policy(%d)", int(p))
	}
	return policyNames[p]
}

// MarshalText returns the result of String.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses the result of String, so that a Policy can be a flag (flag.TextVar) and part
// of a configuration file.
func (p *Policy) UnmarshalText(text []byte) error {
	for i, name := range policyNames {
		if name == string(text) {
			*p = Policy(i)
			return nil
		}
	}
	return fmt.Errorf("gctune: policy %q; want %s", text, strings.Join(policyNames[:], ", "))
}

// Source says which limit counts.
type Source int

const (
	// Auto is the smallest limit of the control group, the visible groups above it, and the
	// machine.
	Auto Source = iota
	// Cgroup is the control group and the visible groups above it. If none has a limit, the tuner
	// sets none.
	Cgroup
	// Machine is the physical memory, as if there were no control group.
	Machine
)

// ErrRunning says that [Start] was called while a tuner of this process runs.
var ErrRunning = errors.New("gctune: a tuner runs already; end it by its context and wait for Done")

const (
	defaultRatio    = 0.9
	defaultInterval = time.Second
)

// validate names every field that has no meaning.
func (o *Options) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("gctune: Options."+format, args...)) }
	if o.Policy < 0 || int(o.Policy) >= len(policyNames) {
		bad("Policy is %d; want Balanced, Throughput or Small", int(o.Policy))
	}
	if o.Source < Auto || o.Source > Machine {
		bad("Source is %d; want Auto, Cgroup or Machine", int(o.Source))
	}
	if !(o.Ratio >= 0 && o.Ratio <= 1) {
		bad("Ratio is %g; want above 0 and at most 1, or 0 for %g", o.Ratio, defaultRatio)
	}
	if o.Reserve < 0 {
		bad("Reserve is %d bytes; want 0 or more", o.Reserve)
	}
	if o.Min < 0 {
		bad("Min is %d bytes; want 0 or more", o.Min)
	}
	if o.MaxGrowth < 0 {
		bad("MaxGrowth is %d bytes; want 0 or more", o.MaxGrowth)
	}
	return errors.Join(errs...)
}

// fill puts the defaults in.
func (o *Options) fill() {
	if o.Ratio == 0 {
		o.Ratio = defaultRatio
	}
	if o.Interval == 0 {
		o.Interval = defaultInterval
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Root == nil {
		o.Root = os.DirFS("/")
	}
}

// variable is the operator's word: it counts before what the program's code says.
const variable = "GCTUNE"

// override takes in the words of the variable, and reports whether one of them is off. A word that
// is not known costs a line and nothing else, because a typing error must not take a service down.
func (o *Options) override(words string, stderr io.Writer) (off bool) {
	for word := range strings.SplitSeq(words, ",") {
		word = strings.TrimSpace(word)
		ratio, err := strconv.ParseFloat(word, 64)
		switch {
		case word == "":
		case word == "off":
			off = true
		case word == "dryrun":
			o.DryRun = true
		case err == nil && ratio > 0 && ratio <= 1:
			o.Ratio = ratio
		case err == nil || math.IsNaN(ratio):
			fmt.Fprintf(stderr, "gctune: %s: %s ignored; a ratio is above 0 and at most 1\n", variable, word)
		case o.Policy.UnmarshalText([]byte(word)) != nil:
			fmt.Fprintf(stderr, "gctune: %s: unknown %q ignored; known: off, dryrun, %s, or a ratio such as 0.8\n", variable, word, strings.Join(policyNames[:], ", "))
		}
	}
	return off
}
