// SPDX-License-Identifier: Apache-2.0

package partition

import (
	"time"

	"github.com/freehold-go/freehold/arenajson"

	"github.com/freehold-go/freehold/sink/internal/number"
)

// timeOf is the time that a field has, in milliseconds since 1970, rounded down.
func timeOf(v arenajson.Value, unit string) (ms int64, ok bool) {
	text := v.Text()
	switch v.Kind() {
	case arenajson.Number:
		text = string(v.Number())
	case arenajson.String:
		if unit == "rfc3339" {
			return parseRFC3339(text)
		}
	}
	switch unit {
	case "s":
		return number.Floor(text, 3)
	case "ms":
		return number.Floor(text, 0)
	}
	return 0, false
}

// parseRFC3339 is time.Parse without garbage: that makes a zone for each offset.
func parseRFC3339(s string) (ms int64, ok bool) {
	if len(s) < len("2006-01-02T15:04:05Z") || s[4] != '-' || s[7] != '-' || s[10] != 'T' && s[10] != 't' && s[10] != ' ' || s[13] != ':' || s[16] != ':' {
		return 0, false
	}
	ok = true
	year, month, day := digits(s[0:4], &ok), digits(s[5:7], &ok), digits(s[8:10], &ok)
	hour, minute, second := digits(s[11:13], &ok), digits(s[14:16], &ok), digits(s[17:19], &ok)
	millis, s := fraction(s[19:], &ok)
	offset := 0
	if s != "Z" && s != "z" {
		if len(s) != len("+03:00") || s[0] != '+' && s[0] != '-' || s[3] != ':' {
			return 0, false
		}
		h, m := digits(s[1:3], &ok), digits(s[4:6], &ok)
		ok = ok && h < 24 && m < 60
		if offset = h*60 + m; s[0] == '-' {
			offset = -offset
		}
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	// Date turns the 31st of April into the 1st of May.
	ok = ok && month >= 1 && month <= 12 && t.Day() == day && t.Month() == time.Month(month) && hour < 24 && minute < 60 && second < 60
	return t.UnixMilli() + int64(millis) - int64(offset)*60_000, ok
}

// fraction reads the fraction of a second, if there is one, and returns what is behind it.
func fraction(s string, ok *bool) (millis int, rest string) {
	if s[0] != '.' {
		return 0, s
	}
	i, unit := 1, 100
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		millis += int(s[i]-'0') * unit
		unit /= 10
	}
	*ok = *ok && i > 1
	return millis, s[i:]
}

// digits reads digits.
func digits(s string, ok *bool) (n int) {
	for i := range len(s) {
		*ok = *ok && s[i]-'0' <= 9
		n = n*10 + int(s[i]-'0')
	}
	return n
}
