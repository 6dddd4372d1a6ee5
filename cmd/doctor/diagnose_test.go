// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold/cmd/evidence"
)

const newSmall = "runtime.mallocgcSmallScanNoHeader;runtime.mallocgc;runtime.newobject;"

// patterns are programs with a cost, and each the same program without its cause.
var patterns = []struct {
	id     string
	before func(f *fake) map[string]float64
	after  func(f *fake) map[string]float64
}{
	{"short-lived-objects", func(f *fake) map[string]float64 {
		f.Ran("main.use;main.handle;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve", 500)
		f.Ran(newSmall+"main.tree#node;main.tree#left;main.handle#tree;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve", 200)
		f.Ran(newSmall+"main.list#item;main.handle#list;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve", 100)
		f.Collector(100, 50)
		f.Made("main.tree#node;main.tree#left;main.handle#tree;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve", 32, 50_000_000, 100)
		f.Made("main.list#item;main.handle#list;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve", 64, 10_000_000, 100)
		return nil
	}, func(f *fake) map[string]float64 {
		f.Ran("main.use;main.handle;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve", 500)
		f.Made("main.tree#node;main.tree#left;main.handle#tree;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve", 32, 1000, 100)
		return nil
	}},
	{"recycled-type", func(f *fake) map[string]float64 {
		f.Ran("main.use;main.main", 500)
		f.Ran(newSmall+"main.newState;main.main", 100)
		f.Ran("runtime.memclrNoHeapPointers;runtime.mallocgc;runtime.newobject;main.newState;main.main", 50)
		f.Collector(100, 50)
		f.Made("main.newState;main.main", 2048, 1_000_000, 3)
		return nil
	}, func(f *fake) map[string]float64 {
		f.Ran("main.use;main.main", 500)
		f.Made("main.newState;main.main", 2048, 8, 3)
		return nil
	}},
	{"large-buffers", func(f *fake) map[string]float64 {
		f.Ran("main.use;main.main", 500)
		f.Ran("runtime.memclrNoHeapPointers;runtime.mallocgcLarge;runtime.mallocgc;runtime.makeslice;main.read;main.main", 200)
		f.Collector(50, 50)
		f.Made("main.read;main.main", 64<<10, 100_000, 2)
		return nil
	}, func(f *fake) map[string]float64 {
		f.Ran("main.use;main.main", 500)
		f.Made("main.read;main.main", 64<<10, 2, 2)
		return nil
	}},
	{"long-lived-pointers", func(f *fake) map[string]float64 {
		f.Ran("main.use;main.main", 500)
		f.Ran(newSmall+"example.com/codec.Decode;main.main", 30)
		f.Collector(300, 20)
		f.Made("main.fill;main.main", 64, 0, 2_000_000)
		f.Made("example.com/codec.Decode;main.main", 128, 8_000_000, 0)
		return map[string]float64{evidence.MetricLiveHeap: 128e6, evidence.MetricScanHeap: 128e6, evidence.MetricHeapInUse: 128e6, evidence.MetricScanStack: 1e5, evidence.MetricCyclesTotal: 8}
	}, func(f *fake) map[string]float64 { // the cache is gone, the garbage is not
		f.Ran("main.use;main.main", 500)
		f.Ran(newSmall+"example.com/codec.Decode;main.main", 30)
		f.Collector(3, 20)
		f.Made("main.fill;main.main", 64, 0, 2000)
		f.Made("example.com/codec.Decode;main.main", 128, 8_000_000, 0)
		return map[string]float64{evidence.MetricLiveHeap: 128e6, evidence.MetricScanHeap: 128e3, evidence.MetricHeapInUse: 128e6, evidence.MetricScanStack: 1e5, evidence.MetricCyclesTotal: 8}
	}},
	{"pointer-free-ballast", func(f *fake) map[string]float64 {
		f.Ran("main.use;main.main", 500)
		f.Ran(newSmall+"main.list;main.main", 50)
		f.Collector(50, 5)
		f.Made("main.read;main.load;main.main", 200<<20, 0, 1)
		f.Made("main.keep;main.load;main.main", 64, 0, 400_000) // beside it, under the same function
		f.Made("main.list;main.main", 64, 50_000_000, 0)
		return map[string]float64{evidence.MetricLiveHeap: 240e6, evidence.MetricScanHeap: 26e6, evidence.MetricHeapInUse: 240e6, evidence.MetricScanStack: 1e5, evidence.MetricCyclesTotal: 12}
	}, func(f *fake) map[string]float64 {
		f.Ran("main.use;main.main", 500)
		f.Ran(newSmall+"main.list;main.main", 50)
		f.Collector(50, 5)
		f.Made("main.keep;main.main", 64, 0, 4_000_000)
		f.Made("main.list;main.main", 64, 50_000_000, 0)
		return map[string]float64{evidence.MetricLiveHeap: 256e6, evidence.MetricScanHeap: 256e6, evidence.MetricHeapInUse: 256e6, evidence.MetricScanStack: 1e5, evidence.MetricCyclesTotal: 12}
	}},
	{"gc-too-often", func(f *fake) map[string]float64 {
		f.Ran("main.use;main.main", 500)
		f.Collector(300, 20)
		return map[string]float64{evidence.MetricGOGC: 20, evidence.MetricLiveHeap: 100e6, evidence.MetricHeapGoal: 120e6, evidence.MetricCyclesTotal: 100}
	}, func(f *fake) map[string]float64 {
		f.Ran("main.use;main.main", 500)
		f.Collector(15, 20)
		return map[string]float64{evidence.MetricGOGC: 100, evidence.MetricLiveHeap: 100e6, evidence.MetricHeapGoal: 200e6, evidence.MetricCyclesTotal: 20}
	}},
	{"limit-thrash", func(f *fake) map[string]float64 {
		f.Ran("main.use;main.main", 300)
		f.Collector(600, 20)
		return map[string]float64{evidence.MetricGOGC: -1, evidence.MetricMemoryLimit: 130e6, evidence.MetricLiveHeap: 100e6, evidence.MetricHeapGoal: 110e6, evidence.MetricCyclesTotal: 500, evidence.MetricAllocBytes: 4e9}
	}, func(f *fake) map[string]float64 {
		f.Ran("main.use;main.main", 300)
		f.Collector(10, 3)
		return map[string]float64{evidence.MetricGOGC: -1, evidence.MetricMemoryLimit: 300e6, evidence.MetricLiveHeap: 100e6, evidence.MetricHeapGoal: 270e6, evidence.MetricCyclesTotal: 25, evidence.MetricAllocBytes: 4e9}
	}},
	{"profiler-cost", func(f *fake) map[string]float64 {
		f.Ran("main.use;main.main", 500)
		f.Ran("runtime.callers;runtime.mProf_Malloc;runtime.profilealloc;runtime.mallocgc;runtime.newobject;main.f;main.main", 200)
		return map[string]float64{evidence.MetricMemProfileRate: 1}
	}, func(f *fake) map[string]float64 {
		f.Ran("main.use;main.main", 500)
		f.Ran("runtime.callers;runtime.mProf_Malloc;runtime.profilealloc;runtime.mallocgc;runtime.newobject;main.f;main.main", 1)
		return map[string]float64{evidence.MetricMemProfileRate: 512 << 10}
	}},
}

