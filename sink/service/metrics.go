// SPDX-License-Identifier: Apache-2.0

package service

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/freehold-go/freehold/sink/store"
)

// metrics are what Prometheus reads.
type metrics struct {
	registry *prometheus.Registry
	attempts *prometheus.HistogramVec
	asked    *prometheus.HistogramVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		attempts: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "freehold_sink_store_attempt_seconds", Help: "Time of attempts of calls to the store.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 18),
		}, []string{"op", "result"}),
		asked: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "freehold_sink_registry_attempt_seconds", Help: "Time of attempts to fetch a schema from the schema registry.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 18),
		}, []string{"result"}),
	}
	m.registry.MustRegister(m.attempts, m.asked, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// attempt counts an attempt of the store.
func (m *metrics) attempt(a store.Attempt) {
	result := "ok"
	if a.Err != nil {
		result = "failed"
	}
	m.attempts.WithLabelValues(a.Op, result).Observe(a.Took.Seconds())
}
