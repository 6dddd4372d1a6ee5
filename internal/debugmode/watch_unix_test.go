// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly || solaris || illumos

package debugmode

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/vmem"
)

// programs are what TestMain runs in place of the tests if programVariable names one.
var programs = map[string]func(){
	"fault": func() {
		Start(Config{Guard: true})
		useAfterFree()
	},
	"fault in a copy of bytes": func() {
		Start(Config{Guard: true})
		addr := mustAlloc(64)
		freer(addr)
		copier(addr, 8)
	},
	"tomb": func() {
		Start(Config{Guard: true})
		reader(NewTomb(Block{Owner: "arena", Arena: 3, Type: "main.node", Size: 48, FreeOp: "Reset", Alloc: Callers(0)}) + 8)
	},
	"fault of a goroutine that panics on faults": func() {
		Start(Config{Sample: 1})
		addr := mustAlloc(64)
		freer(addr)
		go func() {
			debug.SetPanicOnFault(true)
			reader(addr + 16)
		}()
		select {}
	},
	"foreign fault": func() {
		Start(Config{Guard: true, Leaks: true})
		mustAlloc(64)
		base, err := vmem.System().Reserve(vmem.PageSize(), vmem.PageSize(), "test")
		check(err)
		reader(base)
	},
	"panic": func() {
		Start(Config{Guard: true, Leaks: true})
		mustAlloc(64)
		panic("of the program's own")
	},
	"leaks": func() {
		Start(Config{Leaks: true})
		for range 3 {
			leaker(100)
		}
		Add(Block{Addr: 0x100, Size: 5, Owner: "arena", Alloc: Callers(0)})
		Add(Block{Addr: 0x200, Size: 5, Owner: "offheap", Leak: true, Alloc: Callers(0)})
		Freed(0x200, "Free", 0)
		os.Exit(3)
	},
	"no leaks": func() { Start(Config{Guard: true, Leaks: true}) },
	"killed": func() {
		Start(Config{Leaks: true})
		leaker(100)
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		time.Sleep(time.Minute)
	},
	"interrupted": func() {
		Start(Config{Leaks: true})
		leaker(100)
		// The whole group, as the terminal does; the test makes it one of its own.
		_ = unix.Kill(0, unix.SIGINT)
		time.Sleep(time.Minute)
	},
	"output before the start": func() {
		check(SetCrashOutput(outputFile("first"), debug.CrashOptions{}))
		Start(Config{Guard: true})
		useAfterFree()
	},
	"output after the start": func() {
		Start(Config{Guard: true, Leaks: true})
		check(SetCrashOutput(outputFile("first"), debug.CrashOptions{}))
		check(SetCrashOutput(outputFile("second"), debug.CrashOptions{}))
		useAfterFree()
	},
	"output to nobody": func() {
		Start(Config{Guard: true})
		check(SetCrashOutput(outputFile("first"), debug.CrashOptions{}))
		check(SetCrashOutput(nil, debug.CrashOptions{}))
		useAfterFree()
	},
	"direct call": func() {
		Start(Config{Guard: true, Leaks: true})
		leaker(100)
		check(debug.SetCrashOutput(outputFile("first"), debug.CrashOptions{}))
		time.Sleep(100 * time.Millisecond) // A report that came too early would come now.
		fmt.Fprintln(os.Stderr, "still running")
	},
	"children": func() {
		Start(Config{Guard: true, Leaks: true})
		leaker(100)
		// A child that outlives us must not hold up the report: it inherits no pipe.
		cmd := exec.Command("sleep", "600")
		check(cmd.Start())
		fmt.Fprintln(os.Stderr, "child", cmd.Process.Pid)
	},
	"closed": func() {
		check(SetCrashOutput(outputFile("first"), debug.CrashOptions{}))
		check(os.Stderr.Close())
		Start(Config{Guard: true})
		useAfterFree()
	},
	"told leaks": func() {
		Start(Config{Guard: true, Leaks: true})
		leaker(100)
		if !CheckAtEnd(os.Stdout) {
			panic("no leak")
		}
	},
	"crash after told leaks": func() {
		Start(Config{Guard: true, Leaks: true})
		CheckAtEnd(os.Stdout)
		useAfterFree()
	},
	"no processes": func() {
		next, err := os.Open(os.DevNull)
		check(err)
		var r unix.Rlimit
		check(unix.Getrlimit(unix.RLIMIT_NOFILE, &r))
		setNumber(&r.Cur, next.Fd()+5) // Too few files for the pipes.
		check(unix.Setrlimit(unix.RLIMIT_NOFILE, &r))
		Start(Config{Guard: true, Leaks: true})
		freer(mustAlloc(64))
	},
}

