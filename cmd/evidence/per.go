// SPDX-License-Identifier: Apache-2.0

package evidence

import "strings"

// A Per says how operations are counted, so that a report can show the cost of one. The zero value
// counts none.
type Per struct {
	// Counter is the name of a counter in /metrics or /debug/vars, as [Counter] reads it. Its growth
	// from the first to the second reading is the number of operations.
	Counter string
	// Number is the number of operations that the profiles cover, 0 if a counter counts them.
	Number float64
}

// A Work is a number of operations that the program did, and what they took by counters that were
// read at the same times. Values that the source lacks are 0.
type Work struct {
	// Name is the counter, or "operation".
	Name string
	// Count is the number of operations.
	Count float64
	// Seconds is the time between the two readings.
	Seconds float64
	// CPUSeconds, AllocBytes and AllocObjects are what the process took between them.
	CPUSeconds, AllocBytes, AllocObjects float64
}

// Names of a counter's readings among the metrics. They are apart from the runtime's values because
// these may have been read at other times.
const (
	perPrefix       = "/freehold/per/"
	perCounter      = perPrefix + "counter/" // the counter's name follows
	perAt           = perPrefix + "at:seconds"
	perCPU          = perPrefix + "cpu:seconds"
	perAllocBytes   = perPrefix + "allocs:bytes"
	perAllocObjects = perPrefix + "allocs:objects"
)

// SetReading notes that the counter of a name was read, with the other values of the same answer.
func (m *Metrics) SetReading(name string, v float64) {
	m.Set(perCounter+name, v)
	for from, to := range map[string]string{MetricProcessCPU: perCPU, MetricAllocBytes: perAllocBytes, MetricAllocObjects: perAllocObjects} {
		if v, ok := m.Get(from); ok {
			m.Set(to, v)
		}
	}
}

// SetReadAt notes the time of the reading, in seconds of any clock.
func (m *Metrics) SetReadAt(seconds float64) { m.Set(perAt, seconds) }

// Readings are the values of m that belong to the reading of a counter.
func (m Metrics) Readings() (list Metrics) {
	for name, v := range m.Values {
		if strings.HasPrefix(name, perPrefix) {
			list.Set(name, v)
		}
	}
	return list
}
