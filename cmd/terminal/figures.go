// SPDX-License-Identifier: Apache-2.0

// The one place that decides how a figure is written: every table, verdict and finding asks here,
// so that a figure looks the same wherever it stands.

package terminal

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Nanoseconds writes a time with three significant digits in the unit that suits it.
func Nanoseconds(ns float64) string {
	size, name := timeUnit(ns)
	return Significant(ns/size) + name
}

// NanosecondsOf writes two times in one unit, that of the longer, so that they compare at a glance.
// Where the other would vanish in it, each has its own.
func NanosecondsOf(a, b float64) (string, string) {
	size, name := timeUnit(max(a, b))
	if least := min(a, b); least != 0 && least < size/100 {
		return Nanoseconds(a), Nanoseconds(b)
	}
	return Significant(a/size) + name, Significant(b/size) + name
}

func timeUnit(ns float64) (size float64, name string) {
	switch {
	case ns < 1e4:
		return 1, " ns"
	case ns < 1e7:
		return 1e3, " µs"
	case ns < 1e10:
		return 1e6, " ms"
	}
	return 1e9, " s"
}

// Significant writes v with about three significant digits and without an exponent.
func Significant(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a < 0.0005:
		return "~0"
	case a < 0.1:
		return strconv.FormatFloat(v, 'f', 3, 64)
	case a < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// Percent writes a share as a percentage: two decimals below 0.1 %, one below 10 %, none above. A
// share that is not 0 is never written as 0 %.
func Percent(share float64) string {
	p := share * 100
	if p != 0 && math.Abs(p) < 0.005 {
		return "~0 %"
	}
	return strconv.FormatFloat(p, 'f', percentDecimals(p), 64) + " %"
}

// PercentError writes a share and its error, both with the decimals that suit the share: 12 ± 2 %.
// An error of 0 is left out.
func PercentError(share, err float64) string {
	if err == 0 {
		return Percent(share)
	}
	decimals := 1
	if math.Abs(share*100) >= wholePercents {
		decimals = 0
	}
	return fmt.Sprintf("%.*f ± %.*f %%", decimals, share*100, decimals, err*100)
}

// wholePercents is the percentage from which on no decimals are written: what rounds to 10.
const wholePercents = 9.95

// percentDecimals is the number of decimals of a percentage that has no error beside it.
func percentDecimals(p float64) int {
	switch a := math.Abs(p); {
	case a == 0 || a >= wholePercents:
		return 0
	case a >= 0.095:
		return 1
	}
	return 2
}

// Ratio writes a ratio with about three significant digits and its sign behind it, 0.24 ×, and down
// to 0.0001 with as many decimals as it takes.
func Ratio(r float64) string {
	if r > 0 && r < 0.01 {
		return strconv.FormatFloat(r, 'f', 4, 64) + " ×"
	}
	return Significant(r) + " ×"
}

// FineRatio writes a ratio beside its interval with three decimals, 0.912 ×: the interval is often
// narrower than 0.01.
func FineRatio(r float64) string { return fmt.Sprintf("%.3f ×", r) }

// Interval writes the bounds of a [FineRatio].
func Interval(low, high float64) string { return fmt.Sprintf("%.3f to %.3f", low, high) }

// Seconds writes a time in the unit that suits it, hours included. Use [Nanoseconds] for times that
// are to be compared with others.
func Seconds(s float64) string {
	return scaled(s, []step{{7200, 3600, " h"}, {120, 60, " min"}, {1, 1, " s"}, {1e-3, 1e-3, " ms"}, {1e-6, 1e-6, " µs"}, {1e-12, 1e-9, " ns"}})
}

// Quantity writes a number of things with about three significant digits, large numbers in words:
// 12.5 million.
func Quantity(v float64) string {
	return scaled(v, []step{{1e9, 1e9, " billion"}, {1e6, 1e6, " million"}, {1e4, 1e3, " thousand"}})
}

// A step is the unit from which on a figure is written in it, and what the figure is divided by
// then.
type step struct {
	from, by float64
	unit     string
}

// scaled writes v in the first unit that it reaches, and as a [Count] below all of them.
func scaled(v float64, steps []step) string {
	for _, s := range steps {
		if math.Abs(v) >= s.from {
			return Significant(v/s.by) + s.unit
		}
	}
	return Count(v)
}

// Count writes a number of things: without decimals where it is whole, and with at most three
// significant digits down to 0.0001, because the mean over many operations may be small.
func Count(v float64) string {
	switch a := math.Abs(v); {
	case v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case 0.0001 <= a && a < 0.1:
		return strings.TrimRight(strconv.FormatFloat(v, 'f', 2-int(math.Floor(math.Log10(a))), 64), "0")
	}
	return Significant(v)
}

// byteUnits are the units of [Bytes] and [ExactBytes]; each is 1024 times the one before.
var byteUnits = []string{" B", " KiB", " MiB", " GiB", " TiB"}

// Bytes writes a number of bytes with about three significant digits in the unit that suits it.
func Bytes(v float64) string {
	i := 0
	for math.Abs(v) >= 1000 && i < len(byteUnits)-1 {
		v /= 1024
		i++
	}
	if i == 0 {
		return strconv.FormatFloat(v, 'f', 0, 64) + byteUnits[0]
	}
	return Significant(v) + byteUnits[i]
}

// ExactBytes writes a chosen size in full, in the largest unit that divides it: 32 KiB, 1500 B. Use
// [Bytes] for measured sizes.
func ExactBytes(n int) string {
	i := 0
	for n != 0 && n%1024 == 0 && i < len(byteUnits)-1 {
		n /= 1024
		i++
	}
	return strconv.Itoa(n) + byteUnits[i]
}

// ExactCount writes a chosen number in full and short, as the names of benchmarks do: 2M, 1.5k,
// 1234. Use [Quantity] for measured numbers.
func ExactCount(n int) string {
	switch {
	case n >= 1_000_000 && n%100_000 == 0:
		return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64) + "M"
	case n >= 1000 && n%100 == 0:
		return strconv.FormatFloat(float64(n)/1e3, 'f', -1, 64) + "k"
	}
	return strconv.Itoa(n)
}

// Elapsed writes the time since the start of a step, or until its end: in whole seconds, because a
// progress line is rewritten each second, and from five minutes on in minutes.
func Elapsed(d time.Duration) string {
	if d >= 5*time.Minute {
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

// MiBParts writes a total and its parts in MiB, rounded so that the written parts add up to the
// written total: 2,048 with the thousands set apart, and with one decimal below 100.
func MiBParts(total float64, parts []float64) (string, []string) {
	decimals := 0
	if math.Abs(total) < 100<<20 {
		decimals = 1
	}
	unit := math.Pow10(decimals) / (1 << 20)
	texts := make([]string, len(parts))
	sum, written := 0.0, 0.0
	for i, p := range parts {
		sum += p
		v := math.Round(sum*unit) - written // what rounding left so far goes to the next part
		written += v
		texts[i] = thousands(v, decimals)
	}
	return thousands(math.Round(total*unit), decimals), texts
}

// thousands writes v·10^-decimals with commas between thousands.
func thousands(v float64, decimals int) string {
	s := strconv.FormatFloat(math.Abs(v)/math.Pow10(decimals), 'f', decimals, 64)
	whole, _, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if v < 0 {
		s = "-" + s
	}
	return s
}
