// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// MaxInput is the size in bytes of the largest input that is read, uncompressed. Profiles have
// megabytes; a larger file is no profile.
const MaxInput = 512 << 20

// Read adds what it recognises in r to the evidence:
//
//   - a CPU or a heap profile in pprof's format, compressed or not; several CPU profiles are merged, the first and the last heap profile are the ends of a window, and those in between give its curve,
//   - a profile of samples/count, as profilers by eBPF write it, which counts as a CPU profile,
//   - a difference of two heap profiles (/debug/pprof/heap?seconds=N), or a continuous profiler's profile of a window; several are added up,
//   - the lines of GODEBUG=gctrace=1 in a log,
//   - the text form of a heap profile (/debug/pprof/heap?debug=1) with the memory statistics at its end; beside a binary heap profile only the statistics count,
//   - the output of go test -bench, also with -json,
//   - the JSON of gctune.Handler or of /debug/vars, or the text of /metrics in Prometheus's format; two of a kind are the ends of a window.
//
// An input with the contents of an earlier one is left out, which [Evidence.Problems] mentions.
//
// Name stands for r in errors, which are one line each, with what to do. They answer errors.Is for
// [ErrInput] unless reading failed.
func (e *Evidence) Read(name string, r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, MaxInput+1))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return e.ReadBytes(name, data)
}

// ReadBytes is Read for data in memory. It keeps no reference to data.
func (e *Evidence) ReadBytes(name string, data []byte) error {
	if err := e.add(name, data); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (e *Evidence) add(name string, data []byte) error {
	if len(data) > MaxInput {
		return inputError("larger than 512 MiB, so no profile; give profiles, metrics or a log of the collector's trace")
	}
	data, err := uncompressed(data)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return inputError("empty; a program writes its CPU profile in pprof.StopCPUProfile, so main must return: os.Exit and signals end it too early")
	}
	for _, k := range foreign {
		if k.pattern.Match(data[:min(len(data), 512)]) {
			return inputError(k.line)
		}
	}
	if e.twice(name, data) {
		return nil
	}
	switch {
	case bytes.HasPrefix(data, []byte("heap profile: ")):
		return e.addHeapText(data)
	case bytes.TrimLeft(data, " \t\r\n")[0] == '{':
		return e.addJSON(name, data)
	}
	if isText(data) {
		if isPrometheus(data) {
			return e.addPrometheus(data)
		}
		return e.addText(name, data)
	}
	return e.addProfile(data)
}

// addText reads a log with the collector's trace, the output of benchmarks, or both.
func (e *Evidence) addText(name string, data []byte) error {
	trace := parseTrace(data)
	if trace != nil {
		e.addTrace(trace)
	}
	if e.addBenchmarks(name, data) || trace != nil {
		return nil
	}
	return inputError("text without a line of the collector's trace, without results of benchmarks and without metrics; run the program with GODEBUG=gctrace=1 and keep its standard error, " +
		"or keep the output of go test -bench . -benchmem")
}

// uncompressed decompresses data in gzip's format, and returns other data as it is.
func uncompressed(data []byte) ([]byte, error) {
	if len(data) < 2 || data[0] != 0x1f || data[1] != 0x8b {
		return data, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		var plain []byte
		plain, err = io.ReadAll(io.LimitReader(z, MaxInput+1))
		if len(plain) > MaxInput {
			return nil, inputError("more than 512 MiB when uncompressed, which no profile of a Go program has")
		}
		if err == nil {
			return plain, nil
		}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return nil, inputError("truncated: its compressed data ends early; collect it again, and wait until it is written")
	}
	return nil, inputError("damaged: its compressed data is invalid (" + err.Error() + "); copy or collect it again, in binary mode")
}

// foreign are formats that people give by mistake, recognised by their beginnings.
var foreign = []struct {
	pattern *regexp.Regexp
	line    string
}{
	{regexp.MustCompile(`^\x7fELF|^MZ|^\xcf\xfa\xed\xfe|^\xca\xfe\xba\xbe`), "an executable; give its profiles, or run it: freehold doctor -- PROGRAM"},
	{regexp.MustCompile(`^go 1\.\d+ trace\x00`), "an execution trace; give a CPU profile (/debug/pprof/profile) and heap profiles (/debug/pprof/heap) instead"},
	{regexp.MustCompile(`^(PERFILE2|FLR\x00|JAVA PROFILE )`), "a profile of another tool (perf or Java); give one that runtime/pprof wrote"},
	{regexp.MustCompile(`(?i)^\s*<(!doctype|html|\?xml)`), "a web page; add the profile's path to the address, such as /debug/pprof/heap"},
	{regexp.MustCompile(`^(goroutine|threadcreate) profile: `), "a goroutine profile; give /debug/pprof/profile (CPU) and /debug/pprof/heap instead"},
	{regexp.MustCompile(`^--- (mutex|contention|contentionz)`), "a lock profile; give /debug/pprof/profile (CPU) and /debug/pprof/heap instead"},
	{regexp.MustCompile(`^goroutine \d+ \[`), "stacks of goroutines; give /debug/pprof/profile (CPU) and /debug/pprof/heap instead"},
	{regexp.MustCompile(`^PK\x03\x04`), "a zip archive; unpack it first"},
}

// isText reports whether the beginning of the data could be a log. Protocol buffers have control
// characters from the first byte on.
func isText(data []byte) bool {
	for _, c := range data[:min(len(data), 512)] {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != 0x1b {
			return false
		}
	}
	return true
}

// addJSON recognises the kind of document by its fields.
func (e *Evidence) addJSON(name string, data []byte) error {
	if text := outputOfJSON(data); text != nil {
		return e.addText(name, text)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		if trace := parseTrace(data); trace != nil { // a log whose own lines are JSON
			e.addTrace(trace)
			return nil
		}
		return inputError("JSON that is damaged or truncated (" + err.Error() + "); collect it again")
	}
	if _, ok := fields["gc_cpu_share"]; ok {
		return inputError("a report of the doctor; give the profiles and metrics that it was made from")
	}
	if stats, ok := fields["memstats"]; ok {
		m, err := metricsOfMemStats(stats)
		if err != nil {
			return err
		}
		e.readCounter(&m, data)
		return e.addMetrics(m)
	}
	m, err := metricsOfRuntime(fields)
	if err != nil {
		return err
	}
	for name, to := range map[string]*string{"main": &e.Main, "go": &e.Go} {
		if text := ""; json.Unmarshal(fields[name], &text) == nil && *to == "" {
			*to = text
		}
	}
	return e.addMetrics(m)
}
