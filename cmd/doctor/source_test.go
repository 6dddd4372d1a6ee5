// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// TestCachedSource: a report is the same without a cache of source, when it fills one, and when it
// reads one.
func TestCachedSource(t *testing.T) {
	for id, kept := range map[string]bool{"field-order": true, "interface-boxing": true, "short-lived-objects": false} { // The last has an import that is not there.
		e := goldenEvidence(t, id)
		want := diagnosePatiently(e)
		cache := filepath.Join(t.TempDir(), "cache")
		t.Setenv("FREEHOLD_CACHE", cache)
		for _, how := range []string{"first", "second"} {
			if got := diagnosePatiently(e); !reflect.DeepEqual(got.Findings, want.Findings) || !reflect.DeepEqual(got.Missing, want.Missing) || got.Verdict != want.Verdict {
				t.Errorf("%s: the %s report with a cache differs:\n%+v\nwithout:\n%+v", id, how, got, want)
			}
			if entries, _ := os.ReadDir(cache); len(entries) > 0 != kept {
				t.Errorf("%s: the cache has %d files", id, len(entries))
			}
		}
		t.Setenv("FREEHOLD_CACHE", "off")
	}
}
