package freehold

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
)

// newModes returns modes of a pretended process, and what it writes to standard error.
func newModes(env string) (*modes, *strings.Builder, *int) {
	var stderr strings.Builder
	reads := new(int)
	return &modes{
		stderr: &stderr,
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
			"freehold: FREEHOLD: unknown \"Heap\", \"x=1\" ignored; known words: heap, nomemlimit\n"},
	} {
		m, stderr, reads := newModes(c.env)
		m.frozen()
		m.frozen()
		want := c.want
		want.Heap = want.Heap || builtForHeap
		if got := m.current(); got != want {
			t.Errorf("FREEHOLD=%q: %+v, want %+v", c.env, got, want)
		}
		if stderr.String() != c.stderr {
			t.Errorf("FREEHOLD=%q: standard error %q, want %q", c.env, stderr, c.stderr)
		}
		if *reads != 1 {
			t.Errorf("FREEHOLD=%q: the variable was read %d times", c.env, *reads)
		}
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
	bits, _ := parseWords(os.Getenv("FREEHOLD"))
	want := bits&modeHeap != 0 || builtForHeap
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
