// SPDX-License-Identifier: Apache-2.0

package stack

import "testing"

func stackOf(fns ...string) (list []*Frame) {
	c := NewTable("")
	for _, fn := range fns {
		list = append(list, c.Frame(fn, "", 0))
	}
	return list
}

func TestPlace(t *testing.T) {
	for _, c := range []struct {
		name   string
		frames []*Frame
		want   Placement
	}{
		{"the program", stackOf("example.com/a.work", "main.main", "runtime.main"), Placement{Mutator, "", -1}},
		{"small object", stackOf("runtime.nextFreeFast", "runtime.mallocgcSmallScanNoHeader", "runtime.mallocgc", "runtime.newobject", "main.f"), Placement{Alloc, "runtime.newobject", 4}},
		{"specialised malloc", stackOf("runtime.mallocgcSmallScanNoHeaderSC3", "main.f"), Placement{Alloc, "runtime.mallocgcSmallScanNoHeaderSC3", 1}},
		{"zeroing", stackOf("runtime.memclrNoHeapPointers", "runtime.mallocgcLarge", "runtime.mallocgc", "runtime.makeslice", "main.f"), Placement{Zero, "runtime.makeslice", 4}},
		{"assist below the allocator", stackOf("runtime.scanobject", "runtime.gcDrainN", "runtime.gcAssistAlloc1", "runtime.gcAssistAlloc", "runtime.mallocgc", "main.f"), Placement{Assist, "runtime.mallocgc", 5}},
		{"sweep below the allocator", stackOf("runtime.(*sweepLocked).sweep", "runtime.(*mcentral).cacheSpan", "runtime.mallocgc", "main.f"), Placement{Sweep, "runtime.mallocgc", 3}},
		{"copying while a slice grows", stackOf("runtime.memmove", "runtime.growslice", "main.f"), Placement{Mutator, "runtime.growslice", 2}},
		{"worker", stackOf("runtime.scanobject", "runtime.gcDrain", "runtime.gcDrainMarkWorkerDedicated", "runtime.gcBgMarkWorker.func2", "runtime.systemstack", "runtime.gcBgMarkWorker"), Placement{Mark, "", -1}},
		{"worker on an idle P", stackOf("runtime.gcDrain", "runtime.gcDrainMarkWorkerIdle", "runtime.gcBgMarkWorker.func2"), Placement{MarkIdle, "", -1}},
		{"work under profiling labels", stackOf("main.work", "runtime/pprof.Do", "main.main"), Placement{Mutator, "", -1}},
		{"writing a profile", stackOf("compress/flate.(*compressor).deflate", "runtime/pprof.(*profileBuilder).flush", "runtime/pprof.profileWriter"), Placement{Profiler, "", -1}},
		{"the heap profiler", stackOf("runtime.callers", "runtime.mProf_Malloc", "runtime.profilealloc", "runtime.mallocgc", "main.f"), Placement{Profiler, "runtime.mallocgc", 4}},
	} {
		if got := Classify(c.frames); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// The folder of a major version is no name of a package.
func TestShortName(t *testing.T) {
	for fn, want := range map[string]string{
		"example.com/shop/v2.Compile":              "shop.Compile",
		"example.com/shop/v12/rules.(*Set).Add":    "rules.(*Set).Add",
		"gopkg.in/yaml%2ev3.Unmarshal":             "yaml.Unmarshal",
		"example.com/shop.Map[go.shape.uint64].At": "shop.Map.At",
		"main.main": "main.main",
	} {
		if got := ShortName(fn); got != want {
			t.Errorf("%s: %s, want %s", fn, got, want)
		}
	}
}
