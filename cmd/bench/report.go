// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/freehold-go/freehold/cmd/terminal"
)

const quickMark = "Quick selection: small sizes and few passes, a first impression. Only figures of -full count."

// A report is the result of one call of the command.
type report struct {
	Environment string
	Quick       bool
	Interrupted bool
	Rows        []*Row
	Bars        []BarResult
}

// newReport makes the report of a plan that has run.
func newReport(p *plan, interrupted bool) *report {
	rep := &report{Environment: environment(), Quick: !p.Full, Interrupted: interrupted, Rows: p.rows()}
	if p.Full {
		rep.Bars = p.set.Judge(rep.Rows)
	}
	return rep
}

// environment is one line about the machine and versions of the measurement.
func environment() string {
	parts := []string{
		time.Now().Format("2006-01-02 15:04"), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH,
		fmt.Sprintf("GOMAXPROCS=%d", runtime.GOMAXPROCS(0)),
	}
	if cpu := cpuName(); cpu != "" {
		parts = append(parts, cpu)
	}
	for _, name := range []string{"GOGC", "GOMEMLIMIT", "GODEBUG", "GOEXPERIMENT", "FREEHOLD", "MALLOC_CONF"} {
		if v := os.Getenv(name); v != "" {
			parts = append(parts, name+"="+v)
		}
	}
	return strings.Join(parts, " · ")
}

// cpuName reads the model of the first CPU, on Linux.
func cpuName() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// failed says whether any row has an error.
func (rep *report) failed() bool {
	return slices.ContainsFunc(rep.Rows, func(r *Row) bool { return r.Error != "" })
}

// writeJSON writes one object a row, one row a line.
func (rep *report) writeJSON(out io.Writer) error {
	enc := json.NewEncoder(out)
	for _, r := range rep.Rows {
		if err := enc.Encode(r); err != nil {
			return fmt.Errorf("bench: write JSON: %w", err)
		}
	}
	return nil
}

// A group holds the rows of one workload, by size.
type group struct {
	w     *Workload
	sizes []sizeGroup
}

type sizeGroup struct {
	n     int
	input string
	rows  []*Row
	most  float64 // the largest ns_op
}

func (rep *report) groups() []group {
	var groups []group
	for _, r := range rep.Rows {
		if len(groups) == 0 || groups[len(groups)-1].w != r.w {
			groups = append(groups, group{w: r.w})
		}
		g := &groups[len(groups)-1]
		if len(g.sizes) == 0 || !g.sizes[len(g.sizes)-1].rows[0].samePlace(r) {
			g.sizes = append(g.sizes, sizeGroup{n: r.N, input: r.Input})
		}
		s := &g.sizes[len(g.sizes)-1]
		s.rows = append(s.rows, r)
		if !r.c.Baseline {
			s.most = max(s.most, r.NsOp)
		}
	}
	return groups
}

// extraRows are the rows with values beyond the usual columns.
func (g *group) extraRows() []*Row {
	var rows []*Row
	for _, s := range g.sizes {
		for _, r := range s.rows {
			if len(r.Extra) > 0 {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// extraNames are the names of all values beyond the usual columns, sorted.
func (g *group) extraNames() []string {
	names := map[string]bool{}
	for _, r := range g.extraRows() {
		for name := range r.Extra {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// extraLabel is a name without its unit, which is shown with the value.
func extraLabel(name string) string {
	name = strings.TrimSuffix(strings.TrimSuffix(name, "_bytes"), "_ns")
	return strings.ReplaceAll(name, "_", " ")
}

// extraValue writes a named value. The end of the name says its unit.
func extraValue(name string, v float64) string {
	switch {
	case strings.HasSuffix(name, "_bytes"):
		return terminal.Bytes(v)
	case strings.HasSuffix(name, "_ns"):
		return terminal.Nanoseconds(v)
	}
	return terminal.Significant(v)
}

// extraTable holds the values beyond the usual columns as text: the names first, then a line for
// each contestant with such values. It is empty if there are none.
func (g *group) extraTable() [][]string {
	names := g.extraNames()
	if len(names) == 0 {
		return nil
	}
	header := []string{""}
	for _, name := range names {
		header = append(header, extraLabel(name))
	}
	lines := [][]string{header}
	for _, r := range g.extraRows() {
		line := []string{r.Contestant}
		if g.w.Inputs != nil {
			line[0] = r.Input + ", " + r.Contestant
		}
		for _, name := range names {
			cell := ""
			if v, ok := r.Extra[name]; ok {
				cell = extraValue(name, v)
			}
			line = append(line, cell)
		}
		lines = append(lines, line)
	}
	return lines
}
