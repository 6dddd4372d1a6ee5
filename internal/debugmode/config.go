// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/machine"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/vmem"
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

// The defaults of the budgets where the machine does not say enough, and the most that it can make
// of them.
const (
	fallbackMaps  = 65530 / 2 // half of what Linux allows by itself
	fallbackBytes = 256 << 20
	guardPart     = 4 // of the memory
	mostBytes     = 4 << 30
	mostBytes32   = 128 << 20 // address space is what there is little of

	// Samples alone. They take as much of it as the samples need, at sample=1000 four bytes for
	// each block in use; see thin.go for what these suffice for.
	samplePart  = 8 // of the memory
	sampleBytes = 256 << 20
)

// withDefaults fills in the budgets: half of the mappings that the system allows, and a quarter of
// the memory that the process may use; for samples alone less of the memory.
func (c Config) withDefaults() Config {
	root := os.DirFS("/")
	c.GuardMaps, c.GuardBytes = cmp.Or(c.GuardMaps, Budgets.Maps), cmp.Or(c.GuardBytes, Budgets.Bytes)
	if c.GuardMaps == 0 {
		c.GuardMaps = fallbackMaps
		if _, limit := machine.ReadMaps(root); limit > 0 {
			c.GuardMaps = limit / 2
		}
	}
	if c.GuardBytes == 0 {
		memory := machine.ReadCgroup(root).Limit
		if total := machine.ReadMemInfo(root).Total; total > 0 {
			memory = min(memory, total)
		}
		c.GuardBytes = fallbackBytes
		if memory != math.MaxInt64 {
			c.GuardBytes = min(memory/guardPart, mostBytes)
		}
		if math.MaxUint>>32 == 0 {
			c.GuardBytes = min(c.GuardBytes, mostBytes32)
		}
		if !c.Guard && c.Sample > 0 {
			c.GuardBytes = min(c.GuardBytes/(samplePart/guardPart), sampleBytes)
		}
	}
	return c
}

// affordable bounds a reservation of address space where a limit (RLIMIT_AS) makes it dear: a
// sixty-fourth of the limit, at least least.
func affordable(bytes, least uintptr) uintptr {
	limit := vmem.AddressSpaceLimit() / 64
	if uint64(bytes) <= limit {
		return bytes
	}
	return max(uintptr(limit)&^(vmem.PageSize()-1), least)
}

// wantGoroutines reports whether blocks get the number of the goroutine. That costs more than all
// the rest of a block, so that sample, which is for production, goes without.
func wantGoroutines() bool {
	c := current.Load()
	return c != nil && c.Guard
}
