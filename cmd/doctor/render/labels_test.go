// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/doctor"
)

func textOf(t *testing.T, r *doctor.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, r, nil, Style{Width: 100}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Without a choice, one line names the labels and the flag.
func TestLabelKeys(t *testing.T) {
	r := sample()
	r.LabelKeys = []doctor.LabelKey{{Key: "trace endpoint", Values: 12, CPUShare: 0.8}, {Key: "service", Values: 1, CPUShare: 0.9}}
	want := "labels: trace endpoint (12 values, 80 % of CPU), service (1 value, 90 % of CPU); -label 'trace endpoint'"
	if text := strings.Join(strings.Fields(textOf(t, r)), " "); !strings.Contains(text, want) {
		t.Errorf("got\n%s\nwant a line with %s", text, want)
	}
}

// The screen has five values, the chosen one among them, and the sum of the others.
func TestLabelTable(t *testing.T) {
	r := sample()
	r.Labels = &doctor.LabelSplit{Key: "endpoint", Unlabelled: doctor.LabelCost{CPUShare: 0.02}, BackgroundShare: 0.1, NotChargedShare: 0.01}
	for i := range 8 {
		r.Labels.Costs = append(r.Labels.Costs, doctor.LabelCost{Value: fmt.Sprintf("/%d", i), CPUShare: 0.11, Error: 0.01, AllocShare: 0.05, GCShare: 0.01, ChargedShare: 0.02})
	}
	text := textOf(t, r)
	for _, want := range []string{" /0 ", " /4 ", " 3 more values", " 33 ", " no endpoint", " background workers ", "1.0 % not charged", "about 2.0 %"} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q in it", text, want)
		}
	}
	if strings.Contains(text, " /5 ") {
		t.Errorf("a sixth value is on the screen:\n%s", text)
	}
	r.Labels.Restricted, r.Labels.Value, r.Findings[0].LabelPart = true, "/7", 0.6
	text = textOf(t, r)
	for _, want := range []string{"─\n /7 ", " /3 ", "short-lived-objects · 12 ± 2 % of CPU, 9.0 % at the same memory · 60 % under /7", "lines that allocate under endpoint=/7"} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q in it", text, want)
		}
	}
}

// The page has the tables and figures of the screen.
func TestPageTables(t *testing.T) {
	r := benched(t, 1000, "")
	r.Labels = &doctor.LabelSplit{Key: "endpoint", Costs: []doctor.LabelCost{{Value: "/<buy>", CPUShare: 0.6, Error: 0.01}}}
	r.PerOperation = &doctor.PerOperation{Name: "requests", CPUSeconds: 412e-6, AllocBytes: 2048}
	var b bytes.Buffer
	if err := HTML(&b, Subject{Report: r}, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"The cost by endpoint", "/&lt;buy&gt;", "about 0 %", "The cost per requests", "<dd>412 µs</dd>", "<dd>2.00 KiB</dd>", "BenchmarkDecode", "1000 ns to 1005 ns"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
