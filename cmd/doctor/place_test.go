package doctor

import "testing"

func stackOf(fns ...string) (list []*frame) {
	c := codeOf("")
	for _, fn := range fns {
		list = append(list, c.frame(fn, "", 0))
	}
	return list
}

func TestPlace(t *testing.T) {
	for _, c := range []struct {
		name   string
		frames []*frame
		want   placement
	}{
		{"the program", stackOf("example.com/a.work", "main.main", "runtime.main"), placement{classMutator, "", -1}},
		{"small object", stackOf("runtime.nextFreeFast", "runtime.mallocgcSmallScanNoHeader", "runtime.mallocgc", "runtime.newobject", "main.f"), placement{classAlloc, "runtime.newobject", 4}},
		{"specialised malloc", stackOf("runtime.mallocgcSmallScanNoHeaderSC3", "main.f"), placement{classAlloc, "runtime.mallocgcSmallScanNoHeaderSC3", 1}},
		{"zeroing", stackOf("runtime.memclrNoHeapPointers", "runtime.mallocgcLarge", "runtime.mallocgc", "runtime.makeslice", "main.f"), placement{classZero, "runtime.makeslice", 4}},
		{"assist below the allocator", stackOf("runtime.scanobject", "runtime.gcDrainN", "runtime.gcAssistAlloc1", "runtime.gcAssistAlloc", "runtime.mallocgc", "main.f"), placement{classAssist, "runtime.mallocgc", 5}},
		{"sweep below the allocator", stackOf("runtime.(*sweepLocked).sweep", "runtime.(*mcentral).cacheSpan", "runtime.mallocgc", "main.f"), placement{classSweep, "runtime.mallocgc", 3}},
		{"copying while a slice grows", stackOf("runtime.memmove", "runtime.growslice", "main.f"), placement{classMutator, "runtime.growslice", 2}},
		{"worker", stackOf("runtime.scanobject", "runtime.gcDrain", "runtime.gcDrainMarkWorkerDedicated", "runtime.gcBgMarkWorker.func2", "runtime.systemstack", "runtime.gcBgMarkWorker"), placement{classMark, "", -1}},
		{"worker on an idle P", stackOf("runtime.gcDrain", "runtime.gcDrainMarkWorkerIdle", "runtime.gcBgMarkWorker.func2"), placement{classMarkIdle, "", -1}},
		{"work under profiling labels", stackOf("main.work", "runtime/pprof.Do", "main.main"), placement{classMutator, "", -1}},
		{"writing a profile", stackOf("compress/flate.(*compressor).deflate", "runtime/pprof.(*profileBuilder).flush", "runtime/pprof.profileWriter"), placement{classProfiler, "", -1}},
		{"the heap profiler", stackOf("runtime.callers", "runtime.mProf_Malloc", "runtime.profilealloc", "runtime.mallocgc", "main.f"), placement{classProfiler, "runtime.mallocgc", 4}},
	} {
		if got := place(c.frames); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