// outputVariable names the folder for what crashes write.
const (
	programVariable = "FREEHOLD_TEST_PROGRAM"
	outputVariable  = "FREEHOLD_TEST_OUTPUT"
)

func init() {
	if f := programs[os.Getenv(programVariable)]; f != nil {
		f()
		os.Exit(0)
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func outputFile(name string) *os.File {
	f, err := os.Create(filepath.Join(os.Getenv(outputVariable), name))
	check(err)
	return f
}

func mustAlloc(size uintptr) uintptr {
	addr, ok := GuardAlloc(size, 8)
	if !ok {
		panic("no guarded memory")
	}
	Add(Block{Addr: addr, Size: size, Owner: "offheap", Type: "[]byte", Alloc: Callers(0)})
	return addr
}

func useAfterFree() {
	addr := mustAlloc(64)
	freer(addr)
	reader(addr + 16)
}

var leaked uintptr

//go:noinline
func leaker(size uintptr) {
	leaked += 0x1000
	Add(Block{Addr: leaked, Size: size, Owner: "offheap", Type: "[]byte", Leak: true, Alloc: Callers(0)})
}

// runProgram runs one of programs and returns what it and the copy wrote, its exit status, and the
// folder of its files.
func runProgram(t *testing.T, name string, env ...string) (stderr string, state *os.ProcessState, dir string) {
	t.Helper()
	testenv.StartsPrograms(t)
	exe, err := os.Executable()
	check(err)
	dir = t.TempDir()
	// A child inherits that the interrupt is ignored, as it is in the background of a shell, but
	// not that it is caught.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt)
	defer signal.Stop(caught)
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), programVariable+"="+name, outputVariable+"="+dir, "GOTRACEBACK=single"), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var text strings.Builder
	cmd.Stderr = &text
	cmd.WaitDelay = 2 * time.Minute // If the copy hung, it would keep the pipe open.
	switch err := cmd.Run(); {
	case errors.Is(err, unix.ENOEXEC):
		t.Skip("we are emulated and cannot start ourselves")
	case errors.Is(err, exec.ErrWaitDelay):
		t.Errorf("%s: the copy does not end", name)
	}
	return text.String(), cmd.ProcessState, dir
}

const faultReport = `(?s)\n\nfreehold: use after Free: access 16 bytes into a block of 64 bytes \(\[\]byte, offheap\) that was freed
  accessed by goroutine 1:
    \S+/debugmode\.reader
        \S+report_test\.go:\d+
.*  allocated by goroutine 1:
    \S+/debugmode\.mustAlloc
.*  freed by goroutine 1, by offheap\.Free:
    \S+/debugmode\.freer
.*  What to do: [^\n]+\n$`

