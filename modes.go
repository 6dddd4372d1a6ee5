// SPDX-License-Identifier: Apache-2.0

package freehold

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/debugmode"
)

// The bits of modes.bits.
const (
	modeHeap uint32 = 1 << iota
	modeNoMemLimit
	modeNoReuse
	modeFrozen
)

// modes is the state behind the package's functions; tests make their own, with their own
// environment.
type modes struct {
	bits atomic.Uint32 // 0 until the modes are frozen

	mu       sync.Mutex
	parsed   bool    // the variable has been read
	fromEnv  Options // the modes of the variable
	fromCode Options // the modes of the calls of configure
	getenv   func(string) string
	stderr   io.Writer
	start    func(debugmode.Config) // called once, when the modes are frozen
}

// process holds the modes of this process.
var process = modes{getenv: os.Getenv, stderr: os.Stderr, start: debugmode.Start}

// frozen returns the bits and makes sure that the modes never change again.
func (m *modes) frozen() uint32 {
	if b := m.bits.Load(); b != 0 {
		return b
	}
	return m.freezeSlow()
}

//go:noinline
func (m *modes) freezeSlow() uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b := m.bits.Load(); b != 0 {
		return b
	}
	o := m.inForce()
	b := modeFrozen
	if o.Heap {
		b |= modeHeap
	}
	if o.NoMemLimit {
		b |= modeNoMemLimit
	}
	if o.NoReuse {
		b |= modeNoReuse
	}
	m.start(m.debugConfig(o))
	m.bits.Store(b)
	return b
}

// debugConfig is the part of o for internal/debugmode. The kill switch comes first, because the
// debug modes guard no memory of the Go heap.
func (m *modes) debugConfig(o Options) debugmode.Config {
	c := debugmode.Config{
		Guard: o.Guard, Leaks: o.Leaks, Pointers: o.Pointers, Sample: o.Sample,
	}
	if o.Sample < 0 {
		c.Sample, c.SampleRate = defaultSample, defaultSampleRate
	}
	if !o.Heap || !c.Asked() {
		return c
	}
	ignored := o
	ignored.Heap, ignored.NoMemLimit, ignored.NoReuse = false, false, false
	fmt.Fprintf(m.stderr, "freehold: heap sends every block to the Go heap, where the debug modes do not reach: ignored %s\n", ignored.names())
	return debugmode.Config{}
}

// current returns the modes that hold so far.
func (m *modes) current() Options {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.inForce()
}

// inForce is the union of the modes of the variable and of the calls. Of two numbers the variable's
// counts, because the operator of the program has set it. The caller holds mu.
func (m *modes) inForce() Options {
	m.parse()
	return m.fromEnv.with(m.fromCode)
}

func (m *modes) configure(o Options) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.inForce()
	code := o.with(m.fromCode)
	if m.bits.Load() != 0 && m.fromEnv.with(code) != old {
		return fmt.Errorf("%w (asked for: %s; in force: %s)", ErrStarted, o.names(), old.names())
	}
	m.fromCode = code
	return nil
}

// parse reads the variable once. The caller holds mu.
func (m *modes) parse() {
	if m.parsed {
		return
	}
	m.parsed = true
	o, unknown, bad := parseWords(m.getenv("FREEHOLD"))
	// A typing error in a kill switch must be seen, but must not take the service down.
	if len(unknown) > 0 {
		fmt.Fprintf(m.stderr, "freehold: FREEHOLD: unknown %s ignored; known words: %s\n", quoted(unknown), knownWords())
	}
	for _, err := range bad {
		fmt.Fprintf(m.stderr, "freehold: FREEHOLD: %v\n", err)
	}
	m.fromEnv = o
}

