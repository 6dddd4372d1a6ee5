// SPDX-License-Identifier: Apache-2.0

// Package profiletest makes profiles for tests from stacks that are written down.
package profiletest

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"golang.org/x/tools/txtar"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// A Fake makes profiles of stacks that are written down, innermost function first, separated by
// semicolons: "runtime.mallocgc;main.f;main.main".
type Fake struct {
	CPU, Heap *profile.Profile
	functions map[string]*profile.Location
}

// NewFake returns a Fake without a sample, whose profiles span ten seconds.
func NewFake() *Fake {
	types := func(pairs ...string) (list []*profile.ValueType) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, &profile.ValueType{Type: pairs[i], Unit: pairs[i+1]})
		}
		return list
	}
	return &Fake{
		CPU: &profile.Profile{
			SampleType: types("samples", "count", "cpu", "nanoseconds"), PeriodType: types("cpu", "nanoseconds")[0], Period: 10e6, DurationNanos: 10e9,
		},
		Heap: &profile.Profile{
			SampleType: types("alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "count", "inuse_space", "bytes"),
			PeriodType: types("space", "bytes")[0], Period: 512 << 10, TimeNanos: 1,
		},
		functions: map[string]*profile.Location{},
	}
}

// stack is a stack's locations in both profiles, which share them.
func (f *Fake) stack(text string) (list []*profile.Location) {
	for name := range strings.SplitSeq(text, ";") {
		loc := f.functions[name]
		if loc == nil {
			id := uint64(len(f.functions) + 1)
			pkg := stack.PackageOf(name)
			file := "/src/app/" + pkg + "/file.go"
			if first, _, _ := strings.Cut(pkg, "/"); !strings.Contains(first, ".") && pkg != "main" {
				file = "/usr/lib/go/src/" + pkg + "/file.go"
			}
			loc = &profile.Location{ID: id, Line: []profile.Line{{Function: &profile.Function{ID: id, Name: name, Filename: file}, Line: int64(10 * id)}}}
			f.functions[name] = loc
			for _, p := range []*profile.Profile{f.CPU, f.Heap} {
				p.Location = append(p.Location, loc)
				p.Function = append(p.Function, loc.Line[0].Function)
			}
		}
		list = append(list, loc)
	}
	return list
}

// Ran adds CPU time in samples of 10 ms.
func (f *Fake) Ran(stack string, samples int64) {
	f.CPU.Sample = append(f.CPU.Sample, &profile.Sample{Location: f.stack(stack), Value: []int64{samples, samples * f.CPU.Period}})
}

// Made adds memory of one size: objects allocated, and objects in use.
func (f *Fake) Made(stack string, size, objects, inuse int64) {
	f.Heap.Sample = append(f.Heap.Sample, &profile.Sample{
		Location: f.stack(stack), Value: []int64{objects, objects * size, inuse, inuse * size}, NumLabel: map[string][]int64{"bytes": {size}},
	})
}

// Written is a profile as a file.
func Written(t testing.TB, p *profile.Profile, compressed bool) []byte {
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

// Collector adds the collector's own work to the CPU profile: marking and sweeping in samples.
func (f *Fake) Collector(mark, sweep int64) {
	f.Ran("runtime.scanobject;runtime.gcDrain;runtime.gcDrainMarkWorkerDedicated;runtime.gcBgMarkWorker.func2;runtime.systemstack;runtime.gcBgMarkWorker", mark)
	f.Ran("runtime.(*sweepLocked).sweep;runtime.sweepone;runtime.bgsweep", sweep)
}

// Sums are a profile's totals by sample type.
func Sums(p *profile.Profile) []int64 {
	list := make([]int64, len(p.SampleType))
	for _, s := range p.Sample {
		for i, v := range s.Value {
			list[i] += v
		}
	}
	return list
}

// Unpack writes the files of an archive below a folder.
func Unpack(tb testing.TB, archive *txtar.Archive, root string) {
	tb.Helper()
	files, err := txtar.FS(archive)
	if err == nil {
		err = os.CopyFS(root, files)
	}
	if err != nil {
		tb.Fatal(err)
	}
}
