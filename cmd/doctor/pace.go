// SPDX-License-Identifier: Apache-2.0

package doctor

// A pace describes how often collections run, and the settings that decide it. All sizes are in
// bytes.
type pace struct {
	// gogc is the percentage in force, -1 if it is off, 0 if it is not known; how says how it is
	// known.
	gogc float64
	how  Knowledge
	// limit is the memory limit, 0 if there is none or it is not known.
	limit float64
	// limited says that the limit and not GOGC decides when collections begin.
	limited bool
	// supposed is the percentage to which the heap's sizes would fit, if limited is only supposed.
	supposed float64
	// room is the number of bytes that the program allocates from one collection to the next, 0 if
	// not known.
	room float64
}

// A Knowledge says how a figure is known.
type Knowledge string

// The kinds of knowledge, the best first.
const (
	// Told means that the program or its environment reports the figure.
	Told Knowledge = "told"
	// Inferred means that the figure follows from others that were measured.
	Inferred Knowledge = "inferred"
	// Assumed means that nothing contradicts Go's default.
	Assumed Knowledge = "assumed"
)

// defaultGOGC is the percentage of a program that sets none.
const defaultGOGC = 100

// off reports whether only the program itself starts collections.
func (p pace) off() bool { return p.gogc < 0 && !p.limited && p.limit == 0 }

// smallestHeap is the size in bytes at which the runtime collects at GOGC=100 however little is
// live.
const smallestHeap = 4 << 20
