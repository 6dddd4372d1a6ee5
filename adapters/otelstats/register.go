// SPDX-License-Identifier: Apache-2.0

package otelstats

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/metric"
)

// scope is the instrumentation scope of the metrics.
const scope = "github.com/freehold-go/freehold/adapters/otelstats"

// Register makes the instruments on a meter of the provider, usually otel.GetMeterProvider(), and
// observes the figures of the whole process at each collection, until Unregister of the result.
// Register once for each provider: OpenTelemetry adds up what two registrations observe. A
// collection takes some microseconds, and 0.1 µs more for each arena. The error is the provider's;
// a nil provider is an error, too.
//
//	freehold.in_use{package}             By   allocated and not yet freed
//	freehold.retained{package}           By   freed, kept for the next allocation, still taking memory
//	freehold.purged{package}             By   freed and returned to the system; only address space
//	freehold.reserved{package}           By   address space that blocks have ever used: the sum of these three
//	freehold.go_memory_limit             By   GOMEMLIMIT as the user set it; absent if there is none
//	freehold.mode{mode}                       1 if a mode of the variable FREEHOLD is in force, else 0
//	freehold.offheap.held                By   slabs and large blocks in use at least in part
//	freehold.offheap.metadata            By   the allocator's own records
//	freehold.offheap.limit               By   set by offheap.SetLimit; absent if there is none
//	freehold.locals_dropped                   counts Locals of offheap that the program dropped without Close
//	freehold.purpose.in_use{purpose}     By   allocated on the account of a purpose
//	freehold.purpose.held{purpose}       By   in slabs and large blocks of a purpose
//	freehold.purpose.limit{purpose}      By   set by Purpose.SetLimit; absent if there is none
//	freehold.arenas                           arenas that are not freed
//	freehold.arena.held{memory}          By   in their chunks, "go" on the Go heap, "offheap" off it
//	freehold.arena.retained              By   kept by pools and by the store for the next arenas
//	freehold.arenas_leaked                    off-heap arenas that were dropped without Free
//	freehold.arena.leaked                By   memory of the leaked arenas
//	freehold.arenas_forgotten                 counts arenas on Go memory that the collector took without Free
//	freehold.debug_blocks                     known to the debug modes, with their stack
//	freehold.guarded_blocks{state}            on guarded pages, "live" or, in quarantine, "freed"
//	freehold.guarded                     By   pages of both
//	freehold.unguarded_allocations            counts allocations without guarded pages, beyond a budget
//	freehold.samples_skipped                  counts samples not guarded, beyond their rate or the arenas' part of a budget
//	freehold.unknown_blocks                   counts blocks beyond the number that the debug modes can know
//	freehold.lost_stacks                      counts stacks beyond the number that the debug modes can keep
//
// While a tuner of [gctune] runs there are more metrics; [gctune.Decision] and [gctune.Stats]
// describe them:
//
//	freehold.gctune.total                By   the limit that the tuner keeps; absent if there is none, as are the next two
//	freehold.gctune.limit                By   GOMEMLIMIT
//	freehold.gctune.room                 By   the rest of GOMEMLIMIT for the heap
//	freehold.gctune.headroom             By   left free
//	freehold.gctune.squeezed             By   left free besides, while work waits for memory
//	freehold.gctune.other                By   neither Go's nor freehold's
//	freehold.gctune.runtime              By   Go's memory beside the heap
//	freehold.gctune.live                 By   the live heap of the last collection
//	freehold.gctune.wanted               By   the limit at which the state would be ample; absent if it is
//	freehold.gctune.gogc                 %    GOGC; -1 is off
//	freehold.gctune.gc_cpu               1    the collector's part of CPU since the last measurement, from 0 to 1
//	freehold.gctune.state{state}              1 for the present state of ample, tight and thrashing, else 0
//	freehold.gctune.pressure{tasks}      %    of the last ten seconds in which "some" or all ("full") tasks waited for memory; absent if unknown
//	freehold.gctune.looks                     counts measurements, each with a decision
//	freehold.gctune.limit_changes             counts measurements after which GOMEMLIMIT differed from the one before
//	freehold.gctune.errors                    counts measurements that could not read a limit
//	freehold.gctune.thrashing_looks           counts measurements in the state thrashing
//
// Freehold's memory of the machine is the sum of in_use and retained. Off-heap arenas take their
// chunks from package offheap, so memory="offheap" is a part of the bytes in use of
// package="offheap". With the kill switch (FREEHOLD=heap) Go counts all bytes, and the first four
// are zero.
//
// A collection freezes the modes, as an allocation does: call freehold.Configure before. A purpose or
// package whose name is not valid UTF-8 appears quoted as a Go string.
//
// [gctune]: https://pkg.go.dev/github.com/freehold-go/freehold/gctune
// [gctune.Decision]: https://pkg.go.dev/github.com/freehold-go/freehold/gctune#Decision
// [gctune.Stats]: https://pkg.go.dev/github.com/freehold-go/freehold/gctune#Stats
func Register(provider metric.MeterProvider) (metric.Registration, error) {
	return registerWith(provider, "Register", func(m *maker) func(observer) { return newFigures(m).observe })
}

// registerWith makes instruments, and calls the function that observes them at each collection.
func registerWith(provider metric.MeterProvider, by string, instruments func(*maker) func(observer)) (metric.Registration, error) {
	if provider == nil {
		return nil, fmt.Errorf("otelstats: %s: no MeterProvider: pass otel.GetMeterProvider()", by)
	}
	m := maker{meter: provider.Meter(scope)}
	observe := instruments(&m)
	if m.err != nil {
		return nil, fmt.Errorf("otelstats: %w", m.err)
	}
	r, err := m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		observe(observer{o})
		return nil
	}, m.made...)
	if err != nil {
		return nil, fmt.Errorf("otelstats: %w", err)
	}
	return r, nil
}
