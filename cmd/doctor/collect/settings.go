// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/freehold-go/freehold/cmd/evidence"
)

// noteSettings notes GOGC and GOMEMLIMIT from the environment of the program that was run, because
// a trace does not show which of them was in force. It does not see values that the program sets
// later.
func (c *collector) noteSettings() {
	m := &c.ev.Metrics[1]
	if gogc, ok := parseGOGC(os.Getenv("GOGC")); ok {
		m.Set(evidence.MetricGOGC, gogc)
	}
	if limit, ok := parseLimit(os.Getenv("GOMEMLIMIT")); ok {
		m.Set(evidence.MetricMemoryLimit, limit)
	}
}

// parseGOGC reads GOGC as the runtime does: 100 if it is empty or no number, -1 if it is off.
func parseGOGC(s string) (float64, bool) {
	if s == "off" {
		return -1, true
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 100, true
	}
	return max(float64(n), -1), true
}

// limitUnits are what GOMEMLIMIT may end in.
var limitUnits = []struct {
	suffix string
	bytes  float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"B", 1}, {"", 1}}

// parseLimit reads GOMEMLIMIT: bytes with a unit, none if it is empty or off. The runtime ends a
// program whose limit is anything else.
func parseLimit(s string) (float64, bool) {
	if s == "" || s == "off" {
		return math.MaxInt64, true
	}
	for _, u := range limitUnits {
		if digits, ok := strings.CutSuffix(s, u.suffix); ok {
			n, err := strconv.ParseInt(digits, 10, 64)
			return float64(n) * u.bytes, err == nil && n >= 0
		}
	}
	return 0, false
}
