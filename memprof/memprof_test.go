// SPDX-License-Identifier: Apache-2.0

package memprof

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/allocsample"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/vmem"
	"github.com/freehold-go/freehold/offheap"
)

// needSamples skips the test where not the slabs serve, but the Go heap or a debug mode.
func needSamples(t testing.TB) {
	t.Helper()
	onGoHeap := freehold.HeapMode() || !vmem.Supported // HeapMode freezes the modes, which starts those for debugging.
	modes := debugmode.Current()
	modes.Sample = 0
	if onGoHeap || modes.On() || sanitize.Race {
		t.Skip("the slabs do not serve here")
	}
}

// sampleEach samples with a period until the test ends, and draws the same each time.
func sampleEach(t testing.TB, period int64) {
	needSamples(t)
	t.Cleanup(allocsample.SetSource(rand.New(rand.NewPCG(7, 8)).ExpFloat64))
	old := SetPeriod(period)
	t.Cleanup(func() { SetPeriod(old) })
}

// read parses what WriteTo writes.
func read(t testing.TB) *profile.Profile {
	t.Helper()
	var buf bytes.Buffer
	if err := WriteTo(&buf, 0); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&buf)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sums adds up the figures of samples that have a frame whose function's name contains fn.
func sums(p *profile.Profile, fn string) (v [4]int64) {
	for _, s := range p.Sample {
		for _, l := range s.Location {
			if strings.Contains(l.Line[0].Function.Name, fn) {
				for i, n := range s.Value {
					v[i] += n
				}
				break
			}
		}
	}
	return v
}

//go:noinline
func mixed(l *offheap.Local, sizes []int) (blocks [][]byte) {
	for _, n := range sizes {
		blocks = append(blocks, l.AllocUninit(n))
	}
	return blocks
}

// TestEstimates allocates blocks of many sizes, frees some of them, and compares the profile with
// the exact counts: within five standard deviations of the sum of independent samples, each
// weighted by the reciprocal of its probability p, whose variance is size² (1-p)/p.
func TestEstimates(t *testing.T) {
	const period = 64 << 10
	sampleEach(t, period)
	l := offheap.NewLocal()
	defer l.Close()
	rng := rand.New(rand.NewPCG(5, 6))
	sizes := make([]int, 200_000)
	for i := range sizes {
		sizes[i] = 16 << rng.IntN(10)
		if i%1000 == 0 {
			sizes[i] = 128 << 10
		}
	}
	before := sums(read(t), "memprof.mixed")
	blocks := mixed(l, sizes)
	all := sums(read(t), "memprof.mixed")
	var want, variance [4]float64
	note := func(n int, first int) {
		p := allocsample.Probability(uintptr(n), period)
		want[first]++
		want[first+1] += float64(n)
		variance[first] += (1 - p) / p
		variance[first+1] += float64(n) * float64(n) * (1 - p) / p
	}
	for i, b := range blocks {
		note(sizes[i], allocObjects)
		if i%3 == 0 {
			l.Free(b)
		} else {
			note(sizes[i], inuseObjects)
		}
	}
	some := sums(read(t), "memprof.mixed")
	for i, what := range []string{"blocks allocated", "bytes allocated", "blocks in use", "bytes in use"} {
		got, deviation := float64(some[i]-before[i]), math.Sqrt(variance[i])
		if math.Abs(got-want[i]) > 5*deviation || deviation > want[i]/5 {
			t.Errorf("%s: about %.0f, want %.0f ± %.0f", what, got, want[i], deviation)
		}
	}
	const rounding = 1000 // Of the bytes of each site, in four readings.
	if all[allocSpace] != some[allocSpace] || math.Abs(float64(all[inuseSpace]-before[inuseSpace]-all[allocSpace]+before[allocSpace])) > rounding {
		t.Errorf("freeing changed what was allocated from %v to %v", all, some)
	}
	for i, b := range blocks {
		if i%3 != 0 {
			l.Free(b)
		}
	}
	if got := sums(read(t), "memprof.mixed"); got[inuseObjects] != before[inuseObjects] || got[inuseSpace] != before[inuseSpace] || got[allocSpace] != all[allocSpace] {
		t.Errorf("after all was freed: %v, before: %v", got, before)
	}
}

//go:noinline
func kept(p *offheap.Purpose) [][]byte {
	return [][]byte{p.Alloc(1000), p.Alloc(1000), offheap.Alloc(100_000)}
}