func TestPatterns(t *testing.T) {
	for _, c := range patterns {
		t.Run(c.id, func(t *testing.T) {
			f := newFake()
			values := c.before(f)
			f.locate(t, treesText)
			r := Diagnose(t.Context(), with(f.evidence(), values))
			found := findingOf(r, c.id)
			if found == nil {
				t.Fatalf("not found; %s", list(r))
			}
			warning := c.id == "pointer-free-ballast"
			if !warning && !slices.ContainsFunc(r.First, func(v Advice) bool { return v.Finding == c.id }) {
				t.Errorf("it is not among the first lines %+v; %s", r.First, list(r))
			}
			if warning != (found.Gain.SameGOGC < 0) {
				t.Errorf("the gain is %+v", found.Gain)
			}
			if found.Detail == "" || found.Remedy.Text == "" || found.Remedy.Snippet == "" || len(found.Check) == 0 || len(found.Evidence) == 0 {
				t.Errorf("incomplete: %+v", found)
			}
			if !warning && (r.WinnableShare < found.Gain.Best()-1e-9 || r.WinnableShare > 1) {
				t.Errorf("%.3f can be won, and the finding alone gains %.3f", r.WinnableShare, found.Gain.Best())
			}

			f = newFake()
			values = c.after(f)
			f.locate(t, treesText)
			r = Diagnose(t.Context(), with(f.evidence(), values))
			if findingOf(r, c.id) != nil {
				t.Errorf("found without its cause; %s", list(r))
			}
		})
	}
}

