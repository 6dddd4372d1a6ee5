// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
)

// This file reads the text format of Prometheus and OpenMetrics, which most services answer at
// /metrics. It reads values alone, so a library with its dependencies on protocol buffers is not
// worth its weight.

// A series is a line of that text: http_requests_total{code="200"} 17.
type series struct {
	name   string
	labels string // between the braces
	value  float64
}

// seriesOf yields the lines with values. It passes over comments and lines of other forms.
func seriesOf(data []byte) iter.Seq[series] {
	return func(yield func(series) bool) {
		for line := range bytes.Lines(data) {
			if s, ok := parseSeries(strings.TrimSpace(string(line))); ok && !yield(s) {
				return
			}
		}
	}
}

func parseSeries(line string) (s series, ok bool) {
	if line == "" || line[0] == '#' {
		return s, false
	}
	i := strings.IndexAny(line, "{ \t")
	if i <= 0 || !isMetricName(line[:i]) {
		return s, false
	}
	s.name, line = line[:i], line[i:]
	if line[0] == '{' {
		end := closingBrace(line)
		if end < 0 {
			return s, false
		}
		s.labels, line = line[1:end], line[end+1:]
	}
	line, _, _ = strings.Cut(line, "#") // an exemplar follows
	fields := strings.Fields(line)
	if len(fields) == 0 || len(fields) > 2 {
		return s, false
	}
	if len(fields) == 2 { // a time
		if _, err := strconv.ParseFloat(fields[1], 64); err != nil {
			return s, false
		}
	}
	v, err := strconv.ParseFloat(fields[0], 64)
	s.value = v
	return s, err == nil
}

func isMetricName(name string) bool {
	for i, c := range name {
		letter := c == '_' || c == ':' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// closingBrace is the index of the brace that ends labels, -1 if there is none. Values in quotes may
// hold braces.
func closingBrace(text string) int {
	quoted := false
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == '}' && !quoted:
			return i
		}
	}
	return -1
}

// labelsOf parses labels: code="200",path="/". ok is false if they have another form.
func labelsOf(text string) (labels map[string]string, ok bool) {
	labels = map[string]string{}
	for text = strings.TrimSpace(text); text != ""; {
		name, rest, found := strings.Cut(text, "=")
		rest = strings.TrimSpace(rest)
		value, err := strconv.QuotedPrefix(rest)
		if !found || err != nil || value[0] != '"' {
			return nil, false
		}
		rest = strings.TrimSpace(rest[len(value):])
		plain, err := strconv.Unquote(value)
		if err != nil || rest != "" && rest[0] != ',' {
			return nil, false
		}
		labels[strings.TrimSpace(name)] = plain
		text = strings.TrimSpace(strings.TrimPrefix(rest, ","))
	}
	return labels, true
}

// isPrometheus reports whether a text is in this format, by its first line that is no comment, or by
// a comment that names a type.
func isPrometheus(data []byte) bool {
	for line := range bytes.Lines(data) {
		text := strings.TrimSpace(string(line))
		switch {
		case text == "":
			continue
		case strings.HasPrefix(text, "# TYPE ") || strings.HasPrefix(text, "# HELP "):
			return true
		case text[0] == '#':
			continue
		}
		_, ok := parseSeries(text)
		return ok
	}
	return false
}

// counterIn is the sum of the series of a name, which may be followed by labels that they must have:
// http_requests_total{code="200"}.
func counterIn(data []byte, selector string) (sum float64, err error) {
	name, text, restricted := strings.Cut(selector, "{")
	name = strings.TrimSpace(name)
	want, ok := labelsOf(strings.TrimSuffix(strings.TrimSpace(text), "}"))
	if !ok || restricted && !strings.HasSuffix(strings.TrimSpace(text), "}") {
		return 0, inputError(fmt.Sprintf(`%q is no name of a counter; write it like http_requests_total or http_requests_total{code="200"}`, selector))
	}
	types := metricTypes(data)
	if t := types[name]; t != "" && t != "counter" && t != "untyped" && t != "unknown" {
		return 0, inputError(fmt.Sprintf("%s is a %s, and no counter%s", name, t, map[string]string{"histogram": "; " + name + "_count counts", "summary": "; " + name + "_count counts"}[t]))
	}
	found := 0
	for s := range seriesOf(data) {
		if s.name != name {
			continue
		}
		if has, ok := labelsOf(s.labels); ok && contains(has, want) {
			sum += s.value
			found++
		}
	}
	switch {
	case found == 0:
		return 0, inputError(fmt.Sprintf("there is no counter %q; there are %s", selector, quoted(nearest(counterNames(data, types), name), func(s string) string { return s })))
	case math.IsNaN(sum) || math.IsInf(sum, 0):
		return 0, inputError(fmt.Sprintf("the counter %q has no value", selector))
	}
	return sum, nil
}

func contains(has, want map[string]string) bool {
	for k, v := range want {
		if has[k] != v {
			return false
		}
	}
	return true
}

// metricTypes are the types that the comments name.
func metricTypes(data []byte) map[string]string {
	types := map[string]string{}
	for line := range bytes.Lines(data) {
		if rest, ok := bytes.CutPrefix(line, []byte("# TYPE ")); ok {
			if fields := strings.Fields(string(rest)); len(fields) == 2 {
				types[fields[0]] = fields[1]
			}
		}
	}
	return types
}

// counterNames are the names that count something.
func counterNames(data []byte, types map[string]string) (names []string) {
	for s := range seriesOf(data) {
		if types[s.name] == "counter" || strings.HasSuffix(s.name, "_total") || strings.HasSuffix(s.name, "_count") {
			names = append(names, s.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// nearest sorts names by the number of words that they share with another. The runtime's and the
// process's own come last, because they count no operations.
func nearest(names []string, to string) []string {
	words := strings.FieldsFunc(strings.ToLower(to), func(r rune) bool { return r == '_' || r == ':' || r == ' ' || r == '-' })
	shared := func(name string) (n int) {
		for _, w := range words {
			if w != "total" && w != "count" && strings.Contains(name, w) {
				n++
			}
		}
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") || strings.HasPrefix(name, "promhttp_") {
			n -= len(words) + 1
		}
		return n
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(shared(b), shared(a)) })
	return names
}
