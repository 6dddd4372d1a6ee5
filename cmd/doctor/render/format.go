// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// buysWithMemory reports whether the gain is that of a setting that lets the heap grow. Such a
// setting gains nothing in the same memory, by definition. If a finding gains nothing at all, as
// data without pointers that is moved off the heap, it costs no memory either.
func buysWithMemory(g doctor.Gain) bool { return g.SameGOGC > 0 && g.SameMemory == 0 }

// adviceName is the word in front of one of the two first lines.
func adviceName(v doctor.Advice) string {
	if v.Part == doctor.Now {
		return "Now"
	}
	return "In code"
}

// gains says what a finding gains, in a sentence without its end.
func gains(g doctor.Gain) string {
	if buysWithMemory(g) {
		return terminal.PercentError(g.SameGOGC, g.Error) + " of CPU, for more memory"
	}
	return fmt.Sprintf("%s of CPU at the same GOGC, %s at the same memory", terminal.PercentError(g.SameGOGC, g.Error), terminal.PercentError(g.SameMemory, g.Error))
}

// briefGain is a gain for the line that names a finding, "" if there is none.
func briefGain(g doctor.Gain) string {
	if g == (doctor.Gain{}) {
		return ""
	}
	text := terminal.PercentError(g.SameGOGC, g.Error) + " of CPU"
	switch same := terminal.Percent(g.SameMemory); {
	case buysWithMemory(g):
		return text + " for more memory"
	case same != terminal.Percent(g.SameGOGC):
		return text + ", " + same + " at the same memory"
	}
	return text
}

// inSameMemory is the gain in the same memory, in the form for a table.
func inSameMemory(g doctor.Gain) string {
	if buysWithMemory(g) {
		return "–"
	}
	return terminal.Percent(g.SameMemory)
}

// shortFunc is a function's name with the last element of its package's path alone, and without
// type arguments.
func shortFunc(fn string) string {
	head := fn
	if i := strings.IndexByte(fn, '['); i >= 0 { // type arguments hold slashes
		head = fn[:i]
	}
	fn = fn[strings.LastIndexByte(head, '/')+1:]
	if i, j := strings.IndexByte(fn, '['), strings.LastIndexByte(fn, ']'); i >= 0 && i < j {
		fn = fn[:i] + "[…]" + fn[j+1:]
	}
	return fn
}

// shortFile is the part of a file's path that tells where to look: below the working directory, the
// module cache or Go's own source.
func shortFile(file string) string {
	file = filepath.ToSlash(file)
	if dir, err := os.Getwd(); err == nil {
		if rest, ok := strings.CutPrefix(file, filepath.ToSlash(dir)+"/"); ok {
			return rest
		}
	}
	for _, above := range []string{"/pkg/mod/", "/src/"} {
		if _, rest, ok := strings.Cut(file, above); ok {
			return rest
		}
	}
	if parts := strings.Split(file, "/"); len(parts) > 3 {
		return "…/" + strings.Join(parts[len(parts)-3:], "/")
	}
	return file
}

// place writes a site for people.
func place(s doctor.Site) string {
	if s.Func == "" && s.File == "" {
		return ""
	}
	if s.File == "" {
		return shortFunc(s.Func)
	}
	return fmt.Sprintf("%s  %s:%d", shortFunc(s.Func), shortFile(s.File), s.Line)
}

// placeLine writes one place of a finding, with its figures.
func placeLine(p doctor.Place) string {
	at := p.Owner
	if at.File == "" {
		at = p.Site
	}
	text := shortFunc(at.Func)
	if at.File != "" {
		text = fmt.Sprintf("%s:%d %s", filepath.Base(filepath.ToSlash(at.File)), at.Line, text)
	}
	parts := []string{text}
	if p.Site != at {
		parts = append(parts, "in "+shortFunc(p.Site.Func))
	}
	if p.AllocBytesPerSecond > 0 {
		parts = append(parts, terminal.Bytes(p.AllocBytesPerSecond)+"/s")
	}
	return strings.Join(append(parts, terminal.Percent(p.CPUShare)+" of CPU"), ", ")
}

