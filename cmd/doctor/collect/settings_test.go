// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/freehold-go/freehold/cmd/evidence"
)

func TestSettings(t *testing.T) {
	for s, want := range map[string]float64{"": 100, "20": 20, "off": -1, "-5": -1, "many": 100} {
		if got, ok := parseGOGC(s); !ok || got != want {
			t.Errorf("GOGC=%q is %v, want %v", s, got, want)
		}
	}
	for s, want := range map[string]float64{"": math.MaxInt64, "off": math.MaxInt64, "17MiB": 17 << 20, "5B": 5, "300": 300, "2TiB": 2 << 40} {
		if got, ok := parseLimit(s); !ok || got != want {
			t.Errorf("GOMEMLIMIT=%q is %v, want %v", s, got, want)
		}
	}
	for _, s := range []string{"17MB", "MiB", "-5MiB", "1.5GiB"} {
		if got, ok := parseLimit(s); ok {
			t.Errorf("GOMEMLIMIT=%q is %v, want an error", s, got)
		}
	}
}

// A command's GOGC and limit are told apart by its environment.
func TestSettingsOfCommand(t *testing.T) {
	command := asRole(t, "collects")
	for text, want := range map[string]float64{"30": 30, "off": -1} {
		t.Setenv("GOGC", text)
		t.Setenv("GOMEMLIMIT", "500MiB")
		dir := filepath.Join(t.TempDir(), "kept")
		for _, e := range []*evidence.Evidence{collected(t, nil, command, Options{Save: dir}), collected(t, []string{dir}, nil, Options{})} {
			gogc, _ := e.Metrics[1].Get(evidence.MetricGOGC)
			limit, _ := e.Metrics[1].Get(evidence.MetricMemoryLimit)
			if gogc != want || limit != 500<<20 {
				t.Errorf("of %s GOGC is %v and the limit %v", e.Source, gogc, limit)
			}
		}
	}
}
