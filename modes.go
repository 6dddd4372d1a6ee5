package freehold

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
)

// The bits of modes.bits.
const (
	modeHeap uint32 = 1 << iota
	modeNoMemLimit
	modeFrozen
)

// words are the known words of FREEHOLD, in the order in which they are listed to the user.
var words = []struct {
	name string
	bit  uint32
}{
	{"heap", modeHeap},
	{"nomemlimit", modeNoMemLimit},
}

// modes is the state behind the package's functions; tests make their own, with their own environment.
type modes struct {
	bits atomic.Uint32 // complete once modeFrozen is set; before that only under mu

	mu     sync.Mutex
	parsed bool // the variable has been read
	getenv func(string) string
	stderr io.Writer
}

// process holds the modes of this process.
var process = modes{getenv: os.Getenv, stderr: os.Stderr}

// frozen returns the bits and makes sure that they never change again.
func (m *modes) frozen() uint32 {
	if b := m.bits.Load(); b&modeFrozen != 0 {
		return b
	}
	return m.freezeSlow()
}

//go:noinline
func (m *modes) freezeSlow() uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.parse()
	b := m.bits.Load() | modeFrozen
	m.bits.Store(b)
	return b
}

// current returns the modes that hold so far.
func (m *modes) current() Options {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.parse()
	b := m.bits.Load()
	return Options{Heap: b&modeHeap != 0, NoMemLimit: b&modeNoMemLimit != 0}
}

func (m *modes) configure(o Options) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.parse()
	old := m.bits.Load()
	b := old | o.bits()
	if b != old && old&modeFrozen != 0 {
		return fmt.Errorf("%w (asked for: %s)", ErrStarted, names(b&^old))
	}
	m.bits.Store(b)
	return nil
}

// parse reads the variable once. The caller holds mu.
func (m *modes) parse() {
	if m.parsed {
		return
	}
	m.parsed = true
	bits, unknown := parseWords(m.getenv("FREEHOLD"))
	if len(unknown) > 0 {
		// A typing error in a kill switch must be seen, but must not take the service down.
		fmt.Fprintf(m.stderr, "freehold: FREEHOLD: unknown %s ignored; known words: %s\n", quoted(unknown), names(^uint32(0)))
	}
	if builtForHeap {
		bits |= modeHeap
	}
	m.bits.Store(m.bits.Load() | bits)
}

// parseWords returns the bits that the comma-separated words of s stand for, and the words that stand for none.
func parseWords(s string) (bits uint32, unknown []string) {
next:
	for word := range strings.SplitSeq(s, ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			continue
		}
		for _, w := range words {
			if w.name == word {
				bits |= w.bit
				continue next
			}
		}
		unknown = append(unknown, word)
	}
	return bits, unknown
}

func (o Options) bits() (b uint32) {
	if o.Heap {
		b |= modeHeap
	}
	if o.NoMemLimit {
		b |= modeNoMemLimit
	}
	return b
}

// names lists the words whose bits are set in b.
func names(b uint32) string {
	var list []string
	for _, w := range words {
		if b&w.bit != 0 {
			list = append(list, w.name)
		}
	}
	return strings.Join(list, ", ")
}

func quoted(list []string) string {
	for i, s := range list {
		list[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(list, ", ")
}