// mostPlaces is how many of a finding's places are shown.
const mostPlaces = 5

// placeLines are the places of a finding that cost most. A single place is the site, so it needs no
// line.
func placeLines(list []doctor.Place) (lines []string) {
	if len(list) < 2 {
		return nil
	}
	for _, p := range list[:min(len(list), mostPlaces)] {
		lines = append(lines, placeLine(p))
	}
	if n := len(list) - mostPlaces; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more, in the object of -json", n))
	}
	return lines
}

// allocatorPlace is the owner of an allocation, and the function that allocates for it.
func allocatorPlace(a doctor.Allocator) string {
	if a.Owner == a.Site {
		return place(a.Site)
	}
	return place(a.Owner) + " by " + shortFunc(a.Site.Func)
}

// plural writes a number of things.
func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// brief is the beginning of s that fits into width columns: whole sentences if the first fits, else
// a part of the first up to a comma or a colon outside parentheses.
func brief(s string, width int) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	head := string([]rune(s)[:width-2]) // room for the ellipsis
	if i := strings.LastIndex(head, ". "); i > len(head)/3 {
		return head[:i+1]
	}
	depth, cut, space := 0, -1, -1
	for i, c := range head {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth > 0:
		case c == ' ':
			space = i
		case strings.ContainsRune(",:;", c):
			cut = i
		}
	}
	if cut < len(head)/3 {
		cut = space
	}
	if cut < 0 {
		cut = len(head)
	}
	return strings.TrimRight(head[:cut], " ,;:") + " …"
}

// where is the place that a finding is named after: the owner, which is the user's own code, else
// the site.
func where(f doctor.Finding) string {
	for _, s := range []doctor.Site{f.Owner, f.Site} {
		switch {
		case s.File != "":
			return fmt.Sprintf("%s:%d %s", filepath.Base(filepath.ToSlash(s.File)), s.Line, shortFunc(s.Func))
		case s.Func != "":
			return shortFunc(s.Func)
		}
	}
	return "the whole program"
}

// A figure is a piece of a finding's evidence, ready to be read.
type figure struct{ Name, Value string }

// units are the endings of names in a finding's evidence and how such values are written. The first
// that fits counts.
var units = []struct {
	ending string
	write  func(float64) string
}{
	{"_bytes_per_second", func(v float64) string { return terminal.Bytes(v) + "/s" }},
	{"_per_second", func(v float64) string { return terminal.Quantity(v) + "/s" }},
	{"_bytes", terminal.Bytes},
	{"_share", terminal.Percent},
	{"_percent", func(v float64) string { return terminal.Count(v) + " %" }},
	{"_seconds", terminal.Seconds},
	{"_ns", func(v float64) string { return terminal.Seconds(v * 1e-9) }},
}

// figures are the evidence of a finding by name.
func figures(evidence map[string]any) (list []figure) {
	for _, name := range slices.Sorted(maps.Keys(evidence)) {
		value, words := evidence[name], name
		if value == false {
			continue // a condition that does not hold is no evidence
		}
		text := fmt.Sprint(value)
		if list, ok := value.([]string); ok {
			text = strings.Join(list, " and ")
		}
		if v, ok := number(value); ok {
			text = terminal.Quantity(v)
			for _, u := range units {
				if before, ok := strings.CutSuffix(name, u.ending); ok {
					words, text = before, u.write(v)
					break
				}
			}
		}
		list = append(list, figure{strings.ReplaceAll(words, "_", " "), text})
	}
	return list
}

// number is a value as a floating-point number, if it is one.
func number(value any) (float64, bool) {
	switch v := value.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	}
	return 0, false
}

