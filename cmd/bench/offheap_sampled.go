package bench

import "github.com/freehold-go/freehold/memprof"

// What sampling costs: the ways of freehold again, with the profile, and with guarded samples without a bound of their number
// in a second. What the hooks cost while they are off takes two builds: see the tag freehold_nohooks in benchmarks/README.md.

func init() { memprof.SetPeriod(0) } // Importing the package has switched it on, for every contestant.

// addSampled adds them to a workload, beside the contestant offheap, and bars for those that have one. The profile's bar is
// the first limit, that of one sample in 1000 the second, 0 for none.
func addSampled(workload string, n int, base string, prepare func(*Run) func() uint64, profiled, guarded float64) {
	addOwn(workload,
		Contestant{Name: base + ", memprof", Note: "the same with the profile on, at its default period", Prepare: withProfile(prepare), FullOnly: true},
		Contestant{Name: base + ", sample=1000", Note: "the same with one allocation in 1000 guarded", Prepare: prepare,
			Env: []string{"FREEHOLD=sample=1000,samplerate=0"}, FullOnly: true},
		Contestant{Name: base + ", sample=100000", Note: "the same with one in 100000", Prepare: prepare,
			Env: []string{"FREEHOLD=sample=100000,samplerate=0"}, FullOnly: true},
	)
	AddBar(Bar{workload + ", memprof by none", profiled, TimeRatio(workload, n, base+", memprof", base)})
	if guarded > 0 {
		AddBar(Bar{workload + ", sample=1000 by none", guarded, TimeRatio(workload, n, base+", sample=1000", base)})
	}
}

func withProfile(prepare func(*Run) func() uint64) func(*Run) func() uint64 {
	return func(r *Run) func() uint64 {
		old := memprof.SetPeriod(memprof.DefaultPeriod)
		r.Cleanup(func() { memprof.SetPeriod(old) })
		return prepare(r)
	}
}
