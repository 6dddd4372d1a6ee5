// SPDX-License-Identifier: Apache-2.0

package gctune

import (
	"bytes"
	"flag"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	zero := 0.0
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, ""},
		{Options{Ratio: 1, Min: 1, Reserve: 1, Policy: Small, Source: Machine}, ""},
		{Options{Policy: 3}, "gctune: Options.Policy is 3; want Balanced, Throughput or Small"},
		{Options{Policy: -1}, "gctune: Options.Policy is -1; want Balanced, Throughput or Small"},
		{Options{Source: 9}, "gctune: Options.Source is 9; want Auto, Cgroup or Machine"},
		{Options{Ratio: 1.5}, "gctune: Options.Ratio is 1.5; want above 0 and at most 1, or 0 for 0.9"},
		{Options{Ratio: -0.1}, "gctune: Options.Ratio is -0.1; want above 0 and at most 1, or 0 for 0.9"},
		{Options{Ratio: zero / zero}, "gctune: Options.Ratio is NaN; want above 0 and at most 1, or 0 for 0.9"},
		{Options{Reserve: -1, Min: -2, MaxGrowth: -3}, "gctune: Options.Reserve is -1 bytes; want 0 or more\ngctune: Options.Min is -2 bytes; want 0 or more\ngctune: Options.MaxGrowth is -3 bytes; want 0 or more"},
	} {
		got := ""
		if err := c.o.validate(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.o, got, c.want)
		}
	}
}

func TestVariable(t *testing.T) {
	for _, c := range []struct {
		words  string
		off    bool
		dry    bool
		policy Policy
		ratio  float64
		line   string
	}{
		{"", false, false, Throughput, 0.5, ""},
		{"off", true, false, Throughput, 0.5, ""},
		{"0.8", false, false, Throughput, 0.8, ""},
		{" small , 1 ,dryrun,", false, true, Small, 1, ""},
		{"1.2", false, false, Throughput, 0.5, "gctune: GCTUNE: 1.2 ignored; a ratio is above 0 and at most 1\n"},
		{"NaN,small", false, false, Small, 0.5, "gctune: GCTUNE: NaN ignored; a ratio is above 0 and at most 1\n"},
		{"fast,0.7", false, false, Throughput, 0.7,
			"gctune: GCTUNE: unknown \"fast\" ignored; known: off, dryrun, balanced, throughput, small, or a ratio such as 0.8\n"},
	} {
		o := Options{Policy: Throughput, Ratio: 0.5}
		var stderr bytes.Buffer
		off := o.override(c.words, &stderr)
		if off != c.off || o.DryRun != c.dry || o.Policy != c.policy || o.Ratio != c.ratio || stderr.String() != c.line {
			t.Errorf("%q: off %v, %+v, %q; want %+v", c.words, off, o, stderr.String(), c)
		}
	}
}

func TestPolicyIsAFlag(t *testing.T) {
	var p Policy
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(&bytes.Buffer{})
	flags.TextVar(&p, "policy", Balanced, "")
	for _, want := range []Policy{Balanced, Throughput, Small} {
		if err := flags.Parse([]string{"-policy", want.String()}); err != nil || p != want {
			t.Errorf("%v: %v, error %v", want, p, err)
		}
	}
	err := flags.Parse([]string{"-policy", "fast"})
	if err == nil || !strings.Contains(err.Error(), `gctune: policy "fast"; want balanced, throughput, small`) {
		t.Errorf("error %v", err)
	}
}
