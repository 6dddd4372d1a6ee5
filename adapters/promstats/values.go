// SPDX-License-Identifier: Apache-2.0

package promstats

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

// desc describes a figure of freehold.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("freehold_"+name, help, labels, nil)
}

// values sends values.
type values struct{ to chan<- prometheus.Metric }

func (g values) set(d *prometheus.Desc, value int64, labels ...string) {
	for i, l := range labels {
		labels[i] = valid(l)
	}
	g.to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
}

// count is set for what never falls.
func (g values) count(d *prometheus.Desc, value uint64, labels ...string) {
	g.to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
}

// valid is a value of a label. Prometheus refuses one that is not valid UTF-8.
func valid(label string) string {
	if !utf8.ValidString(label) {
		return strconv.Quote(label)
	}
	return label
}

// setLimit is set for a limit, of which none is no figure.
func (g values) setLimit(d *prometheus.Desc, value int64, labels ...string) {
	if value != 0 && value != math.MaxInt64 {
		g.set(d, value, labels...)
	}
}
