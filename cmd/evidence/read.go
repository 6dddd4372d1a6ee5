package evidence

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// maxInput is the most that is read of one input, uncompressed. Profiles have megabytes; what is larger is something else.
const maxInput = 512 << 20

// Read adds what it recognises in r to the evidence:
//
//   - a CPU or a heap profile in pprof's format, compressed or not; several CPU profiles are merged, two heap profiles are the ends of a window,
//   - the lines of GODEBUG=gctrace=1 in a log,
//   - the text form of a heap profile (/debug/pprof/heap?debug=1) with the memory statistics at its end,
//   - the JSON of gctune.Handler or of /debug/vars; two of a kind are the ends of a window.
//
// Name stands for r in errors, which are one line each, with what to do. They answer errors.Is for [ErrInput] unless reading failed.
func (e *Evidence) Read(name string, r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return e.ReadBytes(name, data)
}

// ReadBytes is Read of what is in memory already. It keeps nothing of data.
func (e *Evidence) ReadBytes(name string, data []byte) error {
	if err := e.add(data); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// ErrInput is what errors about an input's contents answer to.
var ErrInput = errors.New("not usable")

// inputError is such an error: a line that says what is wrong and what to do.
type inputError string

func (e inputError) Error() string        { return string(e) }
func (e inputError) Is(target error) bool { return target == ErrInput }

func (e *Evidence) add(data []byte) error {
	if len(data) > maxInput {
		return inputError("larger than 512 MiB, so no profile; give profiles, metrics or a log of the collector's trace")
	}
	data, err := uncompressed(data)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return inputError("empty; a program writes its CPU profile when pprof.StopCPUProfile runs, so it must end by returning, not by os.Exit or a signal")
	}
	for _, k := range foreign {
		if k.pattern.Match(data[:min(len(data), 512)]) {
			return inputError(k.line)
		}
	}
	switch {
	case bytes.HasPrefix(data, []byte("heap profile: ")):
		return e.addHeapText(data)
	case bytes.TrimLeft(data, " \t\r\n")[0] == '{':
		return e.addJSON(data)
	}
	if isText(data) {
		if trace := parseTrace(data); trace != nil {
			e.addTrace(trace)
			return nil
		}
		return inputError("text without a line of the collector's trace; run the program with GODEBUG=gctrace=1 and keep its standard error")
	}
	return e.addProfile(data)
}

// uncompressed undoes gzip if that is what the data is.
func uncompressed(data []byte) ([]byte, error) {
	if len(data) < 2 || data[0] != 0x1f || data[1] != 0x8b {
		return data, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		var plain []byte
		plain, err = io.ReadAll(io.LimitReader(z, maxInput+1))
		if len(plain) > maxInput {
			return nil, inputError("more than 512 MiB when uncompressed, so no profile of a Go program")
		}
		if err == nil {
			return plain, nil
		}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return nil, inputError("truncated: its compressed data ends early; collect it again, and wait until it is written")
	}
	return nil, inputError("damaged: its compressed data does not add up (" + err.Error() + "); copy or collect it again, in binary mode")
}

// foreign are files that people give by mistake, known by how they begin.
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

// isText reports whether the beginning of the data could be a log. Protocol buffers have control characters from the first byte on.
func isText(data []byte) bool {
	for _, c := range data[:min(len(data), 512)] {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != 0x1b {
			return false
		}
	}
	return true
}

// addProfile adds a profile in pprof's format.
func (e *Evidence) addProfile(data []byte) error {
	p, err := profile.ParseUncompressed(data)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return inputError("not a profile in pprof's format, or a truncated one (" + err.Error() + "); collect it again")
	}
	if err := checkGo(p); err != nil {
		return err
	}
	renumber(p)
	switch {
	case SampleIndex(p, "cpu") >= 0:
		return e.addCPU(p)
	case SampleIndex(p, "inuse_space") >= 0 && SampleIndex(p, "alloc_space") >= 0:
		return e.addHeap(p)
	case SampleIndex(p, "contentions") >= 0:
		return inputError("a mutex or block profile; give /debug/pprof/profile (CPU) and /debug/pprof/heap instead")
	case SampleIndex(p, "goroutine") >= 0, SampleIndex(p, "threadcreate") >= 0:
		return inputError("a goroutine profile; give /debug/pprof/profile (CPU) and /debug/pprof/heap instead")
	}
	types := ""
	for _, t := range p.SampleType {
		types += " " + t.Type + "/" + t.Unit
	}
	return inputError(fmt.Sprintf("a profile of%s; the doctor reads the CPU and heap profiles of runtime/pprof", types))
}

