// SPDX-License-Identifier: Apache-2.0

package rss

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// built has the program of testdata/known: without cgo and stripped, and with cgo, "" if there is no C compiler.
var built struct {
	once       sync.Once
	plain, cgo string
	err        error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.plain != "" {
		os.RemoveAll(filepath.Dir(built.plain))
	}
	os.Exit(code)
}

func buildKnown(t *testing.T) (plain, cgo string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows a process's mappings")
	}
	built.once.Do(func() {
		dir, err := os.MkdirTemp("", "rss")
		if err != nil {
			built.err = err
			return
		}
		build := func(name, cgo string) string {
			file := filepath.Join(dir, name)
			cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", file, "./testdata/known")
			cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Logf("%s", out)
				built.err = err
			}
			return file
		}
		built.plain = build("known", "0")
		if out, err := exec.Command("go", "env", "CGO_ENABLED").Output(); err == nil && strings.TrimSpace(string(out)) == "1" {
			built.cgo = build("known-cgo", "1")
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.plain, built.cgo
}

// A known is a running program whose memory is known.
type known struct {
	pid   int
	url   string
	lines map[string]int64
	input io.Writer
	out   *bufio.Reader
}

// startKnown starts the program, which ends with the test.
func startKnown(t *testing.T, binary string, args ...string) *known {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), "GOGC=100", "GOMEMLIMIT=off", "GODEBUG=adaptivestackstart=0") // new goroutines beside deep ones would begin with large stacks
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, &stderr)
		}
	})
	k := &known{pid: cmd.Process.Pid, input: in, out: bufio.NewReader(out)}
	line, err := k.out.ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, &stderr)
	}
	var made struct {
		URL, Skip string
		Lines     map[string]int64
	}
	if err := json.Unmarshal([]byte(line), &made); err != nil {
		t.Fatal(err)
	}
	if made.Skip != "" {
		t.Skip(made.Skip)
	}
	k.url, k.lines = made.URL, made.Lines
	return k
}

// knownModes are what the program makes, with the first remedy with the runtime's figures and without them, where it is decided there.
var knownModes = []struct{ mode, first, coarse string }{
	{"c-leak", LineAnonymous, LineAnonymous},
	{"files", LineFiles, LineFiles},
	{"huge-pages", LineAgain, LineHeap},
	{"deep-stacks", LineStacks, ""},
	{"goroutines", LineStacks, ""},
	{"peak", LineFree, ""},
	{"ballast", LineUntouched, ""},
	{"limit", "limit", ""},
	{"cache", "file-cache", "file-cache"},
	{"offheap", LineOffheap, LineOffheap},
	{"database", LineFiles, LineFiles},
	{"map", LineLive, ""},
}

// tolerance is how much a line may differ from the truth.
func tolerance(truth int64) int64 { return max(truth, -truth)*3/100 + 4<<20 }

// checkSum wants the lines to add up to the resident set.
func checkSum(t *testing.T, r *Report) {
	t.Helper()
	sum := int64(0)
	for _, l := range r.Lines {
		sum += l.Bytes
	}
	if sum != r.RSS || sum <= 0 {
		t.Errorf("the lines add up to %d, want %d: %+v", sum, r.RSS, r.Lines)
	}
	if g := r.Group; g != nil && g.This+g.Others+g.Shmem+g.Kernel+g.Cache+g.Rest != g.Current {
		t.Errorf("the group's parts do not add up: %+v", g)
	}
}

func checkFirst(t *testing.T, r *Report, want string) {
	t.Helper()
	if want != "" && (len(r.Advice) == 0 || r.Advice[0].Line != want) {
		t.Errorf("the first remedy is not of %s: %+v", want, r.Advice)
	}
}

// TestKnownWithPprof: each line is what the program made, and no other line is large.
func TestKnownWithPprof(t *testing.T) {
	plain, cgo := buildKnown(t)
	for _, c := range knownModes {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			binary := plain
			if c.mode == "c-leak" && cgo != "" {
				binary = cgo
			}
			k := startKnown(t, binary, c.mode, "pprof")
			r, err := Run(t.Context(), Options{URL: k.url})
			if err != nil {
				t.Fatal(err)
			}
			if r.PID != k.pid {
				t.Fatalf("the process at %s is %d, want %d", k.url, r.PID, k.pid)
			}
			checkSum(t, r)
			checkFirst(t, r, c.first)
			if got := r.bytes(LineUnexplained); got > r.RSS/20 {
				t.Errorf("%d of %d bytes are unexplained", got, r.RSS)
			}
			for _, l := range r.Lines {
				truth, isKnown := k.lines[l.Key]
				switch {
				case l.Key == LineLive && r.Live.Low < r.Live.High && isKnown:
					if truth < r.Live.Low-1<<20 || truth > r.Live.High+1<<20 {
						t.Errorf("live: %+v does not hold %d", r.Live, truth)
					}
				case l.Key == LineRuntime || l.Key == LineBinary: // of each program
				case isKnown && max(l.Bytes-truth, truth-l.Bytes) > tolerance(truth):
					t.Errorf("%s: %d, want %d", l.Key, l.Bytes, truth)
				case !isKnown && max(l.Bytes, -l.Bytes) > tolerance(r.RSS):
					t.Errorf("%s: %d, want little", l.Key, l.Bytes)
				}
			}
			if truth, isKnown := k.lines["file-cache"]; isKnown {
				if r.Group == nil || max(r.Group.Cache-truth, truth-r.Group.Cache) > tolerance(truth) || r.Group.Limit != 1<<30 {
					t.Errorf("the group is %+v, want %d bytes of file cache", r.Group, truth)
				}
			}
			if c.mode == "offheap" && (len(r.Purposes) != 2 || r.Purposes[0].Name != "index") {
				t.Errorf("the purposes are %+v", r.Purposes)
			}
		})
	}
}

// TestKnownWithoutPprof: the same of programs with cgo and without symbols, by their mappings alone.
func TestKnownWithoutPprof(t *testing.T) {
	plain, cgo := buildKnown(t)
	if cgo != "" {
		plain = cgo
	}
	for _, c := range knownModes {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			k := startKnown(t, plain, c.mode)
			r, err := Run(t.Context(), Options{PID: k.pid})
			if err != nil {
				t.Fatal(err)
			}
			checkSum(t, r)
			checkFirst(t, r, c.coarse)
			for _, key := range []string{LineHeap, LineOffheap, LineAnonymous, LineFiles} {
				got, truth := r.bytes(key), k.lines[key]
				if max(got-truth, truth-got) > tolerance(truth) {
					t.Errorf("%s: %d, want %d", key, got, truth)
				}
			}
			if r.NotGo() || r.Pprof || r.Go == "" {
				t.Errorf("%+v", r)
			}
		})
	}
}
