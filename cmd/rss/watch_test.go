// SPDX-License-Identifier: Apache-2.0

package rss

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestSaved: of two reports of one process, the later says what grew.
func TestSaved(t *testing.T) {
	plain, _ := buildKnown(t)
	k := startKnown(t, plain, "map", "pprof")
	url, err := Find(t.Context(), Options{PID: k.pid})
	if err != nil || url != k.url {
		t.Fatalf("found %q, want %q: %v", url, k.url, err)
	}
	var files []string
	for i := range 2 {
		r, err := Run(t.Context(), Options{PID: k.pid, URL: k.url, Collect: true})
		if err != nil {
			t.Fatal(err)
		}
		if l := r.Live; l.Low != l.High || !strings.Contains(l.Source, "right after a collection") {
			t.Errorf("%+v", l)
		}
		file := filepath.Join(t.TempDir(), fmt.Sprint(i))
		f, err := os.Create(file)
		if err == nil {
			err = errors.Join(r.WriteJSON(f), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		if i == 0 {
			fmt.Fprintln(k.input, "more")
			if line, err := k.out.ReadString('\n'); err != nil || line != "grown\n" {
				t.Fatal(line, err)
			}
		}
	}
	old, err := ReadReport(files[0])
	if err != nil {
		t.Fatal(err)
	}
	r, err := ReadReport(files[1])
	if err != nil {
		t.Fatal(err)
	}
	checkSum(t, r)
	if err := r.Since(old); err != nil {
		t.Fatal(err)
	}
	if g := r.Growth; g.Lines[0].Name != "live heap" || g.Lines[0].Bytes < 62<<20 || g.Lines[0].Bytes > 68<<20 || !strings.Contains(g.Sites[0].Name, "main.blocks") {
		t.Errorf("%+v", g)
	}
	checkFirst(t, r, "growth")
	var text strings.Builder
	if err := r.WriteText(&text, false, 100, true); err != nil || !strings.Contains(text.String(), "live heap, +6") || !strings.Contains(text.String(), "goroutines by the function that they began in") {
		t.Errorf("%v\n%s", err, &text)
	}
	text.Reset()
	if err := WriteHTML(&text, []*Report{old, r}); err != nil || strings.Count(text.String(), "<polygon") < 5 || strings.Contains(text.String(), "NaN") {
		t.Errorf("%v\n%s", err, &text)
	}
	if err := old.Since(r); err == nil || !strings.Contains(err.Error(), "give the earlier report first") {
		t.Error(err)
	}
	r.PID++
	if err := r.Since(old); err == nil || !strings.Contains(err.Error(), "of two processes") {
		t.Error(err)
	}
}

// TestCreatorsAndLeaks asks a program whose goroutines wait at channels that nothing else knows.
func TestCreatorsAndLeaks(t *testing.T) {
	plain, _ := buildKnown(t)
	k := startKnown(t, plain, "deep-stacks", "pprof")
	r, err := Run(t.Context(), Options{PID: k.pid, URL: k.url, Creators: true})
	if err != nil {
		t.Fatal(err)
	}
	if g := r.Goroutines; len(g.Creators) == 0 || g.Creators[0] != (Count{"main.deepStacks", 24}) {
		t.Errorf("%+v", g)
	}
	r, err = Run(t.Context(), Options{PID: k.pid, URL: k.url, Leaks: true})
	switch {
	case err != nil && strings.Contains(err.Error(), "Go 1.27 and later"): // an older Go
	case err != nil || len(r.Goroutines.Leaks) == 0 || r.Goroutines.Leaks[0] != (Count{"main.deep", 24}):
		t.Errorf("%+v, %v", r, err)
	default:
		var text strings.Builder
		if err := r.WriteText(&text, false, 100, false); err != nil || !strings.Contains(text.String(), "leaked goroutines by the function that they began in\n            24  main.deep\n") {
			t.Errorf("%v\n%s", err, &text)
		}
	}
}

func TestReadReport(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{"{}": "is no report; write one with", "heap": "is no report", `{"version": 99, "lines": [{}]}`: "by a later version"} {
		file := filepath.Join(dir, "r")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := ReadReport(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
	if _, err := ReadReport(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "there is no file") {
		t.Error(err)
	}
	if err := WriteHTML(io.Discard, nil); err == nil {
		t.Error("a page of nothing")
	}
}

func TestFind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows who listens")
	}
	plain, _ := buildKnown(t)
	k := startKnown(t, plain, "ballast")
	if url, err := Find(t.Context(), Options{PID: k.pid}); err == nil || !strings.Contains(err.Error(), "listens at no TCP port of loopback") {
		t.Error(url, err)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	if url, err := Find(t.Context(), Options{PID: os.Getpid()}); err == nil || !strings.Contains(err.Error(), "serves no net/http/pprof at its ports") {
		t.Error(url, err)
	}
	if _, err := Find(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "give its ID alone") {
		t.Error(err)
	}
}

// watched is a fake process whose memory the test sets.
type watched struct {
	o       Options
	clock   time.Time
	proc    string
	pending func(i int) // changes the process before tick i
	ticks   []*Tick
	waits   int
}

func newWatched(t *testing.T, limit string) *watched {
	files := map[string]string{
		"proc/7/smaps": readFile(t, "testdata/smaps-unnamed.txt"), "proc/7/cgroup": "0::/c1\n", "groups/c1/memory.current": "200000000\n",
		"groups/c1/memory.max": limit, "groups/c1/memory.stat": "anon 150000000\nfile 50000000\n",
	}
	w := &watched{o: fakeProc(t, files), clock: time.Unix(1e9, 0)}
	w.o.Now = func() time.Time { return w.clock }
	return w
}

func (w *watched) write(t *testing.T, name, text string) {
	if err := os.WriteFile(filepath.Join(filepath.Dir(w.o.Proc), name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w *watched) rss(t *testing.T, mib int) {
	w.write(t, "proc/7/status", fmt.Sprintf("Name:\tserver\nVmRSS:\t%d kB\nRssAnon:\t 40 kB\n", mib<<10))
}

func (w *watched) run(t *testing.T, at Threshold, dir string) ([]*Report, error) {
	return Watch(t.Context(), WatchOptions{Options: w.o, At: at, Dir: dir, Tick: func(k *Tick) error {
		w.ticks = append(w.ticks, k)
		return nil
	}, Wait: func(_ context.Context, d time.Duration) {
		w.clock = w.clock.Add(d)
		w.waits++
		w.pending(w.waits)
	}})
}

// TestWatch: an account is taken at first, and when the resident set has moved, but not twice a minute. The end of the process ends it.
func TestWatch(t *testing.T) {
	w := newWatched(t, "max\n")
	w.rss(t, 203) // as smaps has it
	w.pending = func(i int) {
		switch i {
		case 10:
			w.rss(t, 210)
		case 20:
			w.rss(t, 300)
		case 100:
			w.write(t, "proc/7/status", "Name:\tserver\n")
		}
	}
	list, err := w.run(t, Threshold{}, "")
	if err != nil || len(list) != 2 || len(w.ticks) != 100 {
		t.Fatalf("%d accounts in %d ticks, %v", len(list), len(w.ticks), err)
	}
	for i, k := range w.ticks {
		if (k.Account != nil) != (i == 0 || i == 60) || k.Group != 200000000 {
			t.Errorf("tick %d: %+v", i, k)
		}
	}
	if s := w.ticks[30].String(); !strings.HasSuffix(s, "RSS 300 MiB  control group 191 MiB") {
		t.Error(s)
	}
}

// TestWatchGoesOn: an account that fails is reported, and tried again a minute later.
func TestWatchGoesOn(t *testing.T) {
	w := newWatched(t, "max\n")
	w.rss(t, 203)
	w.pending = func(i int) {
		switch i {
		case 70:
			w.rss(t, 300)
			w.write(t, "proc/7/smaps", "damaged\n")
		case 100:
			w.write(t, "proc/7/smaps", readFile(t, "testdata/smaps-unnamed.txt"))
		case 140:
			w.write(t, "proc/7/status", "Name:\tserver\n")
		}
	}
	list, err := w.run(t, Threshold{}, "")
	if err != nil || len(list) != 2 {
		t.Fatalf("%d accounts, %v", len(list), err)
	}
	for i, k := range w.ticks {
		if (k.Problem != "") != (i == 70) || (k.Account != nil) != (i == 0 || i == 130) {
			t.Errorf("tick %d: %+v", i, k)
		}
	}
}

// TestThreshold: memory without the cache of files reaches the share of the limit once, and again after it fell.
func TestThreshold(t *testing.T) {
	w := newWatched(t, "250000000\n")
	w.rss(t, 203)
	dir := t.TempDir()
	set := func(anon, file int) {
		w.write(t, "groups/c1/memory.current", fmt.Sprintln(anon+file))
		w.write(t, "groups/c1/memory.stat", fmt.Sprintf("anon %d\nfile %d\n", anon, file))
	}
	w.pending = func(i int) {
		switch i {
		case 5:
			set(150000000, 99000000) // the cache does not count
		case 10, 30:
			set(230000000, 10000000)
		case 20:
			set(150000000, 10000000)
		case 40:
			w.write(t, "proc/7/status", "Name:\tserver\n")
		}
	}
	if _, err := w.run(t, Threshold{Share: 0.9}, dir); err != nil {
		t.Fatal(err)
	}
	for i, k := range w.ticks {
		if (k.Saved != "") != (i == 10 || i == 30) {
			t.Errorf("tick %d: %+v", i, k)
		}
	}
	text := readFile(t, filepath.Join(w.ticks[10].Saved, "account.txt"))
	if !strings.Contains(text, "Go heap with stacks") || !strings.Contains(w.ticks[10].String(), "229 MiB of 238 MiB (96 %)") {
		t.Errorf("%s\n%s", w.ticks[10], text)
	}
	if _, err := ReadReport(filepath.Join(w.ticks[30].Saved, "account.json")); err != nil {
		t.Error(err)
	}
}

// TestBlackBox: with net/http/pprof the profiles are saved, too.
func TestBlackBox(t *testing.T) {
	plain, _ := buildKnown(t)
	k := startKnown(t, plain, "offheap", "pprof")
	dir, saved := t.TempDir(), ""
	list, err := Watch(t.Context(), WatchOptions{Options: Options{PID: k.pid, URL: k.url}, For: 1, At: Threshold{Bytes: 100 << 20}, Dir: dir,
		Tick: func(t *Tick) error { saved = t.Saved; return nil }, Wait: func(context.Context, time.Duration) {}})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	checkSum(t, list[0])
	for name, want := range map[string]string{"heap.pb.gz": "\x1f\x8b", "goroutine.pb.gz": "\x1f\x8b", "offheap.pb.gz": "\x1f\x8b", "vars.json": "{", "account.json": "{", "account.txt": "process "} {
		if text := readFile(t, filepath.Join(saved, name)); !strings.HasPrefix(text, want) {
			t.Errorf("%s begins %q", name, text[:min(len(text), 20)])
		}
	}
}

func TestWatchRefuses(t *testing.T) {
	for want, change := range map[string]func(*WatchOptions){
		"mkdir ":                                  func(o *WatchOptions) { o.At, o.Dir = Threshold{Share: 1}, filepath.Join(o.Proc, "7", "status", "x") },
		"disturb the program":                     func(o *WatchOptions) { o.Collect = true },
		"-at and -o belong together":              func(o *WatchOptions) { o.Dir = "x" },
		"-at and -o belong":                       func(o *WatchOptions) { o.At = Threshold{Share: 1} },
		"share of the control group's limit, and": func(o *WatchOptions) { o.At, o.Dir = Threshold{Share: 1}, "x" },
		"process 7 ended":                         func(*WatchOptions) {},
	} {
		w := newWatched(t, "max\n")
		o := WatchOptions{Options: w.o, Wait: func(context.Context, time.Duration) {}, For: 1}
		change(&o)
		if want == "process 7 ended" {
			w.write(t, "proc/7/status", "Name:\tserver\n")
			if err := os.Symlink("/nowhere", filepath.Join(w.o.Proc, "7", "exe")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Watch(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for text, want := range map[string]Threshold{"90%": {Share: 0.9}, "2GiB": {Bytes: 2 << 30}, "100 %": {Share: 1}} {
		if got, err := ParseThreshold(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "0%", "101%", "much", "x%"} {
		if got, err := ParseThreshold(bad); err == nil {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}