func quoted(list []string) string {
	for i, s := range list {
		list[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(list, ", ")
}

// Configure adds o to the modes that FREEHOLD and earlier calls ask for. It never takes a mode
// away. For numbers, the variable overrides calls, and the last call overrides earlier ones. If a
// package has asked for its mode already, and the call would change the modes, Configure changes
// nothing and returns an error that errors.Is [ErrStarted].
func Configure(o Options) error { return process.configure(o) }

// Modes returns the modes in force so far, without freezing them.
func Modes() Options { return process.current() }

// HeapMode reports whether blocks must come from the Go heap. The first call freezes the modes for
// the life of the process, so only a package that is about to allocate calls it. Later calls cost
// one atomic load.
func HeapMode() bool { return process.frozen()&modeHeap != 0 }

// NoReuseMode reports whether arenas on Go memory leave their freed memory to the collector. It
// freezes the modes as [HeapMode] does.
func NoReuseMode() bool { return process.frozen()&modeNoReuse != 0 }

// A word is one word of the variable FREEHOLD, and the field of Options that it stands for.
type word struct {
	name string
	form string // The value, as the user is told of it: "" or "[=N]".
	set  func(o *Options, value string, valued bool) error
	text func(o Options) string // The word and its value, "" if the field is zero.
}

// words are the known words, in the order in which they are listed to the user.
var words = []word{
	flag("heap", func(o *Options) *bool { return &o.Heap }),
	flag("nomemlimit", func(o *Options) *bool { return &o.NoMemLimit }),
	flag("noreuse", func(o *Options) *bool { return &o.NoReuse }),
	flag("guard", func(o *Options) *bool { return &o.Guard }),
	flag("leaks", func(o *Options) *bool { return &o.Leaks }),
	flag("pointers", func(o *Options) *bool { return &o.Pointers }),
	{
		name: "sample", form: "[=N]",
		set: func(o *Options, value string, valued bool) error {
			n, err := SampleDefault, error(nil)
			if valued {
				if n, err = strconv.Atoi(value); err != nil || n < 1 {
					return errors.New("want a whole number of at least 1")
				}
			}
			o.Sample = n
			return nil
		},
		text: func(o Options) string {
			switch {
			case o.Sample > 0:
				return "sample=" + strconv.Itoa(o.Sample)
			case o.Sample < 0:
				return "sample"
			}
			return ""
		},
	},
}

// flag is a word that switches something on.
func flag(name string, field func(*Options) *bool) word {
	return word{
		name: name,
		set: func(o *Options, _ string, valued bool) error {
			if valued {
				return errors.New("it takes no value")
			}
			*field(o) = true
			return nil
		},
		text: func(o Options) string {
			if *field(&o) {
				return name
			}
			return ""
		},
	}
}

// parseWords returns the options that the comma-separated words of s stand for, the unknown words,
// and an error for each word with a wrong value.
func parseWords(s string) (o Options, unknown []string, bad []error) {
next:
	for text := range strings.SplitSeq(s, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		name, value, valued := strings.Cut(text, "=")
		for _, w := range words {
			if w.name != name {
				continue
			}
			if err := w.set(&o, value, valued); err != nil {
				bad = append(bad, fmt.Errorf("%s ignored: %w", text, err))
			}
			continue next
		}
		unknown = append(unknown, text)
	}
	return o, unknown, bad
}

// with adds more to o. Fields set in o stay.
func (o Options) with(more Options) Options {
	for _, w := range words {
		if text := w.text(more); text != "" && w.text(o) == "" {
			_, value, valued := strings.Cut(text, "=")
			_ = w.set(&o, value, valued) // text is what set takes.
		}
	}
	return o
}

// Words says for each mode, by its word in the variable FREEHOLD, whether it is in o: heap,
// nomemlimit, noreuse, guard, leaks, pointers and sample. Later versions may add modes. The
// map is the caller's.
func (o Options) Words() map[string]bool {
	in := map[string]bool{}
	for _, w := range words {
		in[w.name] = w.text(o) != ""
	}
	return in
}

// names lists the words that stand for o, with their values.
func (o Options) names() string {
	var list []string
	for _, w := range words {
		if text := w.text(o); text != "" {
			list = append(list, text)
		}
	}
	return strings.Join(list, ", ")
}

// knownWords lists all words for the user.
func knownWords() string {
	var list []string
	for _, w := range words {
		list = append(list, w.name+w.form)
	}
	return strings.Join(list, ", ")
}
