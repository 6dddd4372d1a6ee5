// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"strings"
	"testing"
)

// Heap profiles alone give the top lines by each measure, and no gains.
func TestAllocators(t *testing.T) {
	f := newFake()
	f.Made("main.big;main.main", 1<<20, 600, 0)
	f.Made("main.many;main.main", 16, 1_000_000, 0)
	f.Made("main.kept;main.main", 1<<10, 1000, 900)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		f.Made("main."+name+";main.main", 1<<10, 2000, 0)
	}
	e := f.evidence()
	e.CPU = nil
	r := Diagnose(t.Context(), e)
	want := "The cost is unknown: there is no CPU profile. main.big allocates "
	if !strings.HasPrefix(r.Verdict, want) || !strings.Contains(r.Verdict, "main.many allocates ") || !strings.Contains(r.Verdict, "main.kept holds 100 % of the bytes in use.") {
		t.Error(r.Verdict)
	}
	found := map[string]Allocator{}
	for _, al := range r.Allocators {
		found[al.Site.Func] = al
	}
	if len(found) != len(r.Allocators) || len(found) > 3*topAllocators || found["main.big"].AllocBytes != 600<<20 || found["main.many"].AllocObjects != 1_000_000 || found["main.kept"].InUseShare != 1 {
		t.Errorf("%+v", r.Allocators)
	}
	if len(r.Findings) != 0 || r.WinnableShare != 0 || len(r.Missing) == 0 || r.Missing[0].What != "CPU profile" {
		t.Errorf("findings %v, missing %v", r.Findings, r.Missing)
	}
	if e := newFake().evidence(); Diagnose(t.Context(), e).Allocators != nil {
		t.Error("a report on a CPU profile lists allocators")
	}
}
