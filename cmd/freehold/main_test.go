// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/cmd/cache"
	"github.com/freehold-go/freehold/cmd/internal/profiletest"
	"github.com/freehold-go/freehold/offheap"
)

// The scripts run this test binary as the command freehold, and so do the children that bench
// starts.
func TestMain(m *testing.M) {
	runAsVerb()
	testscript.Main(m, map[string]func(){"ask": ask, "freehold": main, "collector": collector, "endless": endless, "idler": func() {}, "labelled": labelled, "stale": stale})
}

// collector is a program for the doctor to trace: it collects garbage and names its arguments.
func collector() {
	for range 5 {
		runtime.GC()
	}
	fmt.Println("arguments:", strings.Join(os.Args[1:], " "))
	if slices.Contains(os.Args, "fail") {
		runtime.ReadMemStats(new(runtime.MemStats)) // waits until the runtime has printed its trace
		os.Exit(4)
	}
}

// ask sends its other arguments, which are lines, to the server that listens at the Unix socket of its first
// one, and prints the answers. It waits for the server.
func ask() {
	var nc net.Conn
	err := errors.New("no server")
	for range 1000 {
		if nc, err = net.Dial("unix", os.Args[1]); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err == nil {
		_, err = io.WriteString(nc, strings.Join(os.Args[2:], "\r\n")+"\r\nquit\r\n")
	}
	if err == nil {
		_, err = io.Copy(os.Stdout, nc)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// labelled writes the CPU profile of a program that labels its goroutines by endpoint.
func labelled() {
	f := profiletest.NewFake()
	for i, endpoint := range []string{"/buy", "/list"} {
		f.Ran("main.work;main.main", int64(300*(i+1)))
		f.Ran("runtime.mallocgc;runtime.newobject;main.work;main.main", 100)
		for _, s := range f.CPU.Sample[2*i:] {
			s.Label = map[string][]string{"endpoint": {endpoint}}
		}
	}
	f.Collector(100, 50)
	out, err := os.Create("labelled.pb.gz")
	if err == nil {
		err = errors.Join(f.CPU.Write(out), out.Close())
	}
	if err != nil {
		panic(err)
	}
}

// endless is a program that collects garbage until it is ended.
func endless() {
	for i := 0; ; i++ {
		runtime.GC()
		if i == 5 {
			fmt.Println("up and running")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// stale reads a block after its free, or with the argument leak, frees one of two.
func stale() {
	b, kept := offheap.Alloc(100), offheap.Alloc(10)
	offheap.Free(b)
	if len(os.Args) > 1 {
		os.Exit(freehold.ExitStatus(0))
	}
	fmt.Println(b[7], kept[0])
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			sample, err := filepath.Abs("testdata/sample") // kept by freehold doctor -save
			env.Setenv("SAMPLE", sample)
			action, absErr := filepath.Abs("../../actions/compare/compare.sh")
			env.Setenv("ACTION", action)
			env.Setenv("HOME", env.WorkDir) // the go command writes there
			// Or each program with the race detector sleeps for a second before it ends.
			env.Setenv("GORACE", cmp.Or(os.Getenv("GORACE"), "atexit_sleep_ms=0"))
			return errors.Join(err, absErr, setGo(env))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// setGo gives scripts the caches of the go command, by which the doctor reads source; they have no
// home folder to find them in.
func setGo(env *testscript.Env) error {
	names := []string{"GOCACHE", "GOMODCACHE", "GOPATH"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	for i, value := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		env.Setenv(names[i], strings.TrimSpace(value))
	}
	return nil
}

// exits runs a command that must end with a given exit code: exits 2 freehold doctor nothing.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARGUMENT...]")
	}
	got := 0
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("%q ended with %d, want %s", args[1:], got, args[0])
	}
}

// Each flag of the doctor has a row on its page.
func TestDoctorFlagsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range doctorCommand(nil).Flags {
		if row := "\n| `-" + f.Names()[0]; !strings.Contains(string(page), row) {
			t.Errorf("docs/doctor.md has no row for -%s", f.Names()[0])
		}
	}
}

// Each flag of rss has a row on its page.
func TestRSSFlagsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/rss.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range rssCommand().Flags {
		if name := "`-" + f.Names()[0]; !strings.Contains(string(page), name) {
			t.Errorf("docs/rss.md does not have -%s", f.Names()[0])
		}
	}
}

// Each flag of cache serve has a row on its page.
func TestCacheFlagsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/cache-command.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range cache.Command("").Commands[0].Flags {
		if row := "\n| `-" + f.Names()[0]; !strings.Contains(string(page), row) {
			t.Errorf("docs/cache-command.md has no row for -%s", f.Names()[0])
		}
	}
}

// TestVersion: the version of a release is that of its tag, which .goreleaser.yaml writes into the
// variable.
func TestVersion(t *testing.T) {
	defer func(old string) { release = old }(release)
	release = ""
	if got := version(); strings.HasPrefix(got, " ") || !strings.HasSuffix(got, runtime.Version()) {
		t.Errorf("not released: %q", got)
	}
	release = "v1.2.3"
	if got, want := version(), "v1.2.3 "+runtime.Version(); got != want {
		t.Errorf("released: %q, want %q", got, want)
	}
	config, err := os.ReadFile("../../.goreleaser.yaml")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("outside the repository")
	}
	if err != nil || !strings.Contains(string(config), "-X main.release=v{{ .Version }}") || !strings.Contains(string(config), "main: ./freehold") {
		t.Errorf("the release does not set the variable: %v", err)
	}
}
