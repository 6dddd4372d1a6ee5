// SPDX-License-Identifier: Apache-2.0

package rss

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// ReportVersion is the version of the report's JSON. It changes when a field changes its meaning or goes away, not when one is added.
const ReportVersion = 1

// mostParts is how many files and kinds of goroutines a report has, and mostSites how many sites: a comparison needs more than people read.
const (
	mostParts = 10
	mostSites = 100
)

// A Report is the account of one process's memory. Its JSON is a stable contract, described in docs/rss.md. Sizes are in bytes.
type Report struct {
	Version int       `json:"version"`
	Time    time.Time `json:"time"`
	// PID is 0 if only the program's URL is known.
	PID     int    `json:"pid"`
	Command string `json:"command"`
	// Go is the version of Go that built the program, and Main the path of its main package; both are empty if it is no Go program.
	Go   string `json:"go"`
	Main string `json:"main"`
	// Names says that the kernel shows names of anonymous memory, Pprof that the runtime's figures are there, and Smaps that the mappings are.
	Names bool `json:"names"`
	Pprof bool `json:"pprof"`
	Smaps bool `json:"smaps"`
	// RSS is the resident set, to which the lines add up; Swap is what was swapped out.
	RSS   int64  `json:"rss"`
	Swap  int64  `json:"swap"`
	Lines []Line `json:"lines"`
	// Live says how the live heap is known; nil without the runtime's figures.
	Live *Live `json:"live,omitempty"`
	// Limit is the runtime's memory limit, 0 if there is none or it is not known, and LimitBinds says that it decides when collections begin.
	Limit      int64 `json:"gomemlimit"`
	LimitBinds bool  `json:"gomemlimit_binds"`
	// GOGC is a percentage, -1 for off, 0 if it is not known.
	GOGC float64 `json:"gogc"`
	// Collections is the number of collections so far.
	Collections int64 `json:"collections"`
	// Group is the control group, nil if none is visible.
	Group *Group `json:"group,omitempty"`
	// Anonymous has the parts of the anonymous memory that is not Go's.
	Anonymous Anonymous `json:"anonymous"`
	// Libraries are the shared libraries that are loaded.
	Libraries []string `json:"libraries,omitempty"`
	// Files are mapped files, Sites where live memory was allocated, and Purposes freehold's accounts, each the largest first.
	Files    []Part `json:"files,omitempty"`
	Sites    []Part `json:"sites,omitempty"`
	Purposes []Part `json:"purposes,omitempty"`
	// Goroutines is nil without the runtime's figures.
	Goroutines *Goroutines `json:"goroutines,omitempty"`
	// Growth is there if an earlier report was given.
	Growth *Growth `json:"growth,omitempty"`
	// Advice says what to do, the most important first. It is empty if nothing stands out.
	Advice []Advice `json:"advice"`
	Notes  []string `json:"notes"`

	isGo bool
}

// NotGo reports whether the process is no Go program, as far as its file and its answers say.
func (r *Report) NotGo() bool { return r.Smaps && !r.Pprof && !r.isGo }

// The keys of lines.
const (
	LineHeap        = "go-heap" // with stacks; without the runtime's figures
	LineLive        = "live-heap"
	LineSince       = "allocated-since"
	LineWaste       = "span-waste"
	LineFree        = "free-not-returned"
	LineStacks      = "goroutine-stacks"
	LineUntouched   = "counted-never-touched"
	LineSwapped     = "swapped-out"
	LineAgain       = "returned-resident-again"
	LineRuntime     = "runtime"
	LineOffheap     = "off-heap"
	LineAnonymous   = "anonymous"
	LineFiles       = "mapped-files"
	LineShared      = "shared-memory"
	LineBinary      = "binary-and-libraries"
	LineUnexplained = "unexplained"
	LineOutside     = "outside-the-heap" // without the mappings
)

// A Line is a part of the resident set.
type Line struct {
	Key string `json:"key"`
	// Name is the line in words, and Note what else is known.
	Name string `json:"name"`
	Note string `json:"note,omitempty"`
	// Bytes is negative for memory that another line counts although it was never touched.
	Bytes int64 `json:"bytes"`
}

// Live is the live heap: what the last collection marked.
type Live struct {
	Bytes int64 `json:"bytes"`
	// Low and High bound it. They are equal if the figure is exact.
	Low    int64  `json:"low"`
	High   int64  `json:"high"`
	Source string `json:"source"`
}

// A Part is a named amount of memory.
type Part struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// largest sorts parts by their sizes.
func largest(a, b Part) int {
	return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
}

// Anonymous are the parts of memory that Go does not name.
type Anonymous struct {
	Brk          int64 `json:"brk"`
	Arenas       int64 `json:"glibc_arenas"`
	ArenaCount   int   `json:"glibc_arena_count"`
	ThreadStacks int64 `json:"thread_stacks"`
	Threads      int   `json:"threads_of_c"`
	Mapped       int64 `json:"mmap"`
}

// Goroutines are counted by where they began and by where they are parked.
type Goroutines struct {
	Count  int     `json:"count"`
	Begin  []Count `json:"begin"`
	Parked []Count `json:"parked"`
	// Creators and Leaks are there if they were asked for.
	Creators []Count `json:"creators,omitempty"`
	Leaks    []Count `json:"leaks,omitempty"`
}

// A Count is a number of goroutines of a kind.
type Count struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// An Advice says what to do about a line.
type Advice struct {
	// Line is the key of a line, or "limit", "file-cache" or "growth".
	Line  string `json:"line"`
	Bytes int64  `json:"bytes"`
	Text  string `json:"text"`
}

// Growth is what changed since an earlier report. Its parts are the largest first, and may be negative.
type Growth struct {
	Seconds float64 `json:"seconds"`
	RSS     int64   `json:"rss"`
	Lines   []Part  `json:"lines"`
	// Sites are functions whose live memory grew, by both heap profiles.
	Sites      []Part  `json:"sites"`
	Goroutines []Count `json:"goroutines"`
}

// Line returns the line with a key, and whether it is there.
func (r *Report) Line(key string) (Line, bool) {
	for _, l := range r.Lines {
		if l.Key == key {
			return l, true
		}
	}
	return Line{}, false
}

// bytes is the size of a line, 0 if it is not there.
func (r *Report) bytes(key string) int64 {
	l, _ := r.Line(key)
	return l.Bytes
}

func (r *Report) note(text string) {
	if text != "" {
		r.Notes = append(r.Notes, text)
	}
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(out io.Writer) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("rss: write the report: %w", err)
	}
	return nil
}

// mib writes an amount of memory.
func mib(bytes int64) string { return terminal.Bytes(float64(bytes)) }
