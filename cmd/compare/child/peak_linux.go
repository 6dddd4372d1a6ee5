// SPDX-License-Identifier: Apache-2.0

package child

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Linux keeps the largest resident set of a process across exec. Go starts a child in its own
// address space (CLONE_VM), so the figure that wait returns for a child is at least the parent's.
// If it is larger, it is the child's. If not, the result is the child's own counter, which begins
// anew at exec and was read at intervals while the child ran.

// peakEvery is the interval between readings of the counter, which are more frequent at first.
// Memory that a child takes in the last moments of its life may be missed.
const peakEvery = 20 * time.Millisecond

// A peakWatch reads the counter of one child.
type peakWatch struct {
	quit, done chan struct{}
	seen       float64
}

func watchPeak(pid int) *peakWatch {
	w := &peakWatch{quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for pause := time.Millisecond; ; pause = min(2*pause, peakEvery) {
			select {
			case <-w.quit:
				return
			case <-time.After(pause):
				w.seen = max(w.seen, highWater(strconv.Itoa(pid)))
			}
		}
	}()
	return w
}

// stop ends the watch and returns the largest value in bytes, 0 if the child ended before the first
// reading.
func (w *peakWatch) stop() float64 {
	close(w.quit)
	<-w.done
	return w.seen
}

// highWater reads the line VmHWM of a process, in bytes.
func highWater(pid string) float64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%s/status", pid))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(data) {
		if value, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			kib, err := strconv.ParseFloat(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(value), []byte("kB")))), 64)
			if err != nil {
				return 0
			}
			return kib * 1024
		}
	}
	return 0
}

// ownPeak is the largest resident set of this process so far, in bytes.
func ownPeak() float64 { return highWater("self") }

// peakSlack is the largest difference between the counters of two processes that use the same
// memory: the kernel adds the counters up only now and then.
const peakSlack = 1 << 20

// childPeak is the largest resident set of an ended child. own is this process's peak when the
// child started, and seen is the largest value of the watch.
func childPeak(state *os.ProcessState, own, seen float64) float64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return seen
	}
	if peak := float64(usage.Maxrss) * 1024; peak > own+peakSlack {
		return peak
	}
	return seen
}
