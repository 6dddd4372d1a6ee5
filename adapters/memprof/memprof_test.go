// SPDX-License-Identifier: Apache-2.0

package memprof

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof" // the example's handler stands beside its handlers
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/offheap"
)

// sampleEach samples each block until the test ends. It skips the test where not the slabs serve, but
// the Go heap or a debug mode.
func sampleEach(t testing.TB) {
	t.Helper()
	if o := freehold.Modes(); race || o.Heap || o.Guard || o.Leaks || o.Pointers {
		t.Skip("the slabs do not serve here")
	}
	old := SetPeriod(1)
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
func kept(p *offheap.Purpose) [][]byte {
	return [][]byte{p.Alloc(1000), p.Alloc(1000), offheap.Alloc(100_000)}
}

// TestEachBlock samples each block, so that the figures are exact.
func TestEachBlock(t *testing.T) {
	sampleEach(t)
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
	sampleEach(t)
	for _, b := range kept(offheap.NewPurpose("profiled")) {
		defer offheap.Free(b)
	}
	var text strings.Builder
	if err := WriteTo(&text, 1); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"offheap profile, one sample in 1 bytes: in use ", ", purpose \"profiled\"\n    github.com/freehold-go/freehold/adapters/memprof.kept\n        ", "memprof_test.go:"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
}

// TestMerged finds both heaps in one profile, apart by label.
func TestMerged(t *testing.T) {
	sampleEach(t)
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

// handle serves the profile where its page says, beside the handlers of net/http/pprof, with which the pattern must not conflict.
var handle = sync.OnceFunc(func() { http.Handle("GET /debug/pprof/offheap", Handler()) })

// TestHandler asks over HTTP.
func TestHandler(t *testing.T) {
	handle()
	server := httptest.NewServer(http.DefaultServeMux)
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
		resp, err := http.Get(server.URL + "/debug/pprof/offheap" + query)
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
	sampleEach(t)
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
