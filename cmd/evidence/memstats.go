// SPDX-License-Identifier: Apache-2.0

package evidence

import (
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
}

// Lines at the end of the heap profile's text form: "# PauseNs = [13000 0 0 ...]", "# MaxRSS =
// 1234".
var (
	pauseLine  = regexp.MustCompile(`(?m)^# PauseNs = \[([0-9 ]*)\]`)
	maxRSSLine = regexp.MustCompile(`(?m)^# MaxRSS = ([0-9]+)`)
)

// ReadMemStats reads the answer of /debug/pprof/heap?debug=1.
func ReadMemStats(text []byte) (m MemStats) {
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
