// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/doctor"
)

func TestPerOperation(t *testing.T) {
	r := sample()
	r.PerOperation = &doctor.PerOperation{Name: "requests", PerSecond: 1000, CPUSeconds: 412e-6, GCSeconds: 61e-6, AllocSeconds: 40e-6, AllocBytes: 38 << 10, AllocObjects: 214,
		AllocFrom: doctor.FromProfiles, WindowAssumed: true}
	want := "cost per requests: 412 µs of CPU (collector 61.0 µs, allocation 40.0 µs), 38.0 KiB in 214 objects; 1000/s, if the counter was read at both ends"
	if text := strings.Join(strings.Fields(textOf(t, r)), " "); !strings.Contains(text, want) {
		t.Errorf("got\n%s\nwant %q in it", text, want)
	}
	r.PerOperation = &doctor.PerOperation{Name: "requests"}
	if text := textOf(t, r); !strings.Contains(text, "the cost per requests is unknown: there is no CPU profile") {
		t.Errorf("got\n%s", text)
	}
}

// Two states are compared by the cost of one operation if both have it. Otherwise the text says that
// the windows may differ in load.
func TestPerOperationCompared(t *testing.T) {
	r, before := sample(), sample()
	compare := func() string {
		var b bytes.Buffer
		if err := Text(&b, r, before, Style{Width: 120}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	before.CPUSeconds, before.WindowSeconds = 7.5, 10
	r.CPUSeconds, r.WindowSeconds = 4.8, 10
	const note = "may differ in load (7.50 s of CPU in 10.0 s before, 4.80 s of CPU in 10.0 s after)"
	if text := compare(); !strings.Contains(text, note) || !strings.Contains(text, "-per COUNTER") {
		t.Errorf("got\n%s\nwant %q in it", text, note)
	}
	before.PerOperation = &doctor.PerOperation{Name: "requests", CPUSeconds: 4e-4, AllocBytes: 2048, PerSecond: 100}
	if text := compare(); !strings.Contains(text, note) {
		t.Errorf("with one cost: got\n%s", text)
	}
	r.PerOperation = &doctor.PerOperation{Name: "requests", CPUSeconds: 3e-4, AllocBytes: 1024, PerSecond: 50}
	text := compare()
	if want := "CPU per requests 400 µs 300 µs (0.75 ×) bytes per requests 2.00 KiB 1.00 KiB (0.50 ×) requests per second 100 50"; !strings.Contains(text, want) || strings.Contains(text, "differ in load") {
		t.Errorf("got\n%s\nwant %q, and no note", text, want)
	}
}
