package compare

import (
	"regexp"
	"strconv"
	"strings"
)

// Lines at the end of the heap profile's text form: "# PauseNs = [13000 0 0 ...]", "# MaxRSS = 1234".
var (
	pauseLine  = regexp.MustCompile(`(?m)^# PauseNs = \[([0-9 ]*)\]`)
	maxRSSLine = regexp.MustCompile(`(?m)^# MaxRSS = ([0-9]+)`)
)

// pausesOf reads the ring of pauses, in seconds.
func pausesOf(text []byte) []float64 {
	match := pauseLine.FindSubmatch(text)
	if match == nil {
		return nil
	}
	var pauses []float64
	for field := range strings.FieldsSeq(string(match[1])) {
		ns, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return nil
		}
		pauses = append(pauses, ns/1e9)
	}
	return pauses
}

// numberOf reads the number that a pattern finds, 0 if there is none.
func numberOf(text []byte, pattern *regexp.Regexp) float64 {
	match := pattern.FindSubmatch(text)
	if match == nil {
		return 0
	}
	v, err := strconv.ParseFloat(string(match[1]), 64)
	if err != nil {
		return 0
	}
	return v
}
