// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"sync/atomic"
	"time"
)

// counters are what Stats reads.
type counters struct {
	records, inputBytes, rejected, skipped atomic.Int64
	objects, storedBytes, openObjects      atomic.Int64
	commits, earlyEnds, waits, waited      atomic.Int64
	spilled                                atomic.Int64
}

// Stats are sums since the sink was made, and sizes of the moment. Each is right by itself; together they are not of one moment.
type Stats struct {
	Records    int64 // written to objects or rejected, durable or not
	InputBytes int64 // of their keys, values and headers
	Rejected   int64 // of Records, those that could not be written
	Skipped    int64 // of Records, those that the format leaves out

	Objects     int64 // stored
	StoredBytes int64 // of their content
	OpenObjects int64 // being written or stored now

	Commits   int64         // of offsets
	EarlyEnds int64         // epochs that ended before their boundary for want of memory
	Spilled   int64         // bytes of open objects that were moved to Options.Spill
	Waits     int64         // times that fetching waited for memory
	Waited    time.Duration // in all

	InFlight     int64 // bytes of records and objects in flight now
	PeakInFlight int64
	Limit        int64 // of bytes in flight
	InSpill      int64 // bytes of files in Options.Spill now
}
