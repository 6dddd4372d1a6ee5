// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold/sink"
	"github.com/freehold-go/freehold/sink/service"
)

// TestScreen: each second is a line where the output is no terminal, and takes the place of the one
// before where it is.
func TestScreen(t *testing.T) {
	now := service.State{Lag: 7, Stats: sink.Stats{Records: 1000, Objects: 3, StoredBytes: 2 << 20}, Memory: service.Memory{Heap: 8 << 20, OffHeap: 80 << 20}, GC: service.GC{Cycles: 4, CPU: 0.02, AllCPU: 10}}
	var plain bytes.Buffer
	s := newScreen(&plain, 2*time.Second)
	s.show(time.Second, 500, now)
	now.Lag = 1 << 60
	s.show(2*time.Second, 700, now)
	lines := strings.Split(strings.TrimSpace(plain.String()), "\n")
	if len(lines) != 3 || strings.Contains(plain.String(), "\x1b") {
		t.Fatalf("%q", lines)
	}
	for i, want := range []string{
		"second records/s stored objects Go heap off heap GC cycles GC CPU lag",
		"1 500 2.0 MiB 3 8.0 MiB 80.0 MiB 4 0.20 % 7",
		"2 700 2.0 MiB 3 8.0 MiB 80.0 MiB 4 0.20 % endless",
	} {
		if got := strings.Join(strings.Fields(lines[i]), " "); got != want {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
	}
	var terminal bytes.Buffer
	s = &screen{w: &terminal, each: 2 * time.Second, live: true}
	s.show(time.Second, 500, now)
	first := strings.Count(terminal.String(), "\n")
	s.show(2*time.Second, 1000, now)
	_, second, ok := strings.Cut(terminal.String(), "\x1b[9A")
	if first != 9 || !ok || strings.Count(second, "\n") != first || !strings.Contains(second, "2 of 2") || !strings.Contains(second, "▅█") {
		t.Errorf("%d lines, then %q", first, second)
	}
}
