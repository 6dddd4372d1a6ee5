// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/sanitize"
)

// Config says which debug modes are on. The zero value is none.
type Config struct {
	Guard    bool // blocks lie on guarded pages, or bear patterns and have canaries
	Leaks    bool // blocks that are not freed are listed at the end of the process
	Pointers bool // off-heap memory is searched for addresses of the Go heap

	Sample     int // one allocation in Sample is guarded; 0: none
	SampleRate int // at most so many of them a second; 0: no bound

	GuardMaps  int   // bound of the mappings that guarded blocks make; 0: by the machine
	GuardBytes int64 // bound of the bytes that are guarded or in quarantine, in whole pages; 0: by the machine
}

// Asked reports whether any mode is on.
func (c Config) Asked() bool { return c.Guard || c.Leaks || c.Pointers || c.Sample > 0 }

// On reports whether blocks are to be kept apart and noted: in any mode, and for a sanitizer that
// is compiled in.
func (c Config) On() bool { return sanitize.Enabled || c.Asked() }

// withSanitizer is what c becomes if a sanitizer is compiled in. What guarded pages, patterns and
// canaries would show it sees itself, if nothing of these is in its way. A search for addresses of
// the Go heap reads memory that may not have been written yet, which AddressSanitizer alone lets
// pass.
func (c Config) withSanitizer() Config {
	if !sanitize.Enabled {
		return c
	}
	if c.Guard || c.Sample > 0 {
		say("built for %s, which does the work of guard and sample: these are ignored", sanitize.Kind)
	}
	c.Guard, c.Sample = false, 0
	c.Pointers = c.Pointers && sanitize.Kind == "asan"
	return c
}

// Budgets, if it is not zero, stands in for what the machine says. Tests set it before Start.
var Budgets struct {
	Maps  int
	Bytes int64
}

// current is what Start was given, nil before.
var current atomic.Pointer[Config]

// stderr receives what concerns the operator; tests replace it.
var stderr io.Writer = os.Stderr

// Start switches the modes on, for the life of the process. With guard, sample or leaks it starts a
// copy of the program, unless a watcher has started this process; the other process reports what
// ends this one. If it cannot, it tells the operator, and everything else works. The root package
// calls it once, when its modes are frozen; a second call panics. Budgets that c leaves at 0 come
// from the machine. With no mode on, and no sanitizer, it does nothing.
func Start(c Config) {
	if !c.On() {
		return
	}
	c = c.withSanitizer().withDefaults()
	if !current.CompareAndSwap(nil, &c) {
		panic("debugmode: Start was called twice")
	}
	if !c.Guard && !c.Leaks && c.Sample == 0 {
		return // There is nothing to say at the end.
	}
	if err := startWatch(); err != nil {
		say("no copy of the program watches it, so there is no report of a crash or of leaks at the end: %v", err)
	}
}

// On reports whether any mode is on. It costs one load.
func On() bool { return current.Load() != nil }

// Current returns the modes that are on, with the budgets in force; zero if none is.
func Current() Config {
	if c := current.Load(); c != nil {
		return *c
	}
	return Config{}
}

// say writes one line to the operator.
func say(format string, args ...any) {
	fmt.Fprintf(stderr, "freehold: "+format+"\n", args...)
}
