// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/freehold-go/freehold/cmd/debugport"
	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// Options say how to collect. The zero value is good.
type Options struct {
	// Duration is how long to watch: a running program or the sample service ten seconds if it is
	// 0, a benchmark three seconds each, a command until it ends.
	Duration time.Duration
	// Bench selects benchmarks by a regular expression, as in go test -bench. If it is not empty,
	// inputs that are neither files nor addresses are packages.
	Bench string
	// Source is the folder of the program's source. If it is empty, the source is looked for where
	// the profiles say that it lay.
	Source string
	// Save is a folder into which all that was collected is written, "" for none. Naming it as an
	// input reads it again.
	Save string
	// Per says how operations are counted. A counter of another port has its address in front:
	// "http://host:9090/metrics#http_requests_total".
	Per evidence.Per
	// Server says how to reach the program at an address: certificates, headers, timeout.
	Server debugport.Options
	// Stdin is read for the input "-".
	Stdin io.Reader
	// Output gets the output of the programs that are started; it may be nil.
	Output io.Writer
	// Progress is called now and then with a line about the current step; it may be nil.
	Progress func(line string)
}

// Durations that are used if none is given.
const (
	watchTime = 10 * time.Second
	benchTime = 3 * time.Second
)

// A lockedWriter lets the two streams of a program go to one writer.
type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(b)
}

// A collector gathers the pieces of one Evidence.
type collector struct {
	Options
	ev      *evidence.Evidence
	pieces  []piece
	sources []string
	curve   []float64 // the bytes in use during the CPU profile
	// perAddress is the address in front of the counter of Per, "" for the program's own, and readings
	// are the counter's values at both ends of the CPU profile.
	perAddress string
	readings   [2]evidence.Metrics
}

// A piece is the content of one file of evidence.
type piece struct {
	name string
	data []byte
}

// Names of the files that Options.Save writes. A file with another name is read too, if its name
// ends like one of these.
const (
	fileCPU     = "cpu.pb.gz"
	fileHeap0   = "heap0.pb.gz"
	fileHeap1   = "heap1.pb.gz"
	fileMetric0 = "metrics0.json"
	fileMetric1 = "metrics1.json"
	fileTrace   = "gctrace.txt"
	fileBench   = "bench.txt"
)

// readFrom takes a piece of evidence of unknown kind and size.
func (c *collector) readFrom(name string, r io.Reader) error {
	if err := c.ev.Read(name, r); err != nil {
		return fmt.Errorf("doctor: %w", err)
	}
	return nil
}

// read is readFrom for data in memory.
func (c *collector) read(name string, data []byte) error {
	if err := c.ev.ReadBytes(name, data); err != nil {
		return fmt.Errorf("doctor: %w", err)
	}
	return nil
}

// alone reads a piece of evidence into an Evidence of its own.
func alone(name string, data []byte) (*evidence.Evidence, error) {
	e := &evidence.Evidence{}
	if err := e.ReadBytes(name, data); err != nil {
		return nil, fmt.Errorf("doctor: %w", err)
	}
	return e, nil
}

// keep keeps a piece for Options.Save, as it was collected.
func (c *collector) keep(name string, data []byte) {
	if c.Save != "" {
		c.pieces = append(c.pieces, piece{name, data})
	}
}

// save writes the pieces.
func (c *collector) save() error {
	if c.Save == "" {
		return nil
	}
	if len(c.pieces) == 0 {
		return errors.New("doctor: -save: nothing was collected; the input files are saved already")
	}
	if err := os.MkdirAll(c.Save, 0o755); err != nil {
		return fmt.Errorf("doctor: -save: %w", err)
	}
	for _, p := range c.pieces {
		if err := os.WriteFile(filepath.Join(c.Save, p.name), p.data, 0o644); err != nil {
			return fmt.Errorf("doctor: -save: %w", err)
		}
	}
	return nil
}

// duration is how long to watch.
func (c *collector) duration(otherwise time.Duration) time.Duration {
	if c.Duration > 0 {
		return c.Duration
	}
	return otherwise
}

// ticking shows how long something has been running, until the returned function is called.
func (c *collector) ticking(what string) func() {
	begin := time.Now()
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				c.Progress(what + ": " + terminal.Elapsed(time.Since(begin)))
			}
		}
	}()
	return func() {
		close(done)
		<-stopped
	}
}
