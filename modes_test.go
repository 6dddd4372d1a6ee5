// SPDX-License-Identifier: Apache-2.0

package freehold

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/internal/debugmode"
)

// newModes returns modes of a pretended process, and what it writes to standard error.
func newModes(env string) (*modes, *strings.Builder, *int) {
	var stderr strings.Builder
	reads := new(int)
	return &modes{
		stderr: &stderr,
		start:  func(debugmode.Config) {},
		getenv: func(name string) string {
			*reads++
			if name != "FREEHOLD" {
				return ""
			}
			return env
		},
	}, &stderr, reads
}

func TestModesFromEnvironment(t *testing.T) {
	for _, c := range []struct {
		env    string
		want   Options
		stderr string
	}{
		{"", Options{}, ""},
		{"heap", Options{Heap: true}, ""},
		{" nomemlimit , ,heap,", Options{Heap: true, NoMemLimit: true}, ""},
		{"heap,heap", Options{Heap: true}, ""},
		{",,", Options{}, ""},
		{"Heap,nomemlimit,x=1", Options{NoMemLimit: true},
			"freehold: FREEHOLD: unknown \"Heap\", \"x=1\" ignored; known words: heap, nomemlimit, noreuse, guard, leaks, pointers, " +
				"sample[=N]\n"},
		{"noreuse", Options{NoReuse: true}, ""},
		{"guard", Options{Guard: true}, ""},
		{"leaks,pointers", Options{Leaks: true, Pointers: true}, ""},
		{"sample=1000", Options{Sample: 1000}, ""},
		{"sample,leaks", Options{Sample: SampleDefault, Leaks: true}, ""},
		{"sample=x,guard", Options{Guard: true}, "freehold: FREEHOLD: sample=x ignored: want a whole number of at least 1\n"},
		{"sample=0", Options{}, "freehold: FREEHOLD: sample=0 ignored: want a whole number of at least 1\n"},
		{"sample=", Options{}, "freehold: FREEHOLD: sample= ignored: want a whole number of at least 1\n"},
		{"guard=1,sample=-1", Options{}, "freehold: FREEHOLD: guard=1 ignored: it takes no value\n" +
			"freehold: FREEHOLD: sample=-1 ignored: want a whole number of at least 1\n"},
	} {
		m, stderr, reads := newModes(c.env)
		m.frozen()
		m.frozen()
		if got := m.current(); got != c.want {
			t.Errorf("FREEHOLD=%q: %+v, want %+v", c.env, got, c.want)
		}
		if text := stderr.String(); text != c.stderr {
			t.Errorf("FREEHOLD=%q: standard error %q, want %q", c.env, stderr, c.stderr)
		}
		if *reads != 1 {
			t.Errorf("FREEHOLD=%q: the variable was read %d times", c.env, *reads)
		}
	}
}

// TestWords: each word that is a mode of its own is there, on or off.
func TestWords(t *testing.T) {
	for _, w := range words {
		o, _, _ := parseWords(w.name + strings.Trim(w.form, "[=N]"))
		if got, isMode := o.Words()[w.name]; !isMode || !got {
			t.Errorf("%s: a mode: %v, in force: %v", w.name, isMode, got)
		}
		for name, on := range (Options{}).Words() {
			if on {
				t.Errorf("%s is in force, and no mode was asked for", name)
			}
		}
	}
	if n := len(Options{}.Words()); n != 7 {
		t.Errorf("%d modes, and the documentation names 7", n)
	}
}

func TestConfigureBeforeAndAfterStart(t *testing.T) {
	m, _, _ := newModes("nomemlimit")
	if err := m.configure(Options{Heap: true}); err != nil {
		t.Fatalf("before the start: %v", err)
	}
	if err := m.configure(Options{}); err != nil {
		t.Fatalf("the zero Options: %v", err)
	}
	if got, want := m.current(), (Options{Heap: true, NoMemLimit: true}); got != want {
		t.Fatalf("union is %+v, want %+v", got, want)
	}
	m.frozen()
	if err := m.configure(Options{Heap: true, NoMemLimit: true}); err != nil {
		t.Errorf("after the start, changing nothing: %v", err)
	}

	m, _, _ = newModes("")
	m.frozen()
	err := m.configure(Options{NoMemLimit: true})
	if !errors.Is(err, ErrStarted) {
		t.Fatalf("after the start: %v, want ErrStarted", err)
	}
	if !strings.Contains(err.Error(), "nomemlimit") {
		t.Errorf("the message does not name the mode: %v", err)
	}
	if m.frozen()&modeNoMemLimit != 0 {
		t.Error("the refused mode is in force")
	}
}