func findingOf(r *Report, id string) *Finding {
	for i := range r.Findings {
		if r.Findings[i].ID == id {
			return &r.Findings[i]
		}
	}
	return nil
}

func list(r *Report) string {
	var b strings.Builder
	b.WriteString(r.Verdict)
	for _, f := range r.Findings {
		b.WriteString("\n\t" + f.ID + ": " + f.Detail)
	}
	return b.String()
}

// Where memory costs nothing, nothing is found, and the verdict names what takes the time.
func TestElsewhere(t *testing.T) {
	for _, c := range []struct {
		name, want string
		do         func(f *fake)
	}{
		{"work", "50 % of it into main.hash", func(f *fake) {
			f.Ran("main.hash;main.main", 500)
			f.Ran("main.read;main.main", 300)
			f.Ran("main.write;main.main", 200)
		}},
		{"system calls", "goes into system calls, most of it for main.store", func(f *fake) {
			f.Ran("main.hash;main.main", 100)
			f.Ran("internal/runtime/syscall.Syscall6;syscall.RawSyscall6;syscall.write;os.(*File).Write;main.store;main.main", 600)
		}},
		{"locks", "goes into locks, most of it for main.count", func(f *fake) {
			f.Ran("main.hash;main.main", 100)
			f.Ran("runtime.procyield;sync.(*Mutex).lockSlow;sync.(*Mutex).Lock;main.count;main.main", 600)
		}},
		{"cgo", "goes into cgo and C code, most of it for main.compress", func(f *fake) {
			f.Ran("main.hash;main.main", 100)
			f.Ran("runtime.cgocall;main._Cfunc_compress;main.compress;main.main", 600)
		}},
		{"idle", "the program is idle: it used 1.0 % of one processor", func(f *fake) {
			f.Ran("runtime.futex;runtime.findRunnable;runtime.schedule;runtime.park_m;runtime.mcall", 7)
			f.Ran("runtime.mallocgc;runtime.newobject;main.main", 3)
		}},
		{"nothing at all", "the program is idle", func(*fake) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake()
			c.do(f)
			f.Made("main.main", 1<<20, 1, 1)
			r := Diagnose(t.Context(), f.evidence())
			if len(r.Findings) != 1 || r.Findings[0].ID != "not-gc" || r.WinnableShare != 0 {
				t.Errorf("found: %s", list(r))
			}
			if !strings.HasPrefix(r.Verdict, "GC is not your problem: ") || !strings.Contains(r.Verdict, c.want) {
				t.Errorf("%q, want %q in it", r.Verdict, c.want)
			}
		})
	}
}

func TestVerdict(t *testing.T) {
	f := newFake()
	f.Ran("main.use;main.handle;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve", 690)
	f.Ran(newSmall+"main.list#item;main.handle#list;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve", 200)
	f.Collector(100, 10)
	f.Made("main.list#item;main.handle#list;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve", 32, 50_000_000, 100)
	f.locate(t, treesText)
	r := Diagnose(t.Context(), f.evidence())
	if want := "Collection and allocation take 31 % of CPU; with the work that allocates, at most 33 % can be won back; one site causes 100 % of that cost."; r.Verdict != want {
		t.Errorf("%q, want %q", r.Verdict, want)
	}
	if r.Confidence != Medium {
		t.Errorf("confidence %s without metrics, want medium", r.Confidence)
	}
	if r := Diagnose(t.Context(), &evidence.Evidence{}); r.Confidence != None || r.Verdict != "The cost is unknown: there is no CPU profile." {
		t.Errorf("of nothing: %s, %q", r.Confidence, r.Verdict)
	}
}

