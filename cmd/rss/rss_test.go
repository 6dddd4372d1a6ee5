// SPDX-License-Identifier: Apache-2.0

package rss

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/pprof/profile"
)

// fakeProc makes a folder like /proc with process 7, whose files are given, and returns options for it.
func fakeProc(t *testing.T, files map[string]string) Options {
	t.Helper()
	root := t.TempDir()
	all := map[string]string{"proc/self/status": "", "proc/7/cmdline": "/app/server\x00-v\x00", "proc/7/status": "Name:\tserver\nUid:\t5\t5\t5\t5\nVmRSS:\t 100 kB\nRssAnon:\t 40 kB\nNSpid:\t7\n"}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if text == "-" { // none
			continue
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Options{PID: 7, Proc: filepath.Join(root, "proc"), Groups: filepath.Join(root, "groups")}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestLayout: smaps of one program, as recorded on a kernel without names, and with the names added that Go 1.27 and freehold give their
// memory, which other kernels show.
func TestLayout(t *testing.T) {
	for _, file := range []string{"smaps-named.txt", "smaps-unnamed.txt"} {
		list, err := parseSmaps([]byte(readFile(t, "testdata/"+file)))
		if err != nil {
			t.Fatal(err)
		}
		l := layoutOf(list, "/app/server")
		runtime, program := l.divide(-1)
		sum := l.heap + l.runtime + l.offheap + l.brk + l.arenas + l.stacks + l.other + l.binary + l.shared + l.mapped() + runtime + program
		if sum != l.rss {
			t.Errorf("%s: the kinds add up to %d, want %d: %+v", file, sum, l.rss, l)
		}
		const kib = 1 << 10
		if named := file == "smaps-named.txt"; l.named != named {
			t.Errorf("%s: named is %t", file, l.named)
		}
		if l.heap != 996*kib || l.brk != 8*kib || l.arenas != 16*kib || l.nArenas != 4 || l.nStacks != 4 || len(l.libraries) != 2 {
			t.Errorf("%s: %+v", file, l)
		}
		const blocks = (16384 + 180224) * kib
		if l.offheap < blocks || l.offheap > blocks+256*kib {
			t.Errorf("%s: %d bytes off the heap, want %d and the page map", file, l.offheap, blocks)
		}
		if got := l.runtime + runtime; got < 50*kib || got > 700*kib {
			t.Errorf("%s: the runtime has %d", file, got)
		}
		if program != 0 || l.other > 20*kib {
			t.Errorf("%s: %d and %d bytes are of no owner", file, program, l.other)
		}
	}
}

func TestParseSmaps(t *testing.T) {
	list, err := parseSmaps([]byte("00400000-00402000 r-xp 00000000 fe:00 1 /a b (deleted)\nRss: 8 kB\nSwap: 4 kB\nVmFlags: rd\nFuture: x\n"))
	if err != nil || len(list) != 1 || list[0].name != "/a b (deleted)" || list[0].rss != 8<<10 || list[0].swap != 4<<10 || list[0].size() != 2<<12 {
		t.Errorf("%+v, %v", list, err)
	}
	for _, bad := range []string{"zz-00 r-xp 0 0 0\n", "1-2 r 0 0 0\n", "1-2\n", "1-2 rw-p 0 0 0\nRss: many kB\n", "garbage and more\n"} {
		if list, err := parseSmaps([]byte(bad)); err == nil {
			t.Errorf("%q is %+v", bad, list)
		}
	}
}

// TestDivide: with the runtime's figures it gets what it took; without them small mappings are its own, up to a bound.
func TestDivide(t *testing.T) {
	l := &layout{runtime: 1 << 20, unknown: []int64{1 << 20, 2 << 20, 100 << 20}}
	for estimate, want := range map[int64]int64{-1: 3 << 20, 0: 0, 5 << 20: 4 << 20, 1 << 30: 103 << 20} {
		if got, rest := l.divide(estimate); got != want || got+rest != 103<<20 {
			t.Errorf("estimate %d: the runtime has %d and the program %d, want %d", estimate, got, rest, want)
		}
	}
	many := &layout{}
	for range 100 {
		many.unknown = append(many.unknown, 3<<20)
	}
	if got, _ := many.divide(-1); got != 2*sureRuntime {
		t.Errorf("a hundred small mappings: %d", got)
	}
}

// The fields of version 2 are those of Linux 6.1, by its documentation; those of version 1 were recorded on Linux 6.18. The figures are
// made so that each field is another number, and both versions have the same account.
const (
	statV2 = "anon 2041577472\nfile 471859200\nkernel 42991616\nkernel_stack 1654784\npagetables 6221824\nsec_pagetables 0\npercpu 14400\nsock 4096\nvmalloc 8192\nshmem 1048576\nzswap 0\nzswapped 0\nfile_mapped 62914560\nfile_dirty 135168\nfile_writeback 0\nswapcached 0\nanon_thp 0\nfile_thp 0\nshmem_thp 0\ninactive_anon 2042626048\nactive_anon 0\ninactive_file 367001600\nactive_file 103809024\nunevictable 0\nslab_reclaimable 28311552\nslab_unreclaimable 6777216\nslab 35088768\n"
	statV1 = "cache 16343040\nrss 9199616\nrss_huge 0\nshmem 8998912\nmapped_file 7585792\ndirty 114688\nwriteback 0\nswap 0\npgpgin 307329\ninactive_anon 0\nactive_anon 1531904\ninactive_file 352256\nactive_file 6991872\nunevictable 16666624\nhierarchical_memory_limit 4294967296\ntotal_cache 471859200\ntotal_rss 2041577472\ntotal_rss_huge 0\ntotal_shmem 1048576\ntotal_mapped_file 51900416\ntotal_swap 4096\ntotal_inactive_file 367001600\ntotal_active_file 103809024\n"
)

func TestGroup(t *testing.T) {
	two := map[string]string{
		"groups/pod/c1/memory.current": "2556755968\n", "groups/pod/c1/memory.max": "max\n", "groups/pod/memory.max": "4294967296\n", "groups/pod/memory.current": "2600000000\n",
		"groups/pod/c1/memory.stat": statV2, "groups/pod/c1/memory.swap.current": "4096\n", "proc/7/cgroup": "0::/pod/c1\n",
	}
	one := map[string]string{
		"groups/memory/pod/c1/memory.usage_in_bytes": "2556755968\n", "groups/memory/pod/c1/memory.limit_in_bytes": "9223372036854771712\n", "groups/memory/pod/memory.limit_in_bytes": "4294967296\n",
		"groups/memory/pod/c1/memory.stat": statV1, "groups/memory/pod/c1/memory.kmem.usage_in_bytes": "42991616\n", "proc/7/cgroup": "4:memory:/pod/c1\n0::/\n",
	}
	want := Group{Limit: 4294967296, Current: 2556755968, This: 2000000000, Others: 41577472, Shmem: 1048576, Kernel: 42991616, Cache: 470810624, Inactive: 367001600, Active: 103809024, Swap: 4096, Path: "/pod/c1", Rest: 327680}
	for version, files := range map[int]map[string]string{1: one, 2: two} {
		o := fakeProc(t, files)
		g := groupOf(&target{o.Proc, 7}, o.Groups, 2000000000)
		want.Version = version
		if g != nil {
			g.current = ""
		}
		if g == nil || *g != want {
			t.Errorf("version %d:\n%+v, want\n%+v", version, g, want)
		}
	}
	// From a sidecar the path leads out of the view, and the process's root shows its group.
	sidecar := map[string]string{"proc/7/cgroup": "0::/../c1\n", "groups/memory.max": "1000\n"}
	for name, text := range two {
		if after, ok := strings.CutPrefix(name, "groups/pod/c1/"); ok {
			sidecar["proc/7/root/sys/fs/cgroup/"+after] = text
		}
	}
	sidecar["proc/7/root/sys/fs/cgroup/memory.max"] = "4294967296\n"
	o := fakeProc(t, sidecar)
	if g := groupOf(&target{o.Proc, 7}, o.Groups, 0); g == nil || g.Limit != 4294967296 || g.Current != 2556755968 {
		t.Errorf("from a sidecar: %+v", g)
	}
	// The process's group is not visible, and one above it is.
	hidden := maps.Clone(one)
	hidden["proc/7/cgroup"] = "4:memory:/pod/c1/deeper\n"
	o = fakeProc(t, hidden)
	if g := groupOf(&target{o.Proc, 7}, o.Groups, 0); g == nil || !g.Above || g.Path != "/pod/c1" || !strings.Contains(g.text(), "above the process's own") {
		t.Errorf("hidden: %+v", g)
	}
	o = fakeProc(t, map[string]string{"proc/7/cgroup": "0::/\n"})
	if g := groupOf(&target{o.Proc, 7}, o.Groups, 0); g != nil {
		t.Errorf("no group: %+v", g)
	}
	old := &Group{Version: 2}
	if old.stat("slab 5\nkernel_stack 6\npagetables 7\n"); old.Kernel != 18 {
		t.Errorf("before Linux 5.18 the kernel's part is %d", old.Kernel)
	}
}

// TestLive: the sources of the live heap, from the best to the worst.
func TestLive(t *testing.T) {
	const mib = 1 << 20
	f := &figures{alloc: 180 * mib, stacks: 10 * mib, nextGC: 204 * mib}
	s := settings{gogc: 100, scanned: -1, globals: 2 * mib}
	for _, c := range []struct {
		what            string
		change          func(*figures, *settings)
		low             int64
		bytes, from, to int64
		source          string
	}{
		{"told", func(_ *figures, s *settings) { s.liveTold = 90 * mib }, 0, 90 * mib, 90 * mib, 90 * mib, "/gc/heap/live"},
		{"goal", func(*figures, *settings) {}, 0, 98.5 * mib, 96 * mib, 101 * mib, "NextGC and GOGC=100"},
		{"goal, stacks known", func(_ *figures, s *settings) { s.scanned = 4 * mib }, 0, 100 * mib, 100 * mib, 100 * mib, "NextGC"},
		{"GOGC=300", func(f *figures, s *settings) { s.gogc, s.scanned, f.nextGC = 300, 4*mib, 412*mib }, 0, 100 * mib, 100 * mib, 100 * mib, "GOGC=300"},
		{"a limit binds", func(f *figures, s *settings) { s.limit, f.shownLimit = 200*mib, 200*mib+100 }, 120 * mib, 120 * mib, 0, 120 * mib, "lowest HeapAlloc"},
		{"off", func(_ *figures, s *settings) { s.gogc = math.Inf(1) }, 0, 180 * mib, 0, 180 * mib, "HeapAlloc, which"},
		{"the least goal", func(f *figures, _ *settings) { f.nextGC, f.alloc = 4*mib, 3*mib }, 0, 3 * mib, 0, 3 * mib, "HeapAlloc, which"},
	} {
		f, s := *f, s
		c.change(&f, &s)
		if l := liveOf(&f, s, c.low); l.Bytes != c.bytes || l.Low != c.from || l.High != c.to || !strings.Contains(l.Source, c.source) {
			t.Errorf("%s: %+v", c.what, l)
		}
	}
}

// TestLiveOfProfile: a program that sets GOGC itself has a goal that does not fit, and the profile decides.
func TestLiveOfProfile(t *testing.T) {
	text := "heap profile: 10: 83886080 [10: 83886080] @ heap/1048576\n10: 83886080 [10: 83886080] @ 0x1 0x2\n#\t0x1\tmain.f+0x1\t/src/main.go:10\n#\t0x2\tmain.main+0x1\t/src/main.go:20\n\n" +
		"# runtime.MemStats\n# HeapAlloc = 90000000\n# HeapSys = 99000000\n# HeapIdle = 1000000\n# HeapInuse = 98000000\n# HeapReleased = 0\n# Stack = 100 / 200\n# NextGC = 400000000\n# NumGC = 3\n"
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/heap", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
	mux.HandleFunc("/debug/pprof/cmdline", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "/app/server\x00-v") })
	mux.HandleFunc("/debug/pprof/goroutine", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "goroutine profile: total 3\n2 @ 0x1 0x2\n#\t0x1\tsync.(*Mutex).Lock+0x1\ta.go:1\n#\t0x2\tmain.wait+0x2\ta.go:2\n#\t0x3\tmain.work+0x2\ta.go:3\n\n1 @ 0x1\n#\t0x1\tmain.main+0x1\ta.go:9\n")
	})
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "process_resident_memory_bytes 2e8\n") })
	server := httptest.NewServer(mux)
	defer server.Close()
	o := fakeProc(t, map[string]string{"proc/7/smaps": readFile(t, "testdata/smaps-unnamed.txt")})
	o.URL = server.URL
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	checkSum(t, r)
	if l := r.Live; l.Bytes < 83886080 || l.Bytes > 83886090 || !strings.Contains(l.Source, "the program sets GOGC itself") || l.High > 90000000 {
		t.Errorf("%+v", l)
	}
	if len(r.Sites) != 1 || r.Sites[0].Name != "main.f (main.go:10), called by main.main" {
		t.Errorf("%+v", r.Sites)
	}
	if g := r.Goroutines; g.Count != 3 || g.Begin[0] != (Count{"main.work", 2}) || g.Parked[0] != (Count{"main.wait", 2}) {
		t.Errorf("%+v", r.Goroutines)
	}

	// Without the process, the sum is what /metrics says.
	o = fakeProc(t, nil)
	o.PID, o.URL = 0, server.URL
	if r, err = Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	checkSum(t, r)
	if r.RSS != 2e8 || r.Smaps || r.bytes(LineOutside) == 0 || len(r.Notes) != 2 || r.NotGo() {
		t.Errorf("%+v", r)
	}

	// A URL of another process than the PID.
	o = fakeProc(t, map[string]string{"proc/7/cmdline": "/app/other\x00"})
	o.URL = server.URL
	if _, err = Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), `answers for "/app/server -v", and process 7 is "/app/other"`) {
		t.Errorf("%v", err)
	}
	o = fakeProc(t, nil)
	o.URL, o.Leaks = server.URL, true
	if _, err = Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "smaps") && !strings.Contains(err.Error(), "Go 1.27 and later") {
		t.Errorf("%v", err)
	}
}

