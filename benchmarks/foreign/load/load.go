// Package load runs programs of other people under a fixed load, and profiles or times them.
//
// A driver is a main package that calls the public API of one module. Its main function calls
// [Main] for a library and [Serve] for a server. A run does one of two things:
//
//   - Without flags it does a fixed number of operations, without profiles. It prints one line of
//     JSON, a [Result].
//   - With -profiles DIR it leaves in DIR the files that any Go program can have: [Files].
//     There are no runtime metrics among them.
//
// The package uses the standard library alone and is a module of its own, so that a driver has the
// dependencies of its program and no others.
package load

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

// Op is the i-th operation of a sample. i counts from 0 and never repeats within a process: the
// warm-up has the first numbers.
type Op func(i int)

// Sample is a library under load, in one or two forms that do the same work.
type Sample struct {
	// Ops is the number of operations of a run, unless -ops is given. A run should take 1 to 3
	// seconds of CPU time.
	Ops int

	// Before sets up the program as its authors of today would write it, and returns its operation.
	// Data that stays alive, such as an index, belongs here.
	Before func() Op

	// After sets up the form after a change that an expert would make. It is nil if there is none.
	After func() Op

	// Close runs after the last operation. It removes files, for example. It may be nil.
	Close func()
}

// Result is what a run prints, as one line of JSON on standard output.
type Result struct {
	Ops  int     `json:"ops"`
	CPU  float64 `json:"cpu"`  // seconds, user and system, all threads, of the operations alone
	Wall float64 `json:"wall"` // seconds
	Peak int64   `json:"peak"` // bytes: the largest resident set of the process, its set-up included
}

// options are the flags of both kinds of driver.
type options struct {
	after    bool
	ops      int
	profiles string
	flags    *flag.FlagSet
}

// newOptions declares the flags in a set of their own: the program under load may have its flags in
// the global one.
func newOptions(ops int) (*options, *int) {
	o := &options{flags: flag.NewFlagSet(os.Args[0], flag.ExitOnError)}
	o.flags.BoolVar(&o.after, "after", false, "run the form after the change")
	o.flags.IntVar(&o.ops, "ops", ops, "number of `operations`")
	o.flags.StringVar(&o.profiles, "profiles", "", "`directory` for the profiles of the run")
	return o, o.flags.Int("times", 1, "multiplies the number of operations")
}

// Main is the main function of a library's driver:
//
//	func main() { load.Main(load.Sample{Ops: 20_000, Before: before}) }
//
// Its flags are -after, -ops, -times and -profiles. It ends the process with 1 after an error; an
// operation that fails panics.
func Main(s Sample) {
	out := ownStdout()
	o, times := newOptions(s.Ops)
	o.flags.Parse(os.Args[1:])
	o.ops *= *times
	if err := run(out, s, o); err != nil {
		fail(err)
	}
}

func run(out io.Writer, s Sample, o *options) error {
	setup := s.Before
	if o.after {
		if setup = s.After; setup == nil {
			return fmt.Errorf("-after: this program has no form after a change")
		}
	}
	op := setup()
	warm := o.ops/20 + 1
	for i := range warm { // pools and caches fill, and the collector finds its pace
		op(i)
	}
	runtime.GC()

	var w *window
	if o.profiles != "" {
		var err error
		if w, err = open(o.profiles); err != nil {
			return err
		}
	}
	clock, err := startClock()
	if err != nil {
		return err
	}
	for i := range o.ops {
		op(warm + i)
	}
	result, err := clock.stop(o.ops)
	if err != nil {
		return err
	}
	if w != nil {
		if err := w.close(); err != nil {
			return err
		}
	}
	runtime.KeepAlive(op) // the last heap profile shows what the set-up left alive
	if s.Close != nil {
		s.Close()
	}
	return json.NewEncoder(out).Encode(result)
}

// clock measures the operations.
type clock struct {
	cpu   time.Duration
	start time.Time
}

func startClock() (clock, error) {
	cpu, err := processCPU()
	return clock{cpu, time.Now()}, err
}

func (c clock) stop(ops int) (r Result, err error) {
	wall := time.Since(c.start)
	cpu, err := processCPU()
	if err != nil {
		return r, err
	}
	peak, err := peakRSS()
	return Result{Ops: ops, CPU: (cpu - c.cpu).Seconds(), Wall: wall.Seconds(), Peak: peak}, err
}

// ownStdout returns the standard output for the result, and sends what the program under load
// prints to the standard error.
func ownStdout() *os.File {
	out := os.Stdout
	os.Stdout = os.Stderr
	return out
}

func fail(err error) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
	os.Exit(1)
}
