package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// outcome is what a run cost.
type outcome struct {
	Name    string
	PerSec  float64 // messages a second, from the moment that the group is stable to the last object
	CPU     float64 // µs a message, user and system, over the same time
	Boot    float64 // seconds until the group is stable
	First   float64 // seconds until the first object is in the store
	Peak    int64   // MiB of RSS
	Cycles  int     // of the collector
	Pauses  float64 // ms in all that it stopped the program
	Pause   float64 // the median of a pause in ms
	GC      float64 // CPU seconds that it took, but for what it did while a processor was idle; of Go alone
	Stored  int64   // bytes
	Objects int
	Lines   int64
	Stop    float64 // seconds from SIGTERM to the end
	Broker  float64 // CPU seconds
	Server  float64 // of the store

	resident []sample // ten a second
	highest  int64    // MiB of RSS, also between samples
	large    bool     // whether the topic has large values
}

// A sample is the resident memory of a process when so many messages were committed.
type sample struct{ committed, mib int64 }

// ticks of the kernel's counters of CPU time in a second.
const ticks = 100

// cpu is the user and system time of a process in seconds.
func cpu(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0 // It has ended.
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.ParseFloat(fields[11], 64) // The kernel writes numbers.
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticks
}

// rss is the resident memory of a process in MiB, now and at most.
func rss(pid int) (mib, highest int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	fmt.Sscan(rest, &mib)
	_, rest, _ = strings.Cut(string(text), "VmHWM:")
	fmt.Sscan(rest, &highest)
	return mib >> 10, highest >> 10
}

// run runs a contestant until all messages are committed.
func (e *environment) run(ctx context.Context, c contestant) (o outcome, err error) {
	o.Name, o.large, e.topic = c.name, c.large > 0, ordersTopic
	if o.large {
		e.topic = largeTopic
	}
	if err := e.clear(ctx, c.group); err != nil {
		return o, err
	}
	dir, err := os.MkdirTemp("", "sink-benchmark")
	if err != nil {
		return o, err
	}
	defer os.RemoveAll(dir)
	cmd, err := c.command(e, dir)
	if err != nil {
		return o, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return o, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	broker, server := cpu(e.cluster.PID(0)), cpu(e.storePID)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return o, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stable, used, err := e.watch(ctx, cmd.Process.Pid, c, ended, &o)
	o.Broker, o.Server = cpu(e.cluster.PID(0))-broker, cpu(e.storePID)-server
	stopping := time.Now()
	cmd.Process.Signal(syscall.SIGTERM) // It may have ended.
	if err == nil {
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			cmd.Process.Kill()
			<-ended
		}
	}
	text, readErr := os.ReadFile(log.Name())
	if err = errors.Join(err, readErr); err != nil {
		return o, fmt.Errorf("%s: %w\n%s", c.name, err, text[max(0, len(text)-2000):])
	}
	o.Stop = time.Since(stopping).Seconds()
	o.Boot = stable.Sub(began).Seconds()
	o.CPU = used / float64(e.n) * 1e6
	javaLog, _ := os.ReadFile(filepath.Join(dir, "gc.log")) // Only Java has one.
	o.collections(string(text), string(javaLog))
	first, last, err := o.readBack(e.objects)
	o.First = first.Sub(began).Seconds()
	o.PerSec = float64(e.n) / last.Sub(stable).Seconds()
	if err == nil && o.Lines != int64(e.n) {
		err = fmt.Errorf("%s: %d lines of %d are in the store", c.name, o.Lines, e.n)
	}
	return o, err
}