// TestFits: a goal and a profile that differ a little widen the interval; twice is a contradiction.
func TestFits(t *testing.T) {
	const mib = 1 << 20
	for goal, want := range map[int64]*Live{
		105 * mib: {105 * mib, 105 * mib, 105 * mib, ""}, 150 * mib: {150 * mib, 95 * mib, 150 * mib, ""}, 70 * mib: {70 * mib, 70 * mib, 105 * mib, ""}, 300 * mib: nil, 30 * mib: nil,
	} {
		l := &Live{goal, goal, goal, ""}
		if got := l.fits(&Live{100 * mib, 95 * mib, 105 * mib, ""}); got != (want != nil) || want != nil && *l != *want {
			t.Errorf("%d: %t, %+v", goal/mib, got, l)
		}
	}
}

// TestOldProfile: a profile of more than the heap has is left out.
func TestOldProfile(t *testing.T) {
	heap := &profile.Profile{Period: 1 << 19, SampleType: []*profile.ValueType{{Type: "inuse_objects"}, {Type: "inuse_space"}}, Sample: []*profile.Sample{{Value: []int64{20, 320 << 20}}}}
	if l := sampledLive(&figures{alloc: 200 << 20, heap: heap}); l != nil {
		t.Errorf("%+v", l)
	}
	if l := sampledLive(&figures{alloc: 330 << 20, heap: heap}); l == nil || l.Bytes != 320<<20 || l.Low < 318<<20 || l.High > 322<<20 {
		t.Errorf("%+v", l)
	}
}

