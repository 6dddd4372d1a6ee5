// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"io"
	"slices"
	"strings"
)

// TraceEnvironment returns a copy of env, in which the last setting of a variable counts, that asks
// Go programs for the trace. GODEBUG keeps its other settings.
func TraceEnvironment(env []string) []string {
	godebug := "gctrace=1"
	for _, e := range slices.Backward(env) {
		if settings, ok := strings.CutPrefix(e, "GODEBUG="); ok {
			if settings != "" {
				godebug = settings + "," + godebug // of several values of a setting the last counts
			}
			break
		}
	}
	return append(slices.Clip(env), "GODEBUG="+godebug)
}

// A TraceFilter divides a program's standard error, which is written to it, into the trace and the
// rest. The zero value is ready.
type TraceFilter struct {
	// Rest gets the rest as it arrives, if it is not nil. Its errors are ignored, because they must
	// not end the program.
	Rest io.Writer

	trace []byte
	tail  []byte
	line  []byte // the current line, as long as it may be a line of the trace
	known bool   // the current line is not of the trace
}

const (
	longestTraceLine = 4 << 10 // longer than any line of the trace
	keptTail         = 4 << 10
)

// Write takes the next part.
func (f *TraceFilter) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			f.add(rest)
			break
		}
		f.add(rest[:i+1])
		f.End()
		rest = rest[i+1:]
	}
	return len(b), nil
}

// add takes the next part of the current line.
func (f *TraceFilter) add(part []byte) {
	if f.known {
		f.pass(part)
		return
	}
	f.line = append(f.line, part...)
	const begin = "gc "
	n := min(len(f.line), len(begin))
	if string(f.line[:n]) != begin[:n] || len(f.line) > longestTraceLine {
		f.pass(f.line)
		f.line, f.known = f.line[:0], true
	}
}

// End completes the current line. Call it after the last Write. The runtime writes a line piece by
// piece, so a program that ends meanwhile leaves a part of one, which is dropped.
func (f *TraceFilter) End() {
	switch {
	case !IsTraceLine(f.line):
		f.pass(f.line)
	case bytes.HasSuffix(f.line, []byte("\n")) || traceLine.Match(f.line):
		f.trace = append(f.trace, f.line...)
	}
	f.line, f.known = f.line[:0], false
}

func (f *TraceFilter) pass(b []byte) {
	if len(b) == 0 {
		return
	}
	if f.Rest != nil {
		_, _ = f.Rest.Write(b)
	}
	f.tail = append(f.tail, b[max(0, len(b)-keptTail):]...)
	if len(f.tail) > 4*keptTail {
		f.tail = append(f.tail[:0], f.tail[len(f.tail)-keptTail:]...)
	}
}

// Trace returns the trace so far, in whole lines.
func (f *TraceFilter) Trace() []byte { return f.trace }

// Tail is the end of the rest, of at most 4 KiB.
func (f *TraceFilter) Tail() []byte { return f.tail[max(0, len(f.tail)-keptTail):] }