// watch samples a process ten times a second until the group has committed all messages. It returns when the group was stable, and the CPU seconds
// from there.
func (e *environment) watch(ctx context.Context, pid int, c contestant, ended chan error, o *outcome) (stable time.Time, used float64, err error) {
	var before float64
	stall := c.stall
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10*time.Minute + time.Duration(e.n)*200*time.Microsecond); ; {
		select {
		case err := <-ended:
			return stable, 0, fmt.Errorf("it ended too early: %w", errors.Join(err, os.ErrProcessDone))
		case <-ctx.Done():
			return stable, 0, ctx.Err()
		case <-tick.C:
		}
		var now sample
		now.mib, o.highest = rss(pid)
		o.Peak = max(o.Peak, now.mib)
		used = cpu(pid) - before
		if stable.IsZero() {
			if d, err := e.admin.DescribeGroups(ctx, c.group); err == nil && d[c.group].State == "Stable" && len(d[c.group].Members) > 0 {
				stable, before = time.Now(), used
			}
			continue
		}
		now.committed = e.committed(ctx, c.group)
		o.resident = append(o.resident, now)
		if now.committed >= int64(e.n) {
			return stable, used, nil
		}
		if time.Now().After(deadline) {
			return stable, 0, fmt.Errorf("%d of %d messages are committed", now.committed, e.n)
		}
		if stall > 0 && now.committed >= int64(e.n/3) {
			syscall.Kill(e.storePID, syscall.SIGSTOP)
			time.AfterFunc(stall, func() { syscall.Kill(e.storePID, syscall.SIGCONT) })
			stall = 0
		}
	}
}

// collections counts collections, their pauses and their CPU time: of Go by what GODEBUG=gctrace=1 prints ("gc 1 @0.1s 0%: 0.01+2+0.003 ms clock,
// 0.02+0.1/1.5/3+0.006 ms cpu", where the three between are assists, the workers, and workers on idle processors), of Java by its log
// ("Pause Young (Normal) 10M->2M(64M) 3.1ms").
func (o *outcome) collections(text, java string) {
	var pauses []float64
	for line := range strings.Lines(text) {
		_, times, ok := strings.Cut(line, "%: ")
		times, used, clock := strings.Cut(times, " ms clock, ")
		if !ok || !clock || !strings.HasPrefix(line, "gc ") {
			continue
		}
		o.Cycles++
		phases := strings.Split(times, "+")
		for _, i := range []int{0, len(phases) - 1} { // The phase between runs beside the program.
			ms, _ := strconv.ParseFloat(phases[i], 64)
			pauses = append(pauses, ms)
		}
		used, _, _ = strings.Cut(used, " ms cpu")
		for i, part := range strings.FieldsFunc(used, func(c rune) bool { return c == '+' || c == '/' }) {
			if ms, _ := strconv.ParseFloat(part, 64); i != 3 {
				o.GC += ms / 1e3
			}
		}
	}
	for line := range strings.Lines(java) {
		if !strings.Contains(line, "Pause ") {
			continue
		}
		o.Cycles++
		words := strings.Fields(line)
		ms, _ := strconv.ParseFloat(strings.TrimSuffix(words[len(words)-1], "ms"), 64)
		pauses = append(pauses, ms)
	}
	for _, ms := range pauses {
		o.Pauses += ms
	}
	o.Pause = median(pauses)
}

// readBack reads all objects, and returns when the first and the last one were written.
func (o *outcome) readBack(dir string) (first, last time.Time, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") || d.Name() == "lock" {
			return err // The directory has files beside the objects.
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if first.IsZero() || info.ModTime().Before(first) {
			first = info.ModTime()
		}
		if info.ModTime().After(last) {
			last = info.ModTime()
		}
		o.Objects++
		o.Stored += info.Size()
		n, err := countLines(path)
		o.Lines += n
		return err
	})
	return first, last, err
}

// countLines counts the lines of an object.
func countLines(path string) (n int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r := io.Reader(f)
	switch filepath.Ext(path) {
	case ".gz":
		if r, err = gzip.NewReader(bufio.NewReader(f)); err != nil {
			return 0, err
		}
	case ".zst":
		z, err := zstd.NewReader(f)
		if err != nil {
			return 0, err
		}
		defer z.Close()
		r = z
	}
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 1<<20), 64<<20)
	for s.Scan() {
		n++
	}
	return n, s.Err()
}