// collected describes the report's evidence: its source, its CPU time, its confidence.
func collected(r *doctor.Report) string {
	parts := []string{shortSource(r.Source)}
	switch {
	case r.CPUSecondsAssumed:
		parts = append(parts, "about "+terminal.Seconds(r.CPUSeconds)+" of CPU (sampling rate assumed)")
	case r.CPUSeconds > 0 && r.WindowSeconds > 0:
		parts = append(parts, terminal.Seconds(r.CPUSeconds)+" of CPU in "+terminal.Seconds(r.WindowSeconds))
	case r.CPUSeconds > 0:
		parts = append(parts, terminal.Seconds(r.CPUSeconds)+" of CPU")
	case r.WindowSeconds > 0:
		parts = append(parts, terminal.Seconds(r.WindowSeconds))
	}
	return strings.Join(append(parts, "confidence "+string(r.Confidence)), " · ")
}

// shortSource names the folder of several files once.
func shortSource(source string) string {
	files := strings.Split(source, ", ")
	dir := path.Dir(filepath.ToSlash(files[0]))
	if len(files) < 2 || dir == "." {
		return source
	}
	for i, f := range files {
		f = filepath.ToSlash(f)
		if path.Dir(f) != dir {
			return source
		}
		files[i] = path.Base(f)
	}
	return strings.Join(files, ", ") + " in " + shortFile(dir)
}

// heapFigures are the known figures of the heap.
func heapFigures(h doctor.HeapState) (list []figure) {
	add := func(name string, known bool, value string) {
		if known {
			list = append(list, figure{name, value})
		}
	}
	add("live", h.LiveBytes > 0, terminal.Bytes(h.LiveBytes))
	add("next GC at", h.GoalBytes > 0, terminal.Bytes(h.GoalBytes))
	add("scanned each time", h.ScanBytes > 0, terminal.Bytes(h.ScanBytes))
	add("allocated", h.AllocBytesPerSecond > 0, terminal.Bytes(h.AllocBytesPerSecond)+"/s")
	add("collections", h.CyclesPerSecond > 0, terminal.Significant(h.CyclesPerSecond)+"/s")
	switch {
	case h.GOGC < 0:
		add("GOGC", true, "off")
	case h.GOGC > 0 && h.GOGCIs == doctor.Assumed:
		add("GOGC", true, terminal.Count(h.GOGC)+" (assumed)")
	case h.GOGC > 0:
		add("GOGC", true, terminal.Count(h.GOGC))
	}
	add("limit", h.MemoryLimit > 0, terminal.Bytes(h.MemoryLimit))
	return list
}

// settingsHead says what decides now when collections begin, for the table of settings.
func settingsHead(h doctor.HeapState) string {
	switch {
	case h.Limited && h.MemoryLimit > 0:
		return "now " + "GOMEMLIMIT=" + terminal.Bytes(h.MemoryLimit)
	case h.Limited:
		return "now a memory limit"
	case h.GOGCIs == doctor.Assumed:
		return "now GOGC=100 (assumed)"
	}
	return fmt.Sprintf("now GOGC=%.0f", h.GOGC)
}

// sameRemedy is the number of the first finding before number i with the same remedy, word for
// word; 0 if there is none. Numbers begin with 1. Readers need a remedy only once.
func sameRemedy(findings []doctor.Finding, i int) int {
	for k := range i - 1 {
		if findings[k].Remedy == findings[i-1].Remedy && slices.Equal(findings[k].Check, findings[i-1].Check) {
			return k + 1
		}
	}
	return 0
}

// moved are the findings of one report that another lacks. Pattern and function identify a finding,
// because lines move when a program is changed. Findings that are only information do not count.
func moved(from, to *doctor.Report) (list []string) {
	name := func(f doctor.Finding) string {
		fn := cmp.Or(f.Owner.Func, f.Site.Func)
		if fn == "" {
			return f.ID
		}
		return f.ID + " in " + shortFunc(fn)
	}
	has := map[string]bool{}
	for _, f := range to.Findings {
		has[name(f)] = true
	}
	for _, f := range from.Findings {
		if n := name(f); !has[n] && f.Severity != doctor.SeverityInfo {
			has[n] = true
			list = append(list, n)
		}
	}
	return list
}
