// SPDX-License-Identifier: Apache-2.0

package gctune_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/gctune"
	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/offheap"
)

const (
	rampMemory  = 256 << 20 // the group's limit
	rampOffHeap = 96 << 20
	rampLive    = 90 << 20 // With GOGC=100 the heap grows to twice as much: 280 MiB with the off-heap memory.
	rampBlock   = 1 << 20
	rampPage    = 4 << 10
	rampLooks   = 30 // of the tuner while the program grows, at least
)

// TestRampInCgroup lets a program grow in a control group of 256 MiB, 96 of which it takes off the
// heap: with a tuner it lives through it. Without one, and with the fixed nine tenths that tools
// set which do not know of off-heap memory, the kernel kills it, or else the test would show
// nothing. FREEHOLD_TEST_STRESS=60s is the long form.
func TestRampInCgroup(t *testing.T) {
	if freehold.Modes() != (freehold.Options{}) || sanitize.Enabled || sanitize.Race {
		t.Skip("blocks do not lie off the heap in this build or mode")
	}
	testenv.StartsPrograms(t)
	took := testenv.StressTime(t, 3*time.Second)
	for _, c := range []struct {
		name   string
		env    []string
		killed bool
	}{
		{"tuned", nil, false},
		{"mapped", []string{"GCTUNE_TEST_MAPPED=1"}, false}, // as a C library would take it: unknown to the tuner
		{"plain", []string{"GCTUNE=off"}, true},
		{"ninetenths", []string{"GCTUNE=off", fmt.Sprintf("GOMEMLIMIT=%d", rampMemory*9/10), "GOGC=off", "FREEHOLD=nomemlimit"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "mapped" && took < 2*time.Second {
				t.Skip("between two looks more would grow than the headroom holds")
			}
			group := memoryGroup(t, rampMemory)
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			// It waits for the tuner's looks: without a limit it could outlive us.
			limit := "-test.timeout=" + (took + 5*time.Minute).String()
			program := exec.Command(exe, "-test.run=^TestRampProgram$", "-test.v", "-test.count=1", limit)
			program.Env = append(withoutKnobs(os.Environ()), "GCTUNE_TEST_GROUP="+group, "GCTUNE_TEST_RAMP="+took.String())
			program.Env = append(program.Env, c.env...)
			out, err := program.CombinedOutput()
			if errors.Is(err, syscall.ENOEXEC) {
				t.Skip("we are emulated and cannot start ourselves")
			}
			var exit *exec.ExitError
			killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
			if killed != c.killed || err != nil && !killed {
				t.Errorf("killed: %v (%v), want %v\n%s", killed, err, c.killed, out)
			}
			t.Logf("%v\n%s", err, out)
		})
	}
}

// withoutKnobs drops what would decide in place of the test.
func withoutKnobs(env []string) (kept []string) {
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "GOGC", "GOMEMLIMIT", "GODEBUG", "FREEHOLD", "GCTUNE":
		default:
			kept = append(kept, v)
		}
	}
	return kept
}

// TestRampProgram is the program that grows: in the first half of the time off-heap memory and live
// data grow, then they stay, and garbage is made all the while.
func TestRampProgram(t *testing.T) {
	group := os.Getenv("GCTUNE_TEST_GROUP")
	if group == "" {
		t.Skip("a part of TestRampInCgroup")
	}
	took, err := time.ParseDuration(os.Getenv("GCTUNE_TEST_RAMP"))
	if err != nil {
		t.Fatal(err)
	}
	if err := joinGroup(group); err != nil {
		t.Fatal(err)
	}
	tuner, err := gctune.Start(t.Context(), gctune.Options{Interval: min(time.Second, took/2/rampLooks)})
	if err != nil {
		t.Fatal(err)
	}
	if tuner.Stats().Off == "" {
		followGroup(t, tuner, group)
	}
	take := offheap.Alloc
	mapped := os.Getenv("GCTUNE_TEST_MAPPED") != ""
	if mapped {
		take = mapBlock
	}
	offHeap, live := ramp(took, take, func() int { return int(tuner.Stats().Looks) })
	s := tuner.Stats()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%d MiB off the heap and %d MiB live; %d collections in %v; %d looks, %d changes, %d errors\n%v",
		len(offHeap)*rampBlock>>20, len(live)*rampPage>>20, m.NumGC, took, s.Looks, s.Changes, s.Errors, s.Decision)
	if m.NumGC < 3 || s.Errors > 0 {
		t.Errorf("%d collections, %d errors", m.NumGC, s.Errors)
	}
	seen := s.OffHeap
	if mapped {
		seen = s.Other + rampOffHeap/8 // Go's own account runs ahead of what it has touched.
	}
	if tuned := s.Off == ""; tuned && (s.Total != rampMemory || seen < rampOffHeap || !strings.Contains(s.Source, group)) {
		t.Errorf("the tuner did not see the group %s and what is in it: %+v", group, s.Decision)
	}
	runtime.KeepAlive(live)
}

// followGroup doubles the limit of the group under the running tuner, and puts it back.
func followGroup(t *testing.T, tuner *gctune.Tuner, group string) {
	t.Helper()
	for _, limit := range []int64{2 * rampMemory, rampMemory} {
		if err := limitGroup(group, limit); err != nil {
			t.Fatal(err)
		}
		for wait := 0; tuner.Stats().Total != limit; wait++ {
			if wait == 6000 {
				t.Fatalf("a minute after the group's limit became %d: %v", limit, tuner.Stats())
			}
			time.Sleep(10 * time.Millisecond)
		}
		if got := debug.SetMemoryLimit(-1); got > limit || got < limit/2 {
			t.Errorf("GOMEMLIMIT is %d in a group of %d", got, limit)
		}
	}
}

// mapBlock takes memory past Go and freehold.
func mapBlock(n int) []byte {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	return b
}

// ramp grows memory by the clock, but by no more than a share between two measurements of the
// tuner. Without that bound, a machine that stood still for a moment would catch up between two
// measurements, and no tuner could follow. ramp returns when the time is over, all memory has
// grown, a gibibyte of garbage was made after that, and the tuner has measured since. So it holds
// on a slow machine, too.
func ramp(took time.Duration, take func(int) []byte, looks func() int) (offHeap [][]byte, live []*[rampPage]byte) {
	start, first, grown := time.Now(), looks(), 0
	for garbage, i := 0, 0; ; i++ {
		part := min(1, float64(time.Since(start))/float64(took/2), float64(looks()-first)/rampLooks)
		for len(offHeap)*rampBlock < int(part*rampOffHeap) {
			b := take(rampBlock)
			for i := 0; i < len(b); i += rampPage {
				b[i] = 1
			}
			offHeap = append(offHeap, b)
		}
		for len(live)*rampPage < int(part*rampLive) {
			live = append(live, newPage())
		}
		for range 256 { // 1 MiB
			if len(live) > 0 {
				live[uint(i)*7919%uint(len(live))] = newPage() // The old page is garbage.
				i++
			}
		}
		if part == 1 {
			if garbage == 0 {
				grown = looks()
			}
			garbage += 256 * rampPage
		}
		if time.Since(start) > took && garbage >= 4*rampMemory && looks() > grown+1 { // The next look may have begun before.
			return offHeap, live
		}
		time.Sleep(time.Millisecond) // A few hundred MB of garbage a second are enough.
	}
}

func newPage() *[rampPage]byte {
	page := new([rampPage]byte)
	page[0] = 1
	return page
}
