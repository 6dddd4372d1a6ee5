// SPDX-License-Identifier: Apache-2.0

// Package demo shows the sink at work: a broker of its own with endless orders, a directory as the store, figures each second, and what
// the same work costs on the Go heap.
package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/freehold-go/freehold/sink/config"
	"github.com/freehold-go/freehold/sink/service"
)

// outcome is what a run of the sink did and cost.
type outcome struct {
	records, objects, stored int64
	cpu                      time.Duration
	peakRSS                  int64   // bytes
	cycles                   int64   // of the collector
	collector                float64 // its share of the CPU, as of the last collection
}

// Run runs the sink twice, with memory outside the Go heap and with all memory on it, and compares.
// It deletes the objects, unless keep names a directory for them, which Run makes.
func Run(ctx context.Context, w io.Writer, each time.Duration, keep string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	dir, remove, err := folder(keep)
	if err != nil {
		return err
	}
	defer remove()
	broker, stop, err := startBroker(ctx, program)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(w, "A broker at %s serves orders of 1.5 KB in %d partitions without end. The sink writes them to %s\nas JSON lines, in objects of 5,000 orders, compressed by zstd.\n", broker, partitions, dir)
	var outcomes []outcome
	for _, mode := range []string{"", "heap"} {
		if mode == "" {
			fmt.Fprintf(w, "\nRecords and objects outside the Go heap:\n\n")
		} else {
			fmt.Fprintf(w, "\nThe same program with FREEHOLD=heap, which puts all memory on the Go heap:\n\n")
		}
		o, err := runOnce(ctx, w, program, broker, filepath.Join(dir, objectsOf(mode)), mode, each)
		if err != nil {
			return err
		}
		outcomes = append(outcomes, o)
	}
	fmt.Fprintln(w)
	summary(w, outcomes[0], outcomes[1])
	if keep != "" {
		lookAt(w, program, dir)
	}
	return nil
}

// folder makes the directory of the objects. A directory that is to be kept must be new: objects of
// an earlier demo would be mixed with those of this one.
func folder(keep string) (dir string, remove func(), err error) {
	if keep == "" {
		dir, err = os.MkdirTemp("", "freehold-sink-demo")
		return dir, func() { os.RemoveAll(dir) }, err
	}
	if dir, err = filepath.Abs(keep); err != nil {
		return "", nil, err
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", nil, fmt.Errorf("-keep takes a new directory: %w", err)
	}
	return dir, func() {}, nil
}

// lookAt prints commands that look at the objects that a demo has kept.
func lookAt(w io.Writer, program, dir string) {
	name := "freehold-sink"
	if strings.Contains(program, "go-build") {
		name = "go run ./sink/cmd/freehold-sink" // The demo itself was started by go run.
	}
	fmt.Fprintf(w, `
%[2]s has the objects of both runs, objects and objects-heap, each with its configuration. To look at them:

    ls %[2]s/objects/%[3]s
    %[1]s inspect -config %[2]s/objects.yaml
    cat %[2]s/objects/%[3]s/*.zst | zstd -dc | head -1
`, name, dir, topic)
}

// runOnce runs a process with the sink for some time, and prints its figures each second.
func runOnce(ctx context.Context, w io.Writer, program, broker, dir, mode string, each time.Duration) (o outcome, err error) {
	c := config.Default()
	c.Kafka.Brokers, c.Kafka.Topics, c.Kafka.Group = []string{broker}, []string{topic}, "demo"+mode
	c.Store.URL = "dir://" + dir
	c.HTTP.Listen, err = freeAddress()
	if err != nil {
		return o, err
	}
	c.Log.Level = "warn"
	c.Rotate.Records = 5000 // so that objects appear in the first seconds on a slow machine, too
	file := dir + ".yaml"
	var text bytes.Buffer
	if err := config.Write(&text, c); err != nil {
		return o, err
	}
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		return o, err
	}
	cmd := exec.CommandContext(ctx, program, "run", "-config", file)
	cmd.Cancel = func() error { return stop(cmd.Process) }
	cmd.Env = append(os.Environ(), "FREEHOLD="+mode)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return o, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	began := time.Now()
	shown := newScreen(w, each)
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	var now service.State
	for time.Since(began) < each {
		select {
		case err := <-ended:
			return o, fmt.Errorf("the sink has ended: %w", err)
		case <-ctx.Done():
			<-ended
			return o, ctx.Err()
		case <-ticks.C:
		}
		var next service.State
		if err := get(ctx, "http://"+c.HTTP.Listen+"/stats", &next); err != nil {
			continue // It is still starting.
		}
		before := now.Time
		if before.IsZero() {
			before = next.Started
		}
		shown.show(time.Since(began), float64(next.Stats.Records-now.Stats.Records)/max(next.Time.Sub(before).Seconds(), 0.1), next)
		now = next
	}
	if err := stop(cmd.Process); err != nil {
		return o, err
	}
	if err := <-ended; err != nil && !stopKills {
		return o, fmt.Errorf("the sink: %w", err)
	}
	o = outcome{records: now.Stats.Records, objects: now.Stats.Objects, stored: now.Stats.StoredBytes, cycles: now.GC.Cycles, collector: share(now.GC)}
	o.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	o.peakRSS = peakRSS(cmd.ProcessState)
	return o, nil
}

// get reads JSON.
func get(ctx context.Context, url string, to any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(to)
}

// freeAddress is an address that nobody listens at.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// summary compares two runs.
func summary(w io.Writer, off, heap outcome) {
	row := func(name string, value func(outcome) string) {
		fmt.Fprintf(w, "%-28s %14s %14s\n", name, value(off), value(heap))
	}
	fmt.Fprintf(w, "%-28s %14s %14s\n%s\n", "", "off heap", "FREEHOLD=heap", strings.Repeat("-", 58))
	row("records", func(o outcome) string { return fmt.Sprint(o.records) })
	row("CPU a record", func(o outcome) string {
		return fmt.Sprintf("%.2f µs", float64(o.cpu.Microseconds())/float64(max(o.records, 1)))
	})
	if off.peakRSS > 0 {
		row("peak resident memory", func(o outcome) string { return mib(o.peakRSS) })
	}
	row("GC cycles a million records", func(o outcome) string {
		return fmt.Sprintf("%.1f", float64(o.cycles)*1e6/float64(max(o.records, 1)))
	})
	row("collector's share of CPU", func(o outcome) string {
		return fmt.Sprintf("%.2f %%", 100*o.collector)
	})
	row("objects; stored", func(o outcome) string { return fmt.Sprintf("%d; %s", o.objects, mib(o.stored)) })
}

// objectsOf is the name of the directory of a run's objects.
func objectsOf(mode string) string {
	if mode == "" {
		return "objects"
	}
	return "objects-" + mode
}
