// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/freehold-go/freehold/sink/service"
)

// screen shows the figures of a run each second: in place on a terminal, otherwise as the lines of
// a table.
type screen struct {
	w     io.Writer
	each  time.Duration // of the run
	live  bool
	lines int       // on the terminal
	rates []float64 // of each second
}

func newScreen(w io.Writer, each time.Duration) *screen {
	s := &screen{w: w, each: each, live: isTerminal(w)}
	if !s.live {
		fmt.Fprintf(w, "%6s %10s %10s %8s %10s %10s %9s %8s %8s\n", "second", "records/s", "stored", "objects", "Go heap", "off heap", "GC cycles", "GC CPU", "lag")
	}
	return s
}

// isTerminal reports whether w understands the codes that move a terminal's cursor.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || runtime.GOOS == "windows" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// show shows the figures at a time since the beginning.
func (s *screen) show(at time.Duration, rate float64, now service.State) {
	collector := fmt.Sprintf("%.2f %%", 100*share(now.GC))
	lag := fmt.Sprint(now.Lag)
	if now.Lag > 1<<50 {
		lag = "endless" // The demo's broker has a log without end.
	}
	if !s.live {
		fmt.Fprintf(s.w, "%6.0f %10.0f %10s %8d %10s %10s %9d %8s %8s\n", at.Seconds(), rate, mib(now.Stats.StoredBytes), now.Stats.Objects, mib(now.Memory.Heap), mib(now.Memory.OffHeap), now.GC.Cycles, collector, lag)
		return
	}
	s.rates = append(s.rates, rate)
	if s.lines > 0 {
		fmt.Fprintf(s.w, "\x1b[%dA", s.lines)
	}
	s.lines = 0
	line := func(name, format string, args ...any) {
		fmt.Fprintf(s.w, "\x1b[2K  %-18s %s\n", name, fmt.Sprintf(format, args...))
		s.lines++
	}
	line("second", "%.0f of %.0f", at.Seconds(), s.each.Seconds())
	line("records a second", "%-10.0f %s", rate, spark(s.rates))
	line("records", "%d; %d bad", now.Stats.Records, now.Stats.Rejected)
	line("stored", "%s in %d objects", mib(now.Stats.StoredBytes), now.Stats.Objects)
	line("in flight", "%s of %s", mib(now.Stats.InFlight), mib(now.Stats.Limit))
	line("Go heap", "%s", mib(now.Memory.Heap))
	line("off heap", "%s", mib(now.Memory.OffHeap))
	line("collector", "%d cycles, %s of the CPU", now.GC.Cycles, collector)
	line("lag", "%s", lag)
}

// share is the collector's part of the CPU. Both are Go's figures: that of the system leaves out when other processes had the processor.
func share(gc service.GC) float64 { return gc.CPU / max(gc.AllCPU, 0.001) }

// spark draws the last figures as bars from 0 to the largest.
func spark(all []float64) string {
	all = all[max(0, len(all)-40):]
	most := 0.0
	for _, v := range all {
		most = max(most, v)
	}
	var b strings.Builder
	bars := []rune("▁▂▃▄▅▆▇█")
	for _, v := range all {
		b.WriteRune(bars[min(len(bars)-1, int(v/max(most, 1)*float64(len(bars))))])
	}
	return b.String()
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
