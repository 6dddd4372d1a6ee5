// SPDX-License-Identifier: Apache-2.0

package usage

import "testing"

func TestMemoryReadings(t *testing.T) {
	if rss, peak := RSS(), PeakRSS(); rss <= 0 || peak < rss/2 {
		t.Errorf("resident set %g, peak %g", rss, peak)
	}
	if m := OpenMachine(); m.Source == "" || m.Read() <= 0 {
		t.Errorf("machine memory from %q is %g", m.Source, m.Read())
	}
}