// TestHeapLines: what is missing in the heap was swapped out or never touched, and what is too much was returned, or is unexplained.
func TestHeapLines(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		layout      layout
		lines       map[string]int64
		unexplained int64
		note        string
	}{
		{layout{heap: 100 * mib}, nil, 0, ""},
		{layout{heap: 60 * mib, heapSwap: 30 * mib}, map[string]int64{LineSwapped: -30 * mib, LineUntouched: -10 * mib}, 0, "count"},
		{layout{heap: 90 * mib, heapSwap: 30 * mib}, map[string]int64{LineSwapped: -10 * mib}, 0, "count"},
		{layout{heap: 110 * mib, heapHuge: 50 * mib}, map[string]int64{LineAgain: 10 * mib}, 0, "50.0 MiB of the heap are in huge pages"},
		{layout{heap: 110 * mib, lazyFree: 9 * mib}, map[string]int64{LineAgain: 10 * mib}, 0, lazily},
		{layout{heap: 150 * mib}, map[string]int64{LineAgain: 20 * mib}, 30 * mib, ""},
	} {
		f := &figures{alloc: 70 * mib, inuse: 80 * mib, idle: 30 * mib, released: 20 * mib, stacks: 10 * mib}
		r := &Report{Live: &Live{Bytes: 40 * mib}}
		if got := r.heapLines(f, &c.layout); got != c.unexplained {
			t.Errorf("%+v: %d unexplained", c.layout, got)
		}
		for _, key := range []string{LineSwapped, LineUntouched, LineAgain} {
			l, _ := r.Line(key)
			if l.Bytes != c.lines[key] || l.Bytes != 0 && !strings.Contains(l.Note, c.note) {
				t.Errorf("%+v: %s is %+v, want %d", c.layout, key, l, c.lines[key])
			}
		}
		if r.bytes(LineLive) != 40*mib || r.bytes(LineSince) != 30*mib || r.bytes(LineWaste) != 10*mib || r.bytes(LineFree) != 10*mib || r.bytes(LineStacks) != 10*mib {
			t.Errorf("%+v", r.Lines)
		}
	}
}

