// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

// MemStats are the figures at the end of a heap profile's text form that runtime/metrics lacks.
// Figures that the text lacks are empty.
type MemStats struct {
	// Pauses is the ring of the last 256 pauses in seconds: that of cycle n is at (n+255)%256.
	Pauses []float64
	// MaxRSS is the largest resident set so far in bytes.
	MaxRSS float64
	// Values are the figures by the names of runtime.MemStats's fields, such as HeapAlloc or StackSys.
	Values map[string]float64
}

// Lines at the end of the heap profile's text form: "# PauseNs = [13000 0 0 ...]", "# MaxRSS =
// 1234".
var (
	pauseLine  = regexp.MustCompile(`(?m)^# PauseNs = \[([0-9 ]*)\]`)
	maxRSSLine = regexp.MustCompile(`(?m)^# MaxRSS = ([0-9]+)`)
	// valueLine is a line such as "# NextGC = 4194304", or "# Stack = 65536 / 98304" with StackInuse and StackSys.
	valueLine = regexp.MustCompile(`(?m)^# (\w+) = ([0-9]+)(?: / ([0-9]+))?\r?$`)
)

// ReadMemStats reads the answer of /debug/pprof/heap?debug=1.
func ReadMemStats(text []byte) (m MemStats) {
	m.Values = map[string]float64{}
	for _, match := range valueLine.FindAllSubmatch(text[max(bytes.LastIndex(text, []byte("# runtime.MemStats")), 0):], -1) {
		name := string(match[1])
		value, _ := strconv.ParseFloat(string(match[2]), 64) // digits alone
		if len(match[3]) == 0 {
			m.Values[name] = value
			continue
		}
		m.Values[name+"Inuse"] = value
		m.Values[name+"Sys"], _ = strconv.ParseFloat(string(match[3]), 64)
	}
	if match := maxRSSLine.FindSubmatch(text); match != nil {
		m.MaxRSS, _ = strconv.ParseFloat(string(match[1]), 64) // digits alone, so at worst too many of them
	}
	if match := pauseLine.FindSubmatch(text); match != nil {
		for field := range strings.FieldsSeq(string(match[1])) {
			ns, err := strconv.ParseFloat(field, 64)
			if err != nil {
				m.Pauses = nil
				break
			}
			m.Pauses = append(m.Pauses, ns/1e9)
		}
	}
	return m
}

// LastPauses returns the pauses of the n cycles up to the cycle with the number last, the latest
// first, or as many as the ring holds.
func (m MemStats) LastPauses(last, n int) (pauses []float64) {
	size := len(m.Pauses)
	for k := last; k > last-min(n, size); k-- {
		pauses = append(pauses, m.Pauses[(k+size-1)%size])
	}
	return pauses
}
