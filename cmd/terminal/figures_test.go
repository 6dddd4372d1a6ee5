// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
)

func TestFigures(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Nanoseconds(12.34), "12.3 ns"}, {Nanoseconds(45678), "45.7 µs"}, {Nanoseconds(2e9), "2000 ms"}, {Nanoseconds(2e10), "20.0 s"},
		{Significant(0), "0"}, {Significant(0.0001), "~0"}, {Significant(-0.05), "-0.050"}, {Significant(123.6), "124"},
		{Count(7), "7"}, {Count(7.5), "7.50"},
		{Bytes(12), "12 B"}, {Bytes(1 << 20), "1.00 MiB"}, {Bytes(1000), "0.98 KiB"}, {Bytes(1 << 50), "1024 TiB"},
		{Percent(0), "0 %"}, {Percent(0.00004), "~0 %"}, {Percent(0.0004), "0.04 %"}, {Percent(0.00095), "0.1 %"}, {Percent(-0.0449), "-4.5 %"},
		{Percent(0.09949), "9.9 %"}, {Percent(0.0995), "10 %"}, {Percent(1), "100 %"},
		{PercentError(0.1, 0.02), "10 ± 2 %"}, {PercentError(0.0995, 0.01), "10 ± 1 %"}, {PercentError(-0.012, 0.0004), "-1.2 ± 0.0 %"}, {PercentError(0.2, 0), "20 %"},
		{Seconds(0), "0"}, {Seconds(0.0032), "3.20 ms"}, {Seconds(90), "90.0 s"}, {Seconds(600), "10.0 min"}, {Seconds(86400), "24.0 h"},
		{Quantity(7), "7"}, {Quantity(7.25), "7.25"}, {Quantity(9999), "9999"}, {Quantity(12345), "12.3 thousand"}, {Quantity(2e6), "2.00 million"}, {Quantity(-3e9), "-3.00 billion"},
		{Count(0.034), "0.034"}, {Count(0.000_123_4), "0.000123"}, {Count(0.000_099), "~0"}, {Count(-0.01), "-0.01"},
		{Ratio(0.241), "0.24 ×"}, {Ratio(0.0012), "0.0012 ×"}, {Ratio(0), "0 ×"}, {Ratio(12.34), "12.3 ×"}, {FineRatio(0.9119), "0.912 ×"}, {Interval(0.88, 1.2), "0.880 to 1.200"},
		{ExactBytes(0), "0 B"}, {ExactBytes(32 << 10), "32 KiB"}, {ExactBytes(1500), "1500 B"}, {ExactBytes(2048 << 40), "2048 TiB"},
		{ExactCount(2_000_000), "2M"}, {ExactCount(1_500), "1.5k"}, {ExactCount(1234), "1234"}, {ExactCount(1_234_000), "1234k"},
		{Elapsed(59_600 * time.Millisecond), "60 s"},
		{TrimLines("a  \n b \n"), "a\n b\n"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestPainter(t *testing.T) {
	text.EnableColors()
	if got := (Painter{}).Bold("x"); got != "x" {
		t.Errorf("off: %q", got)
	}
	if got := (Painter{On: true}).Paint(text.FgRed, "x"); !strings.Contains(got, "\x1b[31m") {
		t.Errorf("on: %q", got)
	}
}

func TestTable(t *testing.T) {
	tw := NewTable()
	tw.AppendHeader([]any{"measure", "A"})
	tw.AppendRow([]any{"cpu", 1})
	if got, want := TrimLines(tw.Render()), " measure  A\n────────────\n cpu      1"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNanosecondsOf(t *testing.T) {
	for _, c := range []struct {
		a, b         float64
		wantA, wantB string
	}{
		{15.9e6, 6.725e6, "15.9 ms", "6.72 ms"}, {39e3, 6e3, "39.0 µs", "6.00 µs"}, {6e3, 39e3, "6.00 µs", "39.0 µs"}, {12, 9, "12.0 ns", "9.00 ns"},
		{586e6, 838e3, "586 ms", "0.84 ms"}, {3.6e9, 900, "3600 ms", "900 ns"}, {0, 5e7, "0 ms", "50.0 ms"},
	} {
		if a, b := NanosecondsOf(c.a, c.b); a != c.wantA || b != c.wantB {
			t.Errorf("%v and %v: %s and %s, want %s and %s", c.a, c.b, a, b, c.wantA, c.wantB)
		}
	}
}

func TestMedian(t *testing.T) {
	for want, values := range map[float64][]float64{3: {9, 3, 1}, 2.5: {4, 1, 2, 3}, 7: {7}} {
		before := slices.Clone(values)
		if got := Median(values); got != want || !slices.Equal(values, before) {
			t.Errorf("the median of %v is %v, want %v; afterwards they are %v", before, got, want, values)
		}
	}
}

func TestQuantile(t *testing.T) {
	sorted := []float64{1, 2, 3, 4}
	for q, want := range map[float64]float64{0: 1, 0.25: 1, 0.5: 2, 0.51: 3, 0.99: 4, 1: 4} {
		if got := Quantile(sorted, q); got != want {
			t.Errorf("quantile %g is %g, want %g", q, got, want)
		}
	}
	if !math.IsNaN(Quantile(nil, 0.5)) {
		t.Error("there is a median of nothing")
	}
}

// TestMiBParts: written parts add up to the written total, although each is rounded.
func TestMiBParts(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		parts []float64
		want  string
	}{
		{[]float64{0.04 * mib, 0.04 * mib, 0.04 * mib}, "0.1 = 0.0 0.1 0.0"}, {[]float64{1.5 * mib, -0.5 * mib}, "1.0 = 1.5 -0.5"},
		{[]float64{1000.4 * mib, 1000.4 * mib, 47.2 * mib}, "2,048 = 1,000 1,001 47"}, {[]float64{5000 * mib, -1234.6 * mib, 0}, "3,765 = 5,000 -1,235 0"}, {nil, "0.0 ="},
	} {
		total := 0.0
		for _, p := range c.parts {
			total += p
		}
		whole, parts := MiBParts(total, c.parts)
		if got := strings.Join(append([]string{whole, "="}, parts...), " "); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
