// SPDX-License-Identifier: Apache-2.0

package otelstats

import (
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// A maker makes instruments. It remembers them for the callback, and the errors for the end.
type maker struct {
	meter metric.Meter
	made  []metric.Observable
	err   error
}

func (m *maker) add(i metric.Observable, err error) {
	m.made = append(m.made, i)
	m.err = errors.Join(m.err, err)
}

// bytes is a sum of bytes, which rises and falls.
func (m *maker) bytes(name, help string) metric.Int64Observable { return m.sum(name, "By", help) }

// sum is a sum that rises and falls.
func (m *maker) sum(name, unit, help string) metric.Int64Observable {
	i, err := m.meter.Int64ObservableUpDownCounter("freehold."+name, metric.WithUnit(unit), metric.WithDescription(help))
	m.add(i, err)
	return i
}

// gauge is a value that cannot be added to others.
func (m *maker) gauge(name, unit, help string) metric.Int64Observable {
	i, err := m.meter.Int64ObservableGauge("freehold."+name, metric.WithUnit(unit), metric.WithDescription(help))
	m.add(i, err)
	return i
}

// ratio is a gauge with a fraction.
func (m *maker) ratio(name, unit, help string) metric.Float64Observable {
	i, err := m.meter.Float64ObservableGauge("freehold."+name, metric.WithUnit(unit), metric.WithDescription(help))
	m.add(i, err)
	return i
}

// count is a sum that never falls.
func (m *maker) count(name, unit, help string) metric.Int64Observable {
	i, err := m.meter.Int64ObservableCounter("freehold."+name, metric.WithUnit(unit), metric.WithDescription(help))
	m.add(i, err)
	return i
}

// An observer records the values of one collection.
type observer struct{ to metric.Observer }

func (o observer) set(i metric.Int64Observable, value int64, attributes ...string) {
	o.to.ObserveInt64(i, value, with(attributes))
}

func (o observer) setRatio(i metric.Float64Observable, value float64, attributes ...string) {
	o.to.ObserveFloat64(i, value, with(attributes))
}

// count is set for a count, which stays below 2⁶³.
func (o observer) count(i metric.Int64Observable, value uint64) { o.set(i, int64(value)) }

// setLimit is set for a limit. If there is no limit, it records nothing.
func (o observer) setLimit(i metric.Int64Observable, value int64, attributes ...string) {
	if value != 0 && value != math.MaxInt64 {
		o.set(i, value, attributes...)
	}
}

// with makes attributes of keys and values in turn. Exporters refuse all metrics if one string is
// not valid UTF-8.
func with(attributes []string) metric.MeasurementOption {
	var list []attribute.KeyValue
	for i := 0; i+1 < len(attributes); i += 2 {
		v := attributes[i+1]
		if !utf8.ValidString(v) {
			v = strconv.Quote(v)
		}
		list = append(list, attribute.String(attributes[i], v))
	}
	return metric.WithAttributes(list...)
}