// TestModesFreezeOnce races Configure against first uses: every use must see the same modes.
func TestModesFreezeOnce(t *testing.T) {
	for range 100 {
		m, _, _ := newModes("")
		seen := make([]uint32, 4)
		var failed error
		var wg sync.WaitGroup
		wg.Go(func() { failed = m.configure(Options{NoMemLimit: true}) })
		for i := range seen {
			wg.Go(func() { seen[i] = m.frozen() })
		}
		wg.Wait()
		for _, b := range seen {
			if b != m.frozen() {
				t.Fatalf("a first use saw %b, the modes are %b", b, m.frozen())
			}
			if took := b&modeNoMemLimit != 0; took != (failed == nil) {
				t.Fatalf("configure returned %v but a use saw %b", failed, b)
			}
		}
	}
}

// TestHeapMode checks the functions of this process against its environment.
func TestHeapMode(t *testing.T) {
	env, _, _ := parseWords(os.Getenv("FREEHOLD"))
	want := env.Heap
	if got := HeapMode(); got != want {
		t.Fatalf("HeapMode() = %v, want %v", got, want)
	}
	if got := Modes().Heap; got != want {
		t.Errorf("Modes().Heap = %v, want %v", got, want)
	}
	err := Configure(Options{Heap: true})
	if want != (err == nil) || !want && !errors.Is(err, ErrStarted) {
		t.Errorf("Configure after the start: %v with heap mode %v", err, want)
	}
	if n := testing.AllocsPerRun(100, func() { HeapMode() }); n != 0 {
		t.Errorf("HeapMode allocates %v times", n)
	}
}

func BenchmarkHeapMode(b *testing.B) {
	for b.Loop() {
		HeapMode()
	}
}

// TestDebugModesStart checks what the debug modes are started with, and that it happens once.
func TestDebugModesStart(t *testing.T) {
	for _, c := range []struct {
		env    string
		code   Options
		want   debugmode.Config
		stderr string
	}{
		{"", Options{}, debugmode.Config{}, ""},
		{"guard,leaks", Options{Pointers: true}, debugmode.Config{Guard: true, Leaks: true, Pointers: true}, ""},
		{"sample=10", Options{Sample: 99}, debugmode.Config{Sample: 10}, ""},
		{"sample", Options{}, debugmode.Config{Sample: defaultSample, SampleRate: defaultSampleRate}, ""},
		{"heap,guard", Options{Sample: 3}, debugmode.Config{},
			"freehold: heap sends every block to the Go heap, where the debug modes do not reach: ignored guard, sample=3\n"},
	} {
		m, stderr, _ := newModes(c.env)
		var got []debugmode.Config
		m.start = func(c debugmode.Config) { got = append(got, c) }
		if err := m.configure(c.code); err != nil {
			t.Fatal(err)
		}
		m.frozen()
		m.frozen()
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("FREEHOLD=%s and %+v: started with %+v, want once %+v", c.env, c.code, got, c.want)
		}
		if stderr.String() != c.stderr {
			t.Errorf("FREEHOLD=%s: standard error %q, want %q", c.env, stderr, c.stderr)
		}
	}
}

// TestConfigureNumbers checks which of several numbers counts.
func TestConfigureNumbers(t *testing.T) {
	m, _, _ := newModes("sample=10")
	for _, n := range []int{20, 30} {
		if err := m.configure(Options{Sample: n}); err != nil {
			t.Fatal(err)
		}
	}
	if got := m.current(); got.Sample != 10 {
		t.Errorf("sample %d, want the variable's 10", got.Sample)
	}
	m.frozen()
	if err := m.configure(Options{Sample: 40}); err != nil {
		t.Errorf("after the start, changing nothing: %v", err)
	}
	m, _, _ = newModes("")
	for _, n := range []int{20, 30} {
		if err := m.configure(Options{Sample: n}); err != nil {
			t.Fatal(err)
		}
	}
	m.frozen()
	if got := m.current(); got.Sample != 30 {
		t.Errorf("sample %d, want the last call's 30", got.Sample)
	}
	if err := m.configure(Options{Sample: 31}); !errors.Is(err, ErrStarted) || !strings.Contains(err.Error(), "sample=31") {
		t.Errorf("after the start: %v, want ErrStarted with sample=31", err)
	}
	if got := m.current(); got.Sample != 30 {
		t.Errorf("sample %d after a refusal", got.Sample)
	}
}
