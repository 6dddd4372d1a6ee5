package freehold

import "errors"

// Options are the modes of the whole program. The zero value is what nearly every program wants.
type Options struct {
	// Heap is the kill switch: every block comes from the Go heap and everything still works, at the Go heap's price. It tells
	// whether a fault or a cost is freehold's. The same as the word heap in FREEHOLD or the build tag freehold_heap.
	Heap bool

	// NoMemLimit leaves Go's soft memory limit (GOMEMLIMIT) alone, for a program that keeps the account itself. The same as the
	// word nomemlimit in FREEHOLD.
	NoMemLimit bool
}

// ErrStarted says that [Configure] came too late: a package has allocated already and the modes cannot change any more.
var ErrStarted = errors.New("freehold: the modes are in use already; call Configure before the first allocation")

// Configure adds o to the modes that FREEHOLD and earlier calls ask for; it never takes one away. Once a package has asked for its
// mode, a call that would change something returns an error that errors.Is [ErrStarted] and changes nothing.
func Configure(o Options) error { return process.configure(o) }

// Modes returns the modes that are in force so far, without freezing them.
func Modes() Options { return process.current() }

// HeapMode reports whether blocks must come from the Go heap. The first call freezes the modes for the life of the process, so
// only a package that is about to allocate calls it. Later calls cost one atomic load.
func HeapMode() bool { return process.frozen()&modeHeap != 0 }
