// SPDX-License-Identifier: Apache-2.0

package service

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freehold-go/freehold"
)

// figure is a metric that is read when Prometheus asks.
type figure struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(*Service) float64
}

func counter(name, help string, read func(*Service) int64) figure {
	return figure{prometheus.NewDesc("freehold_sink_"+name, help, nil, nil), prometheus.CounterValue, func(s *Service) float64 { return float64(read(s)) }}
}

func gauge(name, help string, read func(*Service) int64) figure {
	return figure{prometheus.NewDesc("freehold_sink_"+name, help, nil, nil), prometheus.GaugeValue, func(s *Service) float64 { return float64(read(s)) }}
}

var figures = []figure{
	counter("records_total", "Records written to objects, rejected or skipped, durable or not.", func(s *Service) int64 { return s.Stats().Records }),
	counter("input_bytes_total", "Bytes of keys, values and headers of these records.", func(s *Service) int64 { return s.Stats().InputBytes }),
	counter("rejected_records_total", "Records that could not be written.", func(s *Service) int64 { return s.Stats().Rejected }),
	counter("skipped_records_total", "Records that the format leaves out.", func(s *Service) int64 { return s.Stats().Skipped }),
	counter("objects_total", "Objects stored.", func(s *Service) int64 { return s.Stats().Objects }),
	counter("stored_bytes_total", "Bytes of these objects.", func(s *Service) int64 { return s.Stats().StoredBytes }),
	counter("commits_total", "Commits of offsets.", func(s *Service) int64 { return s.Stats().Commits }),
	counter("early_ends_total", "Epochs that ended before their boundary for want of memory.", func(s *Service) int64 { return s.Stats().EarlyEnds }),
	counter("fetch_waits_total", "Times that fetching waited for memory.", func(s *Service) int64 { return s.Stats().Waits }),
	gauge("unreadable_topics", "Topics that the brokers did not serve when they were last asked: missing, or not allowed.", func(s *Service) int64 { return s.unreadable.Load() }),
	gauge("open_objects", "Objects that are being written or stored.", func(s *Service) int64 { return s.Stats().OpenObjects }),
	gauge("in_flight_bytes", "Bytes of records and objects in flight.", func(s *Service) int64 { return s.Stats().InFlight }),
	gauge("in_flight_peak_bytes", "The most bytes that were in flight.", func(s *Service) int64 { return s.Stats().PeakInFlight }),
	gauge("in_flight_limit_bytes", "The limit of bytes in flight, beyond which nothing is fetched.", func(s *Service) int64 { return s.Stats().Limit }),
	counter("spilled_bytes_total", "Bytes of open objects that were moved to memory.spill_dir.", func(s *Service) int64 { return s.Stats().Spilled }),
	gauge("spill_bytes", "Bytes of the files in memory.spill_dir.", func(s *Service) int64 { return s.Stats().InSpill }),
	gauge("offheap_bytes", "Memory outside the Go heap, free blocks included.", func(*Service) int64 { return offHeap() }),
}

var (
	waited = prometheus.NewDesc("freehold_sink_fetch_waited_seconds_total", "Time that fetching waited for memory.", nil, nil)
	lag    = prometheus.NewDesc("freehold_sink_lag_records", "Records of a partition that were not handed out at the time of the last fetch.", []string{"topic", "partition"}, nil)
)

// Describe implements prometheus.Collector.
func (s *Service) Describe(to chan<- *prometheus.Desc) {
	for _, f := range figures {
		to <- f.desc
	}
	to <- waited
	to <- lag
}

// Collect implements prometheus.Collector.
func (s *Service) Collect(to chan<- prometheus.Metric) {
	for _, f := range figures {
		to <- prometheus.MustNewConstMetric(f.desc, f.kind, f.read(s))
	}
	to <- prometheus.MustNewConstMetric(waited, prometheus.CounterValue, s.Stats().Waited.Seconds())
	for p, n := range s.source.Lags() {
		to <- prometheus.MustNewConstMetric(lag, prometheus.GaugeValue, float64(n), p.Topic, strconv.Itoa(int(p.Number)))
	}
}

// offHeap is the memory outside the Go heap, free blocks included.
func offHeap() int64 {
	sum, _ := freehold.ReadTotals()
	return sum.InUse + sum.Retained
}
