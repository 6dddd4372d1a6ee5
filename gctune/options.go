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

// Options say how memory is shared between the collector, the rest of the program and others. The zero value is what nearly every service
// wants: nine tenths of what the control group or the machine allows, looked at every second.
type Options struct {
	// Policy says what spare memory is for: Balanced unless set.
	Policy Policy

	// Ratio is the share of the limit that Go, off-heap and other memory may take together, above 0 and at most 1. 0 means 0.9. The rest is
	// headroom: for what grows between two looks, and for the kernel's own account, which runs some hundred kilobytes ahead for each CPU.
	Ratio float64

	// Reserve are bytes to leave free besides, for example for the page cache of files that the program maps or reads again and again.
	Reserve int64

	// Min is the least value of GOMEMLIMIT in bytes, whatever else takes memory. It is kept as long as all together stay under the limit
	// less a quarter of the headroom; 0 sets none. Live data with a quarter on top, and what the runtime takes, count as such a bound anyway.
	Min int64

	// Source says whose limit counts: Auto unless set.
	Source Source

	// Limit gives the limit in bytes in place of Source: math.MaxInt64 for none. It is asked at every look. What the process takes beyond
	// Go's memory and freehold's is then read from /proc/self/status, where there is one.
	Limit func() (int64, error)

	// Other tells bytes that the program knows it takes outside Go's runtime and freehold, such as those of a C library. Most programs need
	// not say: such memory is measured. The larger of the two numbers counts, so that nothing is subtracted twice.
	Other func() int64

	// Interval is the time between two looks. 0 means a second; a negative one means a single look, at Start. Off-heap memory of freehold's
	// packages is followed when it grows, not only at looks.
	Interval time.Duration

	// KeepGOGC leaves GOGC alone; only GOMEMLIMIT is set. A GOGC that the environment or the program has set to another value than 100 is
	// left alone anyway.
	KeepGOGC bool

	// DryRun looks, decides, logs and counts, and sets nothing.
	DryRun bool

	// Logger hears of the first decision and of changes (Info), of limits that cannot be read and of a limit too near to what is live (Warn).
	// nil logs nothing.
	Logger *slog.Logger

	// OnThrash is called when the limit comes too near to what is live (State Thrashing), once for each time that it does. It runs on the
	// tuner's goroutine, or inside Start; the next look waits for it. A program can shed load here, or end itself with a clear word.
	OnThrash func(Stats)

	// Root is the file system in which /proc and /sys are read; nil is the machine's. It is for tests.
	Root fs.FS
}

// Policy says what the memory between live data and the limit is used for.
type Policy int

const (
	// Balanced lets the heap grow to half of what the limit leaves it, with a GOGC from 100 to 400; more, up to
	// 800, as long as the heap is below 32 MiB.
	Balanced Policy = iota
	// Throughput lets the heap grow to eight tenths of what the limit leaves it, with a GOGC from 100 to 800; more, up to
	// 1600, as long as the heap is below 64 MiB.
	Throughput
	// Small keeps GOGC at 50: the least memory at some more work for the collector.
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

// MarshalText returns what String returns.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText takes what String returns, so that a Policy can be a flag (flag.TextVar) and part of a configuration file.
func (p *Policy) UnmarshalText(text []byte) error {
	for i, name := range policyNames {
		if name == string(text) {
			*p = Policy(i)
			return nil
		}
	}
	return fmt.Errorf("gctune: policy %q; want %s", text, strings.Join(policyNames[:], ", "))
}

// Source says whose limit counts.
type Source int

const (
	// Auto is the least of the control group, those above it that can be seen, and the machine.
	Auto Source = iota
	// Cgroup is the control group and those above it. Where none has a limit, none is set.
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

// override takes in the words of the variable, and reports whether one of them is off. A word that is not known costs a line and nothing
// else, because a typing error must not take a service down.
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
