// Package load runs a sample program: a fixed number of operations, in the form before a change or
// in the one after it.
//
// The CPU time of the operations alone is measured, so that what the set-up costs does not thin out
// what the change saves.
package load

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"
)

// Op is the i-th operation of a sample, i from 0.
type Op func(i int)

// Sample is a program in two forms that do the same work.
type Sample struct {
	Ops    int       // how many operations a run has unless -ops says otherwise
	Before func() Op // sets up the form that has a cost, and returns its operation
	After  func() Op // sets up the form without it; nil where it differs by the environment alone (GOGC, GOMEMLIMIT)
}

// Result is what a run prints, as one line of JSON.
type Result struct {
	Ops  int     `json:"ops"`
	CPU  float64 `json:"cpu"`  // seconds of CPU time, user and system, that the operations took
	Wall float64 `json:"wall"` // seconds
}

// Main is the main function of a sample. It ends the process with 1 after an error.
func Main(s Sample) {
	after := flag.Bool("after", false, "run the form after the change")
	ops := flag.Int("ops", s.Ops, "number of `operations`")
	times := flag.Int("times", 1, "multiplies the number of operations")
	profiles := flag.String("profiles", "", "`directory` for the profiles and metrics of the run")
	flag.Parse()
	if err := run(s, *after, *ops**times, *profiles); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
		os.Exit(1)
	}
}

func run(s Sample, after bool, ops int, profiles string) error {
	setup := s.Before
	if after && s.After != nil {
		setup = s.After
	}
	op := setup()
	for i := range ops/50 + 1 { // pools and caches fill, and the collector finds its pace
		op(i)
	}
	runtime.GC()

	var window *window
	if profiles != "" {
		var err error
		if window, err = open(profiles); err != nil {
			return err
		}
	}
	cpu, err := processCPU()
	if err != nil {
		return err
	}
	start := time.Now()
	for i := range ops {
		op(i)
	}
	wall := time.Since(start)
	end, err := processCPU()
	if err != nil {
		return err
	}
	if window != nil {
		if err := window.close(); err != nil {
			return err
		}
	}
	runtime.KeepAlive(op) // the last heap profile shows what the set-up left alive
	return json.NewEncoder(os.Stdout).Encode(Result{Ops: ops, CPU: (end - cpu).Seconds(), Wall: wall.Seconds()})
}
