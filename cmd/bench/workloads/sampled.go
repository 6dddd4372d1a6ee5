// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/offheap"
)

// The cost of sampling: the ways of freehold again, with the profile, and with guarded samples
// without a limit on their number in a second.

// profilePeriod is memprof.DefaultPeriod, in bytes.
const profilePeriod = 2 << 20

// sampled are the contestants with sampling beside the contestant base.
func sampled(base string, prepare func(*bench.Run) func() uint64) []bench.Contestant {
	return own(
		bench.Contestant{Name: base + ", memprof", Note: "the same with the samples of adapters/memprof, at its default period", Prepare: withProfile(prepare), FullOnly: true},
		bench.Contestant{Name: base + ", sample=1000", Note: "the same with one allocation in 1000 guarded", Prepare: prepare,
			Env: []string{"FREEHOLD=sample=1000"}, FullOnly: true},
		bench.Contestant{Name: base + ", sample=100000", Note: "the same with one in 100000", Prepare: prepare,
			Env: []string{"FREEHOLD=sample=100000"}, FullOnly: true},
	)
}

// sampledBars are the bars of sampling: profiled is the profile's limit, guarded that of one sample in 1000, 0 for none.
func sampledBars(workload, base string, profiled, guarded float64) []bench.Bar {
	bars := []bench.Bar{bench.AtMost(workload+", memprof by none", profiled, bench.TimeRatio(workload, 0, base+", memprof", base))}
	if guarded > 0 {
		bars = append(bars, bench.AtMost(workload+", sample=1000 by none", guarded, bench.TimeRatio(workload, 0, base+", sample=1000", base)))
	}
	return bars
}

func withProfile(prepare func(*bench.Run) func() uint64) func(*bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		old := offheap.SetSamplePeriod(profilePeriod)
		r.Cleanup(func() { offheap.SetSamplePeriod(old) })
		return prepare(r)
	}
}
