// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// A timeFormat is how a time or a duration is written.
type timeFormat struct {
	layout string // Of time.Parse; empty for RFC 3339.
	digits int    // Of a number: so many decimal digits of its integer part are below a second.
	number bool   // A number, in seconds or a part of them.
	iso    bool   // A duration of ISO 8601.
}

var layouts = map[string]string{
	"ANSIC": time.ANSIC, "UnixDate": time.UnixDate, "RubyDate": time.RubyDate, "RFC822": time.RFC822, "RFC822Z": time.RFC822Z,
	"RFC850": time.RFC850, "RFC1123": time.RFC1123, "RFC1123Z": time.RFC1123Z, "RFC3339": "", "RFC3339Nano": "", "Kitchen": time.Kitchen,
	"Stamp": time.Stamp, "StampMilli": time.StampMilli, "StampMicro": time.StampMicro, "StampNano": time.StampNano,
	"DateTime": time.DateTime, "DateOnly": time.DateOnly, "TimeOnly": time.TimeOnly,
}

// ofTime sets the format of a time.Time, or reports false if there is none of that name.
func (f *timeFormat) ofTime(format string) bool {
	if format == "" {
		return true
	}
	layout, ok := layouts[format]
	switch {
	case ok:
		f.layout = layout
	case format == "unix":
		f.number = true
	case format == "unixmilli":
		f.number, f.digits = true, 3
	case format == "unixmicro":
		f.number, f.digits = true, 6
	case format == "unixnano":
		f.number, f.digits = true, 9
	case isWord(format) && (format[0]|0x20)-'a' < 26: // Go may have a constant of that name one day.
		return false
	default:
		f.layout = format
	}
	return true
}

// ofDuration sets the format of a time.Duration.
func (f *timeFormat) ofDuration(format string) bool {
	switch format {
	case "units":
	case "sec":
		f.number = true
	case "milli":
		f.number, f.digits = true, 3
	case "micro":
		f.number, f.digits = true, 6
	case "nano":
		f.number, f.digits = true, 9
	case "iso8601":
		f.iso = true
	default:
		return false
	}
	return true
}

// timeV2 decodes the value at i into a time.Time or time.Duration.
func (d *decoder) timeV2(p *plan, to pointer, i int) int {
	next := d.skipV2(i)
	if next < 0 {
		return next
	}
	f, c := &p.rules.times, d.peek(i)
	number := c == '-' || c-'0' <= 9
	if c != '"' && !number || number != (f.number && !p.rules.quoted) {
		return d.mismatchV2(p, to, i)
	}
	text := string(d.input[i:next])
	if c == '"' {
		text = d.nameAt(i, next)
	}
	var err error
	if p.op == opTime {
		var t time.Time
		if t, err = f.time(text); err == nil {
			*unsafex.As[time.Time](to) = t
		}
	} else {
		var v time.Duration
		if v, err = f.duration(text); err == nil {
			*unsafex.As[time.Duration](to) = v
		}
	}
	if err != nil {
		return d.refuse(p, err, i)
	}
	return next
}

func (f *timeFormat) time(text string) (t time.Time, err error) {
	switch {
	case f.number:
		n, err := parseTimeNumber(text, f.digits)
		if err != nil {
			return t, fmt.Errorf("%q is no time: %w", text, err)
		}
		if n.neg { // Seconds are rounded down, nanoseconds added.
			n.sec, n.nano = -n.sec, -n.nano
		}
		t = time.Unix(int64(n.sec), int64(n.nano)).UTC()
		if n.neg != (t.Unix() < 0) {
			return time.Time{}, fmt.Errorf("%q is no time: %w", text, strconv.ErrRange)
		}
		return t, nil
	case f.layout == "":
		if err = t.UnmarshalText([]byte(text)); err == nil {
			err = strictTime(text)
		}
	default:
		t, err = time.Parse(f.layout, text)
	}
	return t, err
}

// strictTime is the error for a time that package time takes, but RFC 3339 does not.
func strictTime(text string) error {
	zone := text[len(text)-min(5, len(text)):]
	switch {
	case text[len("2006-01-02T1")] == ':':
		return fmt.Errorf("%q is no time of RFC 3339: the hour has one digit", text)
	case text[len("2006-01-02T15:04:05")] == ',':
		return fmt.Errorf("%q is no time of RFC 3339: the seconds have a comma", text)
	case text[len(text)-1] != 'Z' && (zone[:2] >= "24" || zone[3:] >= "60"):
		return fmt.Errorf("%q is no time of RFC 3339: the zone is out of range", text)
	}
	return nil
}