// TestEachBlock samples each block, so that the figures are exact.
func TestEachBlock(t *testing.T) {
	sampleEach(t, 1)
	before := sums(read(t), "memprof.kept") // Other tests call it, too.
	for _, b := range kept(offheap.NewPurpose("profiled")) {
		defer offheap.Free(b)
	}
	p := read(t)
	got := sums(p, "memprof.kept")
	for i := range got {
		got[i] -= before[i]
	}
	large := int64(13 * 8192)
	if want := [4]int64{3, 2*1024 + large, 3, 2*1024 + large}; got != want {
		t.Errorf("the profile says %v, want %v", got, want)
	}
	if p.DefaultSampleType != "inuse_space" || p.Period != 1 || p.PeriodType.Type != "space" || len(p.SampleType) != 4 {
		t.Errorf("the profile's head is %v, %d, %v, %v", p.DefaultSampleType, p.Period, p.PeriodType, p.SampleType)
	}
	purposes := map[string]int64{}
	for _, s := range p.Sample {
		if !strings.Contains(s.Location[0].Line[0].Function.Name, "memprof.kept") {
			continue // The leaf is who called offheap.
		}
		if s.Label["memory"][0] != "offheap" {
			t.Errorf("a sample bears the labels %v", s.Label)
		}
		purposes[strings.Join(s.Label["purpose"], ",")] += s.Value[inuseObjects]
	}
	if len(purposes) != 2 || purposes["profiled"] != 2 || purposes[""] != 1 {
		t.Errorf("blocks by purpose: %v, want 2 of profiled and 1 of none; frames of offheap at the leaf must be left out", purposes)
	}
}

// TestText reads the text of the profile.
func TestText(t *testing.T) {
	sampleEach(t, 1)
	for _, b := range kept(offheap.NewPurpose("profiled")) {
		defer offheap.Free(b)
	}
	var text strings.Builder
	if err := WriteTo(&text, 1); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"offheap profile, one sample in 1 bytes: in use ", ", purpose \"profiled\"\n    github.com/freehold-go/freehold/memprof.kept\n        ", "memprof_test.go:"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
}

// TestMerged finds both heaps in one profile, apart by label.
func TestMerged(t *testing.T) {
	sampleEach(t, 1)
	for _, b := range kept(offheap.NewPurpose("profiled")) {
		defer offheap.Free(b)
	}
	onHeap := make([]byte, 32<<20)
	runtime.GC()
	var buf bytes.Buffer
	if err := WriteMerged(&buf); err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(onHeap)
	p, err := profile.Parse(&buf)
	if err != nil {
		t.Fatal(err)
	}
	bytesOf := map[string]int64{}
	for _, s := range p.Sample {
		bytesOf[strings.Join(s.Label["memory"], ",")] += s.Value[inuseSpace]
	}
	own := read(t)
	var sum int64
	for _, s := range own.Sample {
		sum += s.Value[inuseSpace]
	}
	if len(bytesOf) != 2 || bytesOf["offheap"] != sum || bytesOf["goheap"] < 32<<20 || sum < 100_000 {
		t.Errorf("bytes by label: %v; the profile alone has %d", bytesOf, sum)
	}
}

// TestHandler asks over HTTP.
func TestHandler(t *testing.T) {
	server := httptest.NewServer(Handler())
	defer server.Close()
	for query, want := range map[string]struct {
		status  int
		content string
	}{
		"":                 {http.StatusOK, "application/octet-stream"},
		"?merge=1&gc=1":    {http.StatusOK, "application/octet-stream"},
		"?debug=1":         {http.StatusOK, "text/plain; charset=utf-8"},
		"?debug=x":         {http.StatusBadRequest, "text/plain; charset=utf-8"},
		"?debug=1&merge=1": {http.StatusBadRequest, "text/plain; charset=utf-8"},
	} {
		resp, err := http.Get(server.URL + query)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != want.status || resp.Header.Get("Content-Type") != want.content {
			t.Errorf("%q: %s, %s", query, resp.Status, resp.Header.Get("Content-Type"))
		}
		if want.content == "application/octet-stream" {
			if _, err := profile.Parse(resp.Body); err != nil {
				t.Errorf("%q: %v", query, err)
			}
		}
		resp.Body.Close()
	}
}

// TestTool lets go tool pprof open both profiles.
func TestTool(t *testing.T) {
	sampleEach(t, 1)
	if testing.Short() {
		t.Skip("builds pprof")
	}
	gocmd, err := exec.LookPath("go")
	if err != nil {
		t.Skip(err)
	}
	for _, b := range kept(offheap.NewPurpose("profiled")) {
		defer offheap.Free(b)
	}
	for name, write := range map[string]func(*os.File) error{
		"offheap": func(f *os.File) error { return WriteTo(f, 0) },
		"merged":  func(f *os.File) error { return WriteMerged(f) },
	} {
		path := filepath.Join(t.TempDir(), name)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := write(f); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(gocmd, "tool", "pprof", "-top", "-unit=B", "-tagfocus=memory=offheap", "-focus=memprof.kept", path).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		want := fmt.Sprintf("%dB", 2*1024+13*8192)
		if !strings.Contains(string(out), "inuse_space") || !strings.Contains(string(out), want) || !strings.Contains(string(out), "memprof.kept") {
			t.Errorf("%s: pprof says, without %s:\n%s", name, want, out)
		}
	}
}

// TestSetPeriod refuses a negative period.
func TestSetPeriod(t *testing.T) {
	if p := Period(); p != DefaultPeriod {
		t.Errorf("the period is %d at first", p)
	}
	defer func() {
		if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "negative period -1") {
			t.Errorf("SetPeriod(-1): %v", r)
		}
	}()
	SetPeriod(-1)
}
