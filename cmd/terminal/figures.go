package terminal

import (
	"fmt"
	"math"
	"strconv"
)

// Nanoseconds writes a time with three significant digits in the unit that suits it.
func Nanoseconds(ns float64) string {
	size, name := timeUnit(ns)
	return Significant(ns/size) + name
}

// NanosecondsOf writes two times in one unit, that of the longer, so that they compare at a glance. Where the other would vanish in it,
// each has its own.
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

// Count writes a number of things, without decimals where it is whole.
func Count(v float64) string {
	if v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return Significant(v)
}

// Bytes writes a number of bytes with about three significant digits in the unit that suits it.
func Bytes(v float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for math.Abs(v) >= 1000 && i < len(units)-1 {
		v /= 1024
		i++
	}
	if i == 0 {
		return fmt.Sprintf("%.0f B", v)
	}
	return Significant(v) + " " + units[i]
}
