// SPDX-License-Identifier: Apache-2.0

package rss

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Paths of the profiles of goroutines. The first is grouped by stack; the second stops the program while each stack is written; the
// third, of Go 1.27, runs a collection.
const (
	goroutinesPath = "/debug/pprof/goroutine?debug=1"
	creatorsPath   = "/debug/pprof/goroutine?debug=2"
	leaksPath      = "/debug/pprof/goroutineleak?debug=1"
)

// parseGoroutines reads a profile with debug=1: "12 @ 0x1 0x2" and the functions of the stack, the innermost first.
func parseGoroutines(text []byte) (*Goroutines, error) {
	g := &Goroutines{}
	if _, rest, ok := bytes.Cut(text, []byte(" profile: total ")); ok {
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		g.Count, _ = strconv.Atoi(string(bytes.TrimSpace(line)))
	} else {
		return nil, fmt.Errorf("rss: the profile of goroutines has another form than net/http/pprof's")
	}
	begin, parked := map[string]int{}, map[string]int{}
	n := 0
	var stack []string
	end := func() {
		if n > 0 && len(stack) > 0 {
			begin[stack[len(stack)-1]] += n
			parked[parkedAt(stack)] += n
		}
		n, stack = 0, nil
	}
	for line := range strings.Lines(string(text)) {
		if count, _, ok := strings.Cut(line, " @ "); ok && !strings.HasPrefix(line, "#") {
			end()
			n, _ = strconv.Atoi(count)
		} else if f := strings.Fields(line); len(f) >= 3 && f[0] == "#" && strings.HasPrefix(f[1], "0x") {
			name, _, _ := strings.Cut(f[2], "+0x")
			stack = append(stack, name)
		}
	}
	end()
	g.Begin, g.Parked = counts(begin), counts(parked)
	return g, nil
}

// parkedAt is the innermost function that is not the runtime's, or the innermost at all. A profile with debug=1 has dropped most of
// the runtime's functions.
func parkedAt(stack []string) string {
	for _, name := range stack {
		if !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "internal/") && !strings.HasPrefix(name, "sync.") {
			return name
		}
	}
	return stack[0]
}

// createdBy is a line of debug=2: "created by main.serve in goroutine 1".
var createdBy = regexp.MustCompile(`(?m)^created by (\S+?)(?: in goroutine [0-9]+)?\r?$`)

// parseCreators counts the functions that started goroutines.
func parseCreators(text []byte) []Count {
	m := map[string]int{}
	for _, match := range createdBy.FindAllSubmatch(text, -1) {
		m[string(match[1])]++
	}
	return counts(m)
}

func counts(m map[string]int) (list []Count) {
	for name, n := range m {
		list = append(list, Count{name, n})
	}
	slices.SortFunc(list, func(a, b Count) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name)) })
	return list[:min(len(list), mostParts)]
}