// Where memory costs much and no change of it wins much, the verdict says so and names the function
// that takes the time. So it does where memory costs little and a finding wins a part of that.
func TestVerdictElsewhere(t *testing.T) {
	for _, c := range []struct {
		name       string
		alloc, won float64
		want       string
	}{
		{"no remedy", 0.2, 0.015, "Collection and allocation take 20 % of CPU, but the doctor knows no remedy: no setting, no reuse of memory and no other layout of the data saves as much as 5.0 % of CPU; the CPU goes into the program's own work, 100 % of it into main.hash."},
		{"little in a library", 0.04, 0.015, "GC is not your problem: collection and allocation take 4.0 % of CPU, and at most 1.5 % can be won back; the CPU goes into the program's own work, 100 % of it into main.hash."},
		{"a good remedy", 0.06, 0.055, "Collection and allocation take 6.0 % of CPU; at most 5.5 % can be won back."},
	} {
		f := newFake()
		f.Ran("main.hash;main.main", 1000)
		a := newAccount(f.evidence())
		if got := a.verdict(&Report{AllocShare: c.alloc, WinnableShare: c.won, Confidence: Medium}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestLittleWon wants the place of the CPU time in the line about the code where all changes together
// win little; they are information then.
func TestLittleWon(t *testing.T) {
	f := newFake()
	f.Ran("main.hash;main.main", 9700)
	f.Ran("runtime.mallocgc;runtime.newobject;main.tree#node;main.tree#left;main.main#round", 200)
	f.Made("main.tree#node;main.tree#left;main.main#round", 48, 1_000_000, 0)
	f.locate(t, treesText)
	r := Diagnose(t.Context(), f.evidence())
	if r.WinnableShare < minGain || r.WinnableShare >= littleWon || len(r.Findings) < 2 {
		t.Fatalf("%v, %d findings: this must test small ones", r.WinnableShare, len(r.Findings))
	}
	for _, v := range r.First {
		if v.Finding != "" || v.Part == InCode && !strings.Contains(v.Text, "main.hash") {
			t.Errorf("the lines are %+v", r.First)
		}
	}
	for _, f := range r.Findings {
		if f.Severity != SeverityInfo {
			t.Errorf("%s is %s", f.ID, f.Severity)
		}
	}
}

// TestCommand wants no arena and nothing about long-lived data where only the last heap profile of a
// command tells how long data lives.
func TestCommand(t *testing.T) {
	for _, command := range []bool{false, true} {
		f := newFake()
		f.Ran("main.use;main.main", 500)
		f.Collector(300, 0)
		f.Ran("runtime.mallocgc;runtime.newobject;main.tree#node;main.tree#left;main.main#round", 200)
		f.Made("main.tree#node;main.tree#left;main.main#round", 48, 10_000_000, 0)
		made := int64(0)
		if command {
			made = 2_000_000
		}
		f.Made("main.load;main.main", 64, made, 2_000_000)
		f.locate(t, treesText)
		e := f.evidence()
		for _, name := range []string{evidence.MetricLiveHeap, evidence.MetricScanHeap, evidence.MetricHeapInUse} {
			e.Metrics[1].Set(name, 128e6)
		}
		e.Metrics[1].Set(evidence.MetricCyclesTotal, 8)
		e.Main = "example.com/shop"
		if command {
			e.Heap[0] = nil
		}
		has := map[string]bool{}
		for _, found := range Diagnose(t.Context(), e).Findings {
			has[found.ID] = true
		}
		if has["short-lived-objects"] == command || has[hotPathID] != command || has[longLivedID] == command {
			t.Errorf("command %v: %v", command, has)
		}
	}
}

// Places are all sites of a finding, the most expensive first, with their bytes and CPU.
func TestPlaces(t *testing.T) {
	f := newFake()
	for i, samples := range []int64{10, 300, 50} {
		stack := fmt.Sprintf("main.make%d;main.handle;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve", i)
		f.Ran(newSmall+stack, samples)
		f.Made(stack, 32, 1_000_000*samples, 10)
	}
	a := newAccount(f.evidence())
	list := a.finding(a.sites, Gain{}).Places
	if len(list) != 3 || list[0].Site.Func != "main.make1" || list[2].Site.Func != "main.make0" {
		t.Fatalf("the places are %+v", list)
	}
	if rate := 300 * 32e6 / a.window.Seconds(); math.Abs(list[0].AllocBytesPerSecond/rate-1) > 0.01 || list[0].CPUShare < 0.5 {
		t.Errorf("%+v; want %.0f bytes a second", list[0], rate)
	}
	if none := a.finding(nil, Gain{}).Places; none == nil || len(none) != 0 {
		t.Errorf("a finding about the whole program has the places %#v, want an empty list in JSON", none)
	}
}

// Without a profile of CPU time no place can be named, but that is not to say that there is none.
func TestUnprofiled(t *testing.T) {
	cycle := evidence.GCCycle{Number: 1, At: time.Second, CPUBackground: 300 * time.Millisecond, Live: 100e6, Goal: 120e6, Procs: 2}
	traced := &evidence.Evidence{Trace: &evidence.GCTrace{Cycles: []evidence.GCCycle{cycle}}}
	for _, c := range []struct {
		name, verdict, findings string
		e                       *evidence.Evidence
		values                  map[string]float64
	}{
		{"metrics", "Collections take 44 % of CPU by the runtime's own figures. Pass a CPU profile to see which lines cause it.", "",
			&evidence.Evidence{}, map[string]float64{evidence.MetricCPUUser: 56, evidence.MetricCPUGC: 44}},
		{"trace", "Collections take 30 % of CPU by the runtime's own figures; the findings could win back 22 %. Pass a CPU profile to see which lines cause it.", "gc-too-often",
			traced, map[string]float64{evidence.MetricProcessCPU: 1}},
		{"little", "GC is not your problem: collections take 0.5 % of CPU by the runtime's own figures. Pass a CPU profile to see the cost of allocation.", "",
			&evidence.Evidence{}, map[string]float64{evidence.MetricCPUUser: 99.5, evidence.MetricCPUGC: 0.5}},
		{"a setting", "Collections take 30 % of CPU by the runtime's own figures; the findings could win back 22 %. Pass a CPU profile to see which lines cause it.", "gc-too-often",
			traced, map[string]float64{evidence.MetricProcessCPU: 1, evidence.MetricGOGC: 20}},
		{"more than there is", "The collector's share of the CPU is unknown: it took 300 ms by the trace, which counts elapsed time, and the whole process took 100 ms of CPU time. " +
			"Pass a CPU profile to see the share, and the lines that cause it.", "", traced, map[string]float64{evidence.MetricProcessCPU: 0.1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.e.Metrics = [2]evidence.Metrics{}
			r := Diagnose(t.Context(), with(c.e, c.values))
			if r.Verdict != c.verdict {
				t.Errorf("the verdict is %q, want %q", r.Verdict, c.verdict)
			}
			var found []string
			for _, f := range r.Findings {
				found = append(found, f.ID)
			}
			if got := strings.Join(found, " "); got != c.findings || r.Confidence != Low || r.Missing[0].What != "CPU profile" {
				t.Errorf("found %q, want %q; confidence %s, missing %+v", got, c.findings, r.Confidence, r.Missing)
			}
		})
	}
}

// A program's functions that allocate in one package under one call are one group, whatever
// recursion does, and main is no unit of work.
func TestGroups(t *testing.T) {
	f := newFake()
	f.Made("main.node;main.build;main.build;main.handle;main.serve;main.main", 32, 1000, 0)
	f.Made("main.leaf;main.build;main.handle;main.serve;main.main", 32, 1000, 0)
	f.Made("example.com/log.Line;main.audit;main.main", 32, 1000, 0)
	a := newAccount(f.evidence())
	groups := a.groups(a.sites, func(s *site) float64 { return s.allocBytes }, 1)
	if len(groups) != 2 {
		t.Fatalf("%d groups, want 2", len(groups))
	}
	if g := groups[0]; len(g.sites) != 2 || g.scope.Func != "main.build" {
		t.Errorf("%d sites under %s, want 2 under main.build", len(g.sites), g.scope.Func)
	}
	if g := groups[1]; len(g.sites) != 1 || g.sites[0].owner.Func != "example.com/log.Line" {
		t.Errorf("the second group is %s of %s", g.sites[0].at.Func, g.sites[0].owner.Func)
	}
}
