package freehold

import "github.com/freehold-go/freehold/internal/memlimit"

// SyncMemoryLimit lowers Go's soft memory limit (GOMEMLIMIT, debug.SetMemoryLimit) by the bytes that the registered packages hold,
// and raises it again as they give memory back. Packages that allocate call it from the background and after they have grown by
// much; a program need not call it. Without a limit, in heap mode and with the mode nomemlimit it does nothing.
//
// The limit that the user sets at any time, before or between calls, is the one that counts: a value that differs from the one
// set here last is taken for a new limit of the user's, unless it restores one that was read while an earlier limit held, as in
// `old := debug.SetMemoryLimit(n); defer debug.SetMemoryLimit(old)`. While a tuner of package gctune runs, what it found that the
// program may use counts, if that is less than the user's limit; off-heap bytes are taken from the smaller of the two, and once.
//
// The limit never falls below a floor: a tenth of the user's limit, or, if that is more, what Go needs for what is live on its heap
// now and a quarter on top. Below that the collector would run without end and free nothing, because it cannot free what is off the
// heap. A change of less than 1/64 of the user's limit is left undone, so that the limit is not set again at each tick.
//
// It costs about 0.6 µs, most of it for reading what is live. Setting the limit adds 0.1 µs: the runtime takes the heap's lock and
// recomputes the pace of collector, sweeper and scavenger, and does not stop the world (Go 1.25 and 1.26). Not for a fast path, and
// not under a lock that a registered read function takes. Of concurrent calls one does the work; the others return at once.
func SyncMemoryLimit() {
	if process.frozen()&(modeHeap|modeNoMemLimit) != 0 {
		return
	}
	memlimit.Process.Sync(resident())
}

// MemoryLimit returns Go's soft memory limit in bytes as the user set it, before off-heap memory was taken from it: what
// debug.SetMemoryLimit(-1) would return without freehold. It is math.MaxInt64 where there is none.
func MemoryLimit() int64 { return memlimit.Process.User() }