func TestCreators(t *testing.T) {
	text := "goroutine 1 [running]:\nmain.main()\n\ta.go:1\n\ngoroutine 5 [select]:\nx()\ncreated by main.serve in goroutine 1\n\ta.go:1\n\ngoroutine 6 [select]:\ncreated by main.serve\n\ta.go:1\n"
	if got := parseCreators([]byte(text)); len(got) != 1 || got[0] != (Count{"main.serve", 2}) {
		t.Errorf("%+v", got)
	}
}

// TestBadInput: one line each, with what is wrong and what to do.
func TestBadInput(t *testing.T) {
	smaps := readFile(t, "testdata/smaps-unnamed.txt")
	for _, c := range []struct {
		what    string
		files   map[string]string
		options func(*Options)
		want    string
	}{
		{"nothing", nil, func(o *Options) { o.PID = 0 }, "want a process ID, or the URL"},
		{"no such process", nil, func(o *Options) { o.PID = 8 }, "there is no process 8; it has ended, or it is in another PID namespace"},
		{"no /proc", nil, func(o *Options) { o.Proc = "/nowhere" }, "there is no /nowhere here, which only Linux has"},
		{"a thread of the kernel", map[string]string{"proc/7/status": "Name:\tkthreadd\n"}, nil, "process 7 has no memory"},
		{"ended meanwhile", map[string]string{"proc/7/smaps": ""}, nil, "process 7 ended while it was read"},
		{"no smaps", nil, nil, "smaps does not exist; this system hides it (gVisor, hidepid"},
		{"damaged", map[string]string{"proc/7/smaps": "what is this\n"}, nil, `smaps has the line "what is this", which is no mapping`},
		{"mappings that merge", map[string]string{"proc/7/smaps": "1000-3000 rw-p 0 0 0\nRss: 8 kB\n1000-5000 rw-p 0 0 0\nRss: 16 kB\n"}, nil, "changed in all of 5 readings; run freehold again"},
		{"-gc without a URL", map[string]string{"proc/7/smaps": smaps}, func(o *Options) { o.Collect = true }, "give its URL as well"},
		{"no address", nil, func(o *Options) { o.URL = "http://" }, "is no address; write it like"},
		{"not listening", map[string]string{"proc/7/smaps": smaps}, func(o *Options) { o.URL = "http://127.0.0.1:1" }, "connection refused"},
	} {
		o := fakeProc(t, c.files)
		if c.options != nil {
			c.options(&o)
		}
		_, err := Run(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "rss: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %q", c.what, err, c.want)
		}
	}
	o := fakeProc(t, nil)
	p := &target{o.Proc, 7}
	if err := p.explain("smaps", fs.ErrPermission); !strings.Contains(err.Error(), "belongs to the user with the ID 5; run freehold as that user or as root") {
		t.Error(err)
	}
	if err := p.explain("smaps", syscall.ESRCH); !strings.Contains(err.Error(), "ended while it was read") {
		t.Error(err)
	}
	if err := p.explain("smaps", errors.New("what")); !strings.Contains(err.Error(), "read smaps of process 7: what") {
		t.Error(err)
	}
	o = fakeProc(t, map[string]string{"proc/7/smaps": smaps, "proc/7/status": "Name:\tserver\nVmRSS:\t1 kB\nNSpid:\t7\t12\n"})
	if r, err := Run(t.Context(), o); err != nil || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "another PID namespace, where its number is 12") {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestOtherProgram: a program that is not in Go has its mappings shown.
func TestOtherProgram(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows a process's mappings")
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	r, err := Run(t.Context(), Options{PID: cmd.Process.Pid})
	if err != nil {
		t.Fatal(err)
	}
	checkSum(t, r)
	if !r.NotGo() || r.bytes(LineBinary) == 0 {
		t.Errorf("%+v", r)
	}
	// A server of this process answers for another command line.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "other\x00") }))
	defer server.Close()
	if pid := ownerOf("/proc", localPort(server.URL)); pid != os.Getpid() {
		t.Errorf("%s belongs to %d, want %d", server.URL, pid, os.Getpid())
	}
	if _, err := Run(t.Context(), Options{PID: cmd.Process.Pid, URL: server.URL}); err == nil || !strings.Contains(err.Error(), `process `+strconv.Itoa(cmd.Process.Pid)+` is "sleep 60"`) {
		t.Error(err)
	}
}

func TestEnvironment(t *testing.T) {
	for env, want := range map[string]program{
		"GOGC=50\x00GOMEMLIMIT=2GiB": {gogc: 50, gogcSet: true, limit: 2 << 30}, "GOGC=off": {gogc: math.Inf(1), gogcSet: true}, "GOGC=-1": {gogc: math.Inf(1), gogcSet: true},
		"GOGC=": {gogc: 100}, "GOMEMLIMIT=off": {gogc: 100},
	} {
		got := program{gogc: 100}
		if got.environment(strings.Split(env, "\x00")); got != want {
			t.Errorf("%q: %+v", env, got)
		}
	}
}

func TestLocalPort(t *testing.T) {
	for address, want := range map[string]uint16{"http://localhost:6060": 6060, "http://127.0.0.1": 80, "https://[::1]/x": 443, "http://example.com:6060": 0, "http://10.0.0.1:1": 0} {
		if got := localPort(address); got != want {
			t.Errorf("%s: %d", address, got)
		}
	}
}
