package evidence

import (
	"time"

	"github.com/google/pprof/profile"
)

// Evidence is all that was collected of one program. Any part may be missing; a report then names
// the piece that would raise its confidence.
type Evidence struct {
	// Source names the inputs in the report's words: files, an address, a command.
	Source string
	// CPU is the CPU profile over the window.
	CPU *profile.Profile
	// Heap are the heap profiles at both ends of the window, with the four sample types of Go. The
	// first may be nil: then the second counts for all the time since the program's start.
	Heap [2]*profile.Profile
	// Window is the time between the heap profiles, 0 if that is not known.
	Window time.Duration
	// Metrics are the runtime's values at both ends of the window. The first may be empty: then
	// counters count since the program's start.
	Metrics [2]Metrics
	// Trace is the output of GODEBUG=gctrace=1.
	Trace *GCTrace
	// Main is the path of the program's main module, "" if that is not known. A site's owner is the
	// first frame in it.
	Main string
	// Root is the directory of the main module's source if it is at hand, "" otherwise: for escape
	// reasons and the layout of structs.
	Root string
	// Go is the version of Go that built the program, as runtime.Version has it, "" if that is not
	// known.
	Go string

	read map[string][]Metrics // the metrics that Read found, by source
}
