// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// evidenceUnits are the endings of names that docs/doctor.md promises.
var evidenceUnits = []string{"bytes_per_second", "per_second", "bytes", "seconds", "ns", "share", "percent"}

// TestEvidence holds the evidence of every finding in the real profiles against the contract of
// docs/doctor.md.
func TestEvidence(t *testing.T) {
	for _, r := range append([]recogniser{notGC}, recognisers...) {
		for _, f := range diagnosePatiently(goldenEvidence(t, r.id)).Findings {
			for name, value := range f.Evidence {
				if fault := evidenceFault(name, value); fault != "" {
					t.Errorf("%s of %s: %s is %v: %s", f.ID, r.id, name, value, fault)
				}
			}
		}
	}
}

// evidenceFault says how a piece of evidence breaks the contract, "" if it does not.
func evidenceFault(name string, value any) string {
	v := reflect.ValueOf(value)
	number := v.CanFloat() || v.CanInt() || v.CanUint()
	i := slices.IndexFunc(evidenceUnits, func(u string) bool { return strings.HasSuffix(name, "_"+u) })
	if i < 0 {
		words := strings.Split(name, "_")
		for _, word := range append(evidenceUnits, "part", "fraction", "ratio", "reordered", "second") {
			if number && slices.Contains(words, word) {
				return "the name does not end in its unit"
			}
		}
		switch value.(type) {
		case string, bool, []string:
			return ""
		}
		if !number {
			return "no number, word, list of words, true or false"
		}
		return ""
	}
	switch {
	case !number:
		return "no number"
	case evidenceUnits[i] == "share" && !(v.Convert(reflect.TypeFor[float64]()).Float() >= 0 && v.Convert(reflect.TypeFor[float64]()).Float() <= 1):
		return "not between 0 and 1"
	}
	return ""
}

func TestEvidenceFault(t *testing.T) {
	for name, value := range map[string]any{
		"live_bytes_saved": 1.0, "outgrown_bytes_part": 0.5, "alloc_share": 1.5, "goal_bytes": "many", "sites": []int{1}, "alloc_bytes_a_second": 2,
	} {
		if evidenceFault(name, value) == "" {
			t.Errorf("%s: %v is let through", name, value)
		}
	}
	for name, value := range map[string]any{
		"saved_live_bytes": 1.0, "gogc_percent": 400.0, "by": []string{"concatenation"}, "type": "main.node", "decodes_into_any": true, "sites": 2, "objects_per_second": 3.5,
	} {
		if fault := evidenceFault(name, value); fault != "" {
			t.Errorf("%s: %v: %s", name, value, fault)
		}
	}
}
