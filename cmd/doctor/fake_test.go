package doctor

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// A fake makes profiles of stacks that are written down, innermost function first, separated by semicolons: "runtime.mallocgc;main.f;main.main".
type fake struct {
	cpu, heap *profile.Profile
	functions map[string]*profile.Location
}

func newFake() *fake {
	types := func(pairs ...string) (list []*profile.ValueType) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, &profile.ValueType{Type: pairs[i], Unit: pairs[i+1]})
		}
		return list
	}
	return &fake{
		cpu: &profile.Profile{
			SampleType: types("samples", "count", "cpu", "nanoseconds"), PeriodType: types("cpu", "nanoseconds")[0], Period: 10e6, DurationNanos: 10e9,
		},
		heap: &profile.Profile{
			SampleType: types("alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "count", "inuse_space", "bytes"),
			PeriodType: types("space", "bytes")[0], Period: 512 << 10, TimeNanos: 1,
		},
		functions: map[string]*profile.Location{},
	}
}

// stack is a stack's locations in both profiles, which share them.
func (f *fake) stack(text string) (list []*profile.Location) {
	for name := range strings.SplitSeq(text, ";") {
		loc := f.functions[name]
		if loc == nil {
			id := uint64(len(f.functions) + 1)
			pkg := packageOf(name)
			file := "/src/app/" + pkg + "/file.go"
			if first, _, _ := strings.Cut(pkg, "/"); !strings.Contains(first, ".") && pkg != "main" {
				file = "/usr/lib/go/src/" + pkg + "/file.go"
			}
			loc = &profile.Location{ID: id, Line: []profile.Line{{Function: &profile.Function{ID: id, Name: name, Filename: file}, Line: int64(10 * id)}}}
			f.functions[name] = loc
			for _, p := range []*profile.Profile{f.cpu, f.heap} {
				p.Location = append(p.Location, loc)
				p.Function = append(p.Function, loc.Line[0].Function)
			}
		}
		list = append(list, loc)
	}
	return list
}

// ran adds CPU time in samples of 10 ms.
func (f *fake) ran(stack string, samples int64) {
	f.cpu.Sample = append(f.cpu.Sample, &profile.Sample{Location: f.stack(stack), Value: []int64{samples, samples * f.cpu.Period}})
}

// made adds memory of one size: objects allocated, and objects in use.
func (f *fake) made(stack string, size, objects, inuse int64) {
	f.heap.Sample = append(f.heap.Sample, &profile.Sample{
		Location: f.stack(stack), Value: []int64{objects, objects * size, inuse, inuse * size}, NumLabel: map[string][]int64{"bytes": {size}},
	})
}

// evidence is what was added, over ten seconds from an empty heap profile on.
func (f *fake) evidence() *Evidence {
	before := &profile.Profile{SampleType: f.heap.SampleType, PeriodType: f.heap.PeriodType, Period: f.heap.Period, TimeNanos: 1}
	f.heap.TimeNanos = 10e9 + 1
	return &Evidence{Source: "a fake", CPU: f.cpu, Heap: [2]*profile.Profile{before, f.heap}}
}

// written is a profile as a file.
func written(t *testing.T, p *profile.Profile, compressed bool) []byte {
	t.Helper()
	var b bytes.Buffer
	write := p.WriteUncompressed
	if compressed {
		write = p.Write
	}
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// collector adds the collector's own work to the CPU profile: marking and sweeping in samples.
func (f *fake) collector(mark, sweep int64) {
	f.ran("runtime.scanobject;runtime.gcDrain;runtime.gcDrainMarkWorkerDedicated;runtime.gcBgMarkWorker.func2;runtime.systemstack;runtime.gcBgMarkWorker", mark)
	f.ran("runtime.(*sweepLocked).sweep;runtime.sweepone;runtime.bgsweep", sweep)
}

// with adds values of the runtime to an evidence of a program that began with the window.
func (e *Evidence) with(values map[string]float64) *Evidence {
	e.Metrics[1].Set(MetricUptime, 10)
	for name, v := range values {
		e.Metrics[1].Set(name, v)
	}
	return e
}