func (f *timeFormat) duration(text string) (time.Duration, error) {
	switch {
	case f.iso:
		return isoDuration(text)
	case !f.number:
		return time.ParseDuration(text)
	}
	n, err := parseTimeNumber(text, f.digits)
	if err == nil {
		hi, lo := bits.Mul64(n.sec, 1e9)
		sum, carry := bits.Add64(lo, n.nano, 0)
		most := uint64(math.MaxInt64)
		if n.neg {
			most++
		}
		if hi == 0 && carry == 0 && sum <= most && (!n.neg || sum > 0) {
			if n.neg {
				sum = -sum
			}
			return time.Duration(sum), nil
		}
		err = strconv.ErrRange
	}
	return 0, fmt.Errorf("%q is no duration: %w", text, err)
}

// A timeNumber is a number of seconds.
type timeNumber struct {
	sec, nano uint64
	neg       bool
}

// parseTimeNumber reads a decimal number without an exponent. So many digits of its integer part are below a second; what is
// less than a nanosecond is cut off.
func parseTimeNumber(text string, digits int) (n timeNumber, err error) {
	whole, neg := strings.CutPrefix(text, "-")
	n.neg = neg
	whole, fraction, dot := strings.Cut(whole, ".")
	if !plainInteger([]byte(whole)) || whole[0] == '-' || dot && fraction == "" || strings.Trim(fraction, "0123456789") != "" {
		return n, strconv.ErrSyntax
	}
	above := max(0, len(whole)-digits)
	nano := strings.Repeat("0", digits-(len(whole)-above)) + whole[above:] + fraction + "000000000"
	if n.nano, err = strconv.ParseUint(nano[:9], 10, 64); err == nil && above > 0 {
		n.sec, err = strconv.ParseUint(whole[:above], 10, 64)
	}
	if err != nil {
		err = errors.Unwrap(err)
	}
	return n, err
}

// isoDuration reads a duration of ISO 8601 in hours, minutes and seconds. Longer units have no exact length.
func isoDuration(text string) (time.Duration, error) {
	rest := strings.TrimPrefix(text, "+")
	neg := false
	if rest == text {
		rest, neg = strings.CutPrefix(text, "-")
	}
	if len(rest) < 3 || rest[0]|0x20 != 'p' || rest[1]|0x20 != 't' {
		return 0, fmt.Errorf("%q is no duration in hours, minutes and seconds of ISO 8601: %w", text, strconv.ErrSyntax)
	}
	var sum, over uint64
	rest = rest[2:]
	last := false
	for _, unit := range []struct {
		letter byte
		length time.Duration
	}{{'h', time.Hour}, {'m', time.Minute}, {'s', time.Second}} {
		at := strings.IndexAny(rest, string([]byte{unit.letter, unit.letter - 'a' + 'A'}))
		if at < 0 || last {
			continue
		}
		n, more, fraction, ok := isoNumber(rest[:at], unit.length)
		if !ok {
			return 0, fmt.Errorf("%q is no duration of ISO 8601: %w", text, strconv.ErrSyntax)
		}
		var carry uint64
		sum, carry = bits.Add64(sum, n, 0)
		over |= more | carry
		rest, last = rest[at+1:], fraction
	}
	d := time.Duration(sum)
	if neg {
		d = -d
	}
	switch {
	case rest != "":
		return 0, fmt.Errorf("%q is no duration of ISO 8601: %w", text, strconv.ErrSyntax)
	case over != 0 || d != 0 && neg != (d < 0):
		return 0, fmt.Errorf("%q is no duration: %w", text, strconv.ErrRange)
	}
	return d, nil
}

// isoNumber is a number of units in nanoseconds. over is not 0 if it does not fit.
func isoNumber(text string, unit time.Duration) (n, over uint64, fraction, ok bool) {
	whole, part := text, ""
	if at := strings.IndexAny(text, ".,"); at >= 0 {
		whole, part, fraction = text[:at], text[at+1:], true
		if part == "" || strings.Trim(part, "0123456789") != "" {
			return 0, 0, true, false
		}
	}
	if whole == "" || strings.Trim(whole, "0123456789") != "" {
		return 0, 0, fraction, false
	}
	count, err := strconv.ParseUint(whole, 10, 64)
	if err != nil {
		over = 1
	}
	hi, n := bits.Mul64(count, uint64(unit))
	if fraction {
		var below uint64
		if unit == time.Second {
			below, _ = strconv.ParseUint((part + "000000000")[:9], 10, 64)
		} else {
			f, _ := strconv.ParseFloat("0."+part, 64)
			below = uint64(math.Round(f * float64(unit)))
		}
		var carry uint64
		n, carry = bits.Add64(n, below, 0)
		over |= carry
	}
	return n, over | hi, fraction, true
}