// renumber gives functions and locations small numbers, as converters that take hashes for them do not: Attributed adds others behind the largest.
func renumber(p *profile.Profile) {
	for i, f := range p.Function {
		f.ID = uint64(i + 1)
	}
	for i, l := range p.Location {
		l.ID = uint64(i + 1)
	}
}

// checkGo refuses profiles without names, and those of programs in other languages.
func checkGo(p *profile.Profile) error {
	if len(p.SampleType) == 0 {
		return inputError("a profile without sample types, so not one of a Go program")
	}
	if len(p.Sample) == 0 {
		return nil
	}
	goFiles, named := 0, 0
	for _, f := range p.Function {
		if f.Name != "" {
			named++
		}
		// What hardly ran may have been seen in the runtime's assembly alone.
		if strings.HasSuffix(f.Filename, ".go") || strings.HasSuffix(f.Filename, ".s") && strings.HasPrefix(f.Name, "runtime.") {
			goFiles++
		}
	}
	bare := 0
	for _, loc := range p.Location {
		if len(loc.Line) == 0 {
			bare++
		}
	}
	switch {
	case named == 0 || bare > len(p.Location)/2:
		return inputError("a profile without function names, as of a stripped binary; add them with: go tool pprof -proto BINARY FILE >NEW")
	case goFiles == 0:
		return inputError("a profile without a single Go file, so of another language's program or without file names; give one that runtime/pprof wrote")
	}
	return nil
}

func (e *Evidence) addCPU(p *profile.Profile) error {
	i := SampleIndex(p, "cpu")
	if unit := p.SampleType[i].Unit; unit != "nanoseconds" {
		return inputError("a CPU profile in " + unit + " instead of nanoseconds; give one that runtime/pprof wrote")
	}
	for _, s := range p.Sample {
		if s.Value[i] < 0 {
			return inputError("a difference of two CPU profiles; give one of them")
		}
	}
	if e.CPU == nil {
		e.CPU = p
		return nil
	}
	merged, err := profile.Merge([]*profile.Profile{e.CPU, p})
	if err != nil {
		return inputError("does not go with the other CPU profile (" + err.Error() + "); give profiles of one program")
	}
	e.CPU = merged
	return nil
}

// addHeap keeps two heap profiles in the order of their times.
func (e *Evidence) addHeap(p *profile.Profile) error {
	i, j := SampleIndex(p, "inuse_space"), SampleIndex(p, "alloc_space")
	for _, s := range p.Sample {
		if s.Value[i] < 0 || s.Value[j] < 0 {
			return inputError("a difference of two heap profiles, as heap?seconds=N gives; give both profiles, from the start and the end of the window")
		}
	}
	switch {
	case e.Heap[0] != nil:
		return inputError("a third heap profile; give the two from the start and the end of the window")
	case e.Heap[1] == nil:
		e.Heap[1] = p
	case p.TimeNanos >= e.Heap[1].TimeNanos:
		e.Heap[0], e.Heap[1] = e.Heap[1], p
	default:
		e.Heap[0] = p
	}
	return nil
}

// addJSON tells the documents apart by their fields.
func (e *Evidence) addJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		if trace := parseTrace(data); trace != nil { // a log whose own lines are JSON
			e.addTrace(trace)
			return nil
		}
		return inputError("JSON that is damaged or truncated (" + err.Error() + "); collect it again")
	}
	if _, ok := fields["gc_cpu_share"]; ok {
		return inputError("a report of the doctor, not what it is made from")
	}
	if stats, ok := fields["memstats"]; ok {
		m, err := metricsOfMemStats(stats)
		if err != nil {
			return err
		}
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

// SampleIndex is the index of a sample type, -1 if the profile lacks it.
func SampleIndex(p *profile.Profile, name string) int {
	return slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == name })
}
