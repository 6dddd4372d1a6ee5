// SPDX-License-Identifier: Apache-2.0

package partition

import (
	"errors"
	"fmt"
	"time"

	"github.com/freehold-go/freehold/arenajson"

	"github.com/freehold-go/freehold/sink/internal/field"
	"github.com/freehold-go/freehold/sink/record"
)

// TimeOptions say how records are divided by time.
type TimeOptions struct {
	// Layout is Hour, Day or a layout of package time that makes a path, as "year=2006/month=01". It is Hour by default.
	Layout string
	// Zone is a name of the zone database, as "Europe/Istanbul", or "UTC", which is the default. If clocks are set back in a zone, its hour
	// that comes twice is one group.
	Zone string
	// Field is the path of the time in the value, which is JSON: names with dots between them. By default the time is the timestamp that
	// Kafka keeps for the record.
	Field string
	// Unit says what numbers in the field are: "ms" since 1970, which is the default, or "s". They may have a fraction or an exponent, and are rounded down to
	// milliseconds. Strings in the field may hold such a number. With "rfc3339" the field is a string like "2026-01-31T15:04:05.999+03:00".
	Unit string

	// NoTime is the group of records without a time: the timestamp is -1, or the field is not there or is no time. OutOfRange is the group of
	// records whose time is out of range. Both are paths, as "dt=unknown". By default these records are bad.
	NoTime, OutOfRange string
	// Earliest and Latest are the range of times, both included: by default 1970 and the end of 2199.
	Earliest, Latest time.Time
	// Behind and Ahead bound how far the time of a field is before and behind the timestamp that Kafka keeps for the record. 0 is no bound, and a
	// record without a timestamp has none. A comparison with the clock is not possible, because records must have the same group whenever they are read.
	Behind, Ahead time.Duration
}

// Time divides records by time.
func Time(o TimeOptions) (Partitioner, error) {
	p := &byTime{o: o, unit: o.Unit, lacks: record.Badf("the record has no timestamp"), far: record.Badf("the time of the record is out of range")}
	zone, zoneErr := time.LoadLocation(o.Zone)
	if o.Zone == "Local" {
		zoneErr = errors.New(`the zone "Local" is another on each machine: name it`)
	}
	var layoutErr, unitErr, fieldErr, rangeErr error
	if zoneErr == nil {
		p.layout, layoutErr = newLayout(o.Layout, zone)
	}
	switch o.Unit {
	case "":
		p.unit = "ms"
	case "ms", "s", "rfc3339":
	default:
		unitErr = fmt.Errorf("the unit %q: choose ms, s or rfc3339", o.Unit)
	}
	p.earliest, p.latest = o.Earliest.UnixMilli(), o.Latest.UnixMilli()
	if o.Earliest.IsZero() {
		p.earliest = 0
	}
	if o.Latest.IsZero() {
		p.latest = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() - 1
	}
	if p.latest < p.earliest || o.Behind < 0 || o.Ahead < 0 {
		rangeErr = fmt.Errorf("the range of times is empty, or a bound is negative: %v to %v, behind %v, ahead %v", o.Earliest, o.Latest, o.Behind, o.Ahead)
	}
	if o.Field != "" {
		p.at, fieldErr = field.ParsePath(o.Field)
		p.lacks = record.Badf("the value has no time in the field %s", o.Field)
	} else if o.Unit != "" || o.Behind != 0 || o.Ahead != 0 {
		fieldErr = errors.New("the options Unit, Behind and Ahead are for the time of a field")
	}
	if err := errors.Join(zoneErr, layoutErr, unitErr, fieldErr, rangeErr, checkFallback("no time", o.NoTime), checkFallback("out of range", o.OutOfRange)); err != nil {
		return nil, fmt.Errorf("partition by time: %w", err)
	}
	if p.at != nil {
		return single(p), nil
	}
	return byTimestamp{p}, nil
}

type byTime struct {
	o                TimeOptions
	at               field.Path
	unit             string
	layout           *layout
	earliest, latest int64
	lacks, far       *record.Bad
}

func (p *byTime) path() field.Path { return p.at }

func (p *byTime) group(dst []byte, r *record.Record, v arenajson.Value) ([]byte, error) {
	ms, ok := timeOf(v, p.unit)
	if !ok {
		return orMissing(dst, p.o.NoTime, p.lacks)
	}
	if r.Timestamp >= 0 {
		if d := p.o.Behind.Milliseconds(); p.o.Behind > 0 && ms < r.Timestamp-d {
			return orMissing(dst, p.o.OutOfRange, p.far)
		}
		if d := p.o.Ahead.Milliseconds(); p.o.Ahead > 0 && ms > r.Timestamp+d {
			return orMissing(dst, p.o.OutOfRange, p.far)
		}
	}
	return p.render(dst, ms)
}

// render appends the path of a time that is in the range.
func (p *byTime) render(dst []byte, ms int64) ([]byte, error) {
	if ms < p.earliest || ms > p.latest {
		return orMissing(dst, p.o.OutOfRange, p.far)
	}
	return p.layout.append(dst, ms), nil
}

// byTimestamp divides by the timestamps that Kafka keeps.
type byTimestamp struct{ *byTime }

// Group implements Partitioner.
func (p byTimestamp) Group(dst []byte, r *record.Record) ([]byte, error) {
	if r.Timestamp < 0 {
		return orMissing(dst, p.o.NoTime, p.lacks)
	}
	return p.render(dst, r.Timestamp)
}
