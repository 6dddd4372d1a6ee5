// SPDX-License-Identifier: Apache-2.0

package partition

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Layouts with names. Any other layout is one of package time, as "2006/01/02".
const (
	Hour = "hour" // dt=2006-01-02/hour=15
	Day  = "day"  // dt=2006-01-02
)

// A layout renders times as paths. It keeps what it has rendered: the records of an hour have one path.
type layout struct {
	text  string
	zone  *time.Location
	grain int64 // Milliseconds of local time for which the path stays the same, or 0.

	cache  [256]atomic.Pointer[rendered]
	misses atomic.Uint32
}

// A rendered path is that of the times from from on and before to. It does not change.
type rendered struct {
	from, to int64
	path     []byte
}

func newLayout(text string, zone *time.Location) (*layout, error) {
	l := &layout{text: text, zone: zone}
	switch text {
	case "", Hour:
		l.text = "dt=2006-01-02/hour=15"
	case Day:
		l.text = "dt=2006-01-02"
	}
	day := time.Date(2021, 11, 13, 10, 0, 0, 0, time.UTC)
	if day.Format(l.text) == day.AddDate(7, 3, 11).Format(l.text) {
		return nil, fmt.Errorf("the layout %q has no date: layouts are those of package time, as 2006-01-02", text)
	}
	for month := range 24 { // Names of months and zones are part of some layouts.
		if err := CheckGroup(day.AddDate(0, month, 0).In(zone).AppendFormat(nil, l.text)); err != nil {
			return nil, fmt.Errorf("the layout %q: %w", text, err)
		}
	}
	for _, grain := range []time.Duration{time.Hour, time.Minute, time.Second} {
		if day.Format(l.text) == day.Add(grain-time.Millisecond).Format(l.text) {
			l.grain = grain.Milliseconds()
			break
		}
	}
	return l, nil
}

// append appends the path of a time in milliseconds since 1970.
func (l *layout) append(dst []byte, ms int64) []byte {
	if l.grain == 0 {
		return time.UnixMilli(ms).In(l.zone).AppendFormat(dst, l.text)
	}
	// Offsets of zones are multiples of a quarter of an hour today. With slots for shorter stretches two paths of a slot never alternate.
	slot := &l.cache[uint64(ms/min(l.grain, (15*time.Minute).Milliseconds()))%uint64(len(l.cache))]
	old := slot.Load()
	if old != nil && old.from <= ms && ms < old.to {
		return append(dst, old.path...)
	}
	return l.appendSlow(dst, ms, slot, old)
}

// appendSlow renders a time. If the records of many days alternate, only one path in 16 is kept, so that these paths do not become garbage.
func (l *layout) appendSlow(dst []byte, ms int64, slot *atomic.Pointer[rendered], old *rendered) []byte {
	t, before := time.UnixMilli(ms).In(l.zone), len(dst)
	dst = t.AppendFormat(dst, l.text)
	if old == nil || l.misses.Add(1)%16 == 0 {
		from, to := l.stretch(t, ms)
		slot.Store(&rendered{from, to, append([]byte(nil), dst[before:]...)})
	}
	return dst
}

// stretch is the time around t in which local time has the same grain and the same offset.
func (l *layout) stretch(t time.Time, ms int64) (from, to int64) {
	_, offset := t.Zone()
	local := ms + int64(offset)*1000
	from = local - (local%l.grain+l.grain)%l.grain - int64(offset)*1000
	to = from + l.grain
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		from = max(from, start.UnixMilli())
	}
	if !end.IsZero() {
		to = min(to, end.UnixMilli())
	}
	return from, to
}