// TestWatch checks what the copy writes, and with it GC-9.
func TestWatch(t *testing.T) {
	testenv.MisusesMemory(t)
	needPages(t)
	for _, c := range []struct {
		name   string
		status int    // 2 is that of Go's crashes, -1 a signal
		want   string // a pattern for standard error
		files  map[string]string
	}{
		{"fault", 2, `(?s)^unexpected fault address .*` + faultReport, nil},
		{"fault in a copy of bytes", 2, `(?s)freehold: use after Free: access at the start of a block of 64.*\n  accessed by goroutine 1:\n    \S+debugmode\.copier\n`, nil},
		{"tomb", 2, `freehold: use after Reset: access through a pointer out of a block of 48 bytes \(main.node, arena 3\) that was given up\n`, nil},
		{"fault of a goroutine that panics on faults", 2, `(?s)\n\nfreehold: use after Free: access 16 bytes into .*\n  accessed by goroutine \d+:
    \S+/debugmode\.reader
.*    created by \S+ in goroutine 1\n.*  allocated:\n`, nil},
		{"foreign fault", 2, `^unexpected fault address `, nil},
		{"panic", 2, `^panic: of the program's own\n`, nil},
		{"leaks", 3, `(?s)^freehold: leak: 3 blocks of 300 bytes in all, from 1 place, not freed
  3 blocks, 300 bytes \(\[\]byte, offheap\) allocated by:
    \S+/debugmode\.leaker
        \S+:\d+
.*  What to do: [^\n]+\n$`, nil},
		{"no leaks", 0, `^$`, nil},
		{"killed", -1, `^freehold: leak: 1 block of 100 bytes in all`, nil},
		{"interrupted", -1, `^freehold: leak: 1 block of 100 bytes in all`, nil},
		{"output before the start", 2, faultReport, map[string]string{"first": `(?s)^\[signal SIG.*` + faultReport}},
		{"output after the start", 2, faultReport, map[string]string{"first": `^$`, "second": `(?s)^\[signal SIG.*` + faultReport}},
		{"output to nobody", 2, faultReport, map[string]string{"first": `^$`}},
		{"direct call", 0, `^still running\nfreehold: leak: 1 block of 100 bytes in all`, map[string]string{"first": `^$`}},
		{"children", 0, `^child \d+\nfreehold: leak: 1 block of 100 bytes in all`, nil},
		{"closed", 2, `^$`, map[string]string{"first": `(?s)^\[signal SIG.*` + faultReport}},
		{"no processes", 0, `^freehold: no copy of the program watches it, so there is no report of a crash or of leaks at the end: .*\n$`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stderr, state, dir := runProgram(t, c.name)
			if state.ExitCode() != c.status {
				t.Errorf("exit status %d, want %d", state.ExitCode(), c.status)
			}
			if strings.Contains(c.want, "freehold") != strings.Contains(stderr, "\nfreehold: ") && !strings.HasPrefix(stderr, "freehold: ") {
				t.Errorf("a report, or none: standard error:\n%s", stderr)
			}
			if !regexp.MustCompile(c.want).MatchString(stderr) {
				t.Errorf("standard error:\n%s\nwant %s", stderr, c.want)
			}
			for name, want := range c.files {
				text, err := os.ReadFile(filepath.Join(dir, name))
				// A copy that has no standard error of ours to hold open may be at work still.
				for end := time.Now().Add(time.Minute); !regexp.MustCompile(want).Match(text) && time.Now().Before(end); {
					time.Sleep(time.Millisecond)
					text, err = os.ReadFile(filepath.Join(dir, name))
				}
				if err != nil || !regexp.MustCompile(want).Match(text) {
					t.Errorf("%v, in file %s:\n%s\nwant %s", err, name, text, want)
				}
			}
			var pid int
			if _, err := fmt.Sscanf(stderr, "child %d\n", &pid); err == nil {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		})
	}
}

// TestToldLeaks: what the program lists at its end the copy does not list again, but it explains a
// crash.
func TestToldLeaks(t *testing.T) {
	testenv.MisusesMemory(t)
	needPages(t)
	const noRaceSleep = "GORACE=atexit_sleep_ms=0" // The race detector sleeps at the end of a program.
	if stderr, state, _ := runProgram(t, "told leaks", noRaceSleep); stderr != "" || state.ExitCode() != 0 {
		t.Errorf("status %d, standard error:\n%s", state.ExitCode(), stderr)
	}
	if stderr, _, _ := runProgram(t, "crash after told leaks", noRaceSleep); !regexp.MustCompile(faultReport).MatchString(stderr) {
		t.Errorf("standard error:\n%s", stderr)
	}
}

// TestWatchVariable checks that a process in whose environment the variable is set never becomes
// the program.
func TestWatchVariable(t *testing.T) {
	for _, value := range []string{"crash", "crash,leaks", "leaks", "1"} {
		stderr, state, _ := runProgram(t, "fault", watchVariable+"="+value)
		if state.ExitCode() != 0 || stderr != "" {
			t.Errorf("%s=%s: status %d, standard error %q", watchVariable, value, state.ExitCode(), stderr)
		}
	}
}

// setNumber hides that systems differ in the type of a limit.
func setNumber[T int64 | uint64](to *T, n uintptr) { *to = T(n) }
