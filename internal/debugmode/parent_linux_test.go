// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/freehold-go/freehold/internal/checks/testenv"
)

func init() {
	for name, f := range map[string]func(){
		"fault": func() {
			Start(Config{Guard: true})
			useAfterFree()
		},
		"leaks": func() {
			Start(Config{Guard: true, Leaks: true})
			leaker(100)
			os.Exit(3)
		},
		"told leaks": func() {
			Start(Config{Guard: true, Leaks: true})
			leaker(100)
			CheckAtEnd(io.Discard)
		},
		"outputs": func() {
			check(SetCrashOutput(outputFile("first"), debug.CrashOptions{}))
			Start(Config{Guard: true})
			check(SetCrashOutput(outputFile("second"), debug.CrashOptions{}))
			useAfterFree()
		},
		"no start": func() { os.Exit(5) },
		"killed": func() {
			Start(Config{Sample: 1})
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		},
		"aborted": func() {
			debug.SetTraceback("crash") // Go ends by SIGABRT.
			Start(Config{Guard: true})
			useAfterFree()
		},
		"waits for a signal": func() {
			caught := make(chan os.Signal, 1)
			signal.Notify(caught, unix.SIGTERM, unix.SIGUSR1)
			fmt.Println(os.Getpid())
			fmt.Println((<-caught).String())
			os.Exit(7)
		},
		"closes standard output": func() {
			os.Stdout.Close()
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(8)
		},
		"tells of its files": func() {
			third, err := os.Readlink("/proc/self/fd/3")
			fmt.Println(os.Getenv("LISTEN_PID") == strconv.Itoa(os.Getpid()), os.Getenv(parentVariable) == "", third, err)
		},
	} {
		programs["watched: "+name] = func() {
			Watch()
			f()
		}
	}
}

// watched is a command that runs one of programs below a watcher, behind the words of another
// command. Its standard error is a file: what is in it when the command has ended was written before.
func watched(t *testing.T, name string, before ...string) (cmd *exec.Cmd, stderr func() string) {
	t.Helper()
	testenv.StartsPrograms(t)
	testenv.MisusesMemory(t)
	needPages(t)
	if testenv.UnderQEMU() {
		t.Skip("we are emulated and cannot start ourselves")
	}
	exe, err := os.Executable()
	check(err)
	args := append(before[:len(before):len(before)], exe)
	cmd = exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), programVariable+"=watched: "+name, outputVariable+"="+t.TempDir(), "GOTRACEBACK=single", "GORACE=atexit_sleep_ms=0")
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	check(err)
	t.Cleanup(func() { file.Close() })
	cmd.Stderr = file
	return cmd, func() string {
		text, err := os.ReadFile(file.Name())
		check(err)
		return string(text)
	}
}

// TestWatchedReport: the report is there before the end of the program, in 32 of 32 runs, and also
// if the program is process 1.
func TestWatchedReport(t *testing.T) {
	for name, before := range map[string][]string{"plain": nil, "process 1": {"unshare", "-Urpf", "--mount-proc"}} {
		t.Run(name, func(t *testing.T) {
			if len(before) > 0 {
				if out, err := exec.Command(before[0], append(before[1:], "true")...).CombinedOutput(); err != nil {
					t.Skipf("this system lets us make no process 1: %v: %s", err, bytes.TrimSpace(out))
				}
			}
			missing := 0
			for range 32 {
				cmd, stderr := watched(t, "fault", before...)
				_ = cmd.Run()
				if code := cmd.ProcessState.ExitCode(); code != 2 {
					t.Fatalf("exit status %d\n%s", code, stderr())
				}
				if !regexp.MustCompile(faultReport).MatchString(stderr()) {
					missing++
				}
			}
			if missing > 0 {
				t.Errorf("%d of 32 runs ended before their report", missing)
			}
		})
	}
}

// TestWatchedEnds: the watcher ends as the program did, and says what the copy says.
func TestWatchedEnds(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int // that of a signal if it is above 128
		want   string
	}{
		{"leaks", 3, `^freehold: leak: 1 block of 100 bytes in all, from 1 place, not freed\n`},
		{"told leaks", 0, `^$`},
		{"outputs", 2, faultReport},
		{"no start", 5, `^$`},
		{"killed", 128 + 9, `^$`},
		{"aborted", 128 + 6, faultReport},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd, stderr := watched(t, c.name)
			_ = cmd.Run()
			status := cmd.ProcessState.Sys().(syscall.WaitStatus)
			got := status.ExitStatus()
			if status.Signaled() {
				got = 128 + int(status.Signal())
			}
			if got != c.status || !regexp.MustCompile(c.want).MatchString(stderr()) {
				t.Errorf("exit status %d, want %d; standard error:\n%s\nwant %s", got, c.status, stderr(), c.want)
			}
			if c.name != "outputs" {
				return
			}
			dir := strings.TrimPrefix(cmd.Env[len(cmd.Env)-3], outputVariable+"=")
			first, err1 := os.ReadFile(filepath.Join(dir, "first"))
			second, err2 := os.ReadFile(filepath.Join(dir, "second"))
			if err1 != nil || err2 != nil || len(first) > 0 || !regexp.MustCompile(`(?s)^\[signal SIG.*`+faultReport).Match(second) {
				t.Errorf("%v, %v; the first output has %q, the second %q", err1, err2, first, second)
			}
		})
	}
}

// TestWatchedSignals: a signal to the watcher reaches the program, and the program dies with the
// watcher.
func TestWatchedSignals(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGUSR1, unix.SIGKILL} {
		cmd, stderr := watched(t, "waits for a signal")
		stdout, err := cmd.StdoutPipe()
		check(err)
		check(cmd.Start())
		lines := bufio.NewReader(stdout)
		first, err := lines.ReadString('\n')
		pid, _ := strconv.Atoi(strings.TrimSpace(first))
		if err != nil || pid == 0 || pid == cmd.Process.Pid {
			t.Fatalf("%q, %v: want the number of another process than %d\n%s", first, err, cmd.Process.Pid, stderr())
		}
		check(cmd.Process.Signal(sig))
		rest, _ := io.ReadAll(lines) // The program holds the pipe as long as it lives.
		want, status := sig.String()+"\n", 7
		if sig == unix.SIGKILL {
			want, status = "", -1
		}
		if _ = cmd.Wait(); string(rest) != want || cmd.ProcessState.ExitCode() != status {
			t.Errorf("%v: the program wrote %q, exit status %d", sig, rest, cmd.ProcessState.ExitCode())
		}
	}
}

// TestWatchedFiles: the program has the files that its caller has given it, and the watcher holds
// none of them open.
func TestWatchedFiles(t *testing.T) {
	cmd, stderr := watched(t, "tells of its files", "sh", "-c", `LISTEN_PID=$$ exec "$0" 3</dev/zero`)
	if out, err := cmd.Output(); err != nil || string(out) != "true true /dev/zero <nil>\n" {
		t.Errorf("%q, %v\n%s", out, err, stderr())
	}
	cmd, _ = watched(t, "closes standard output")
	stdout, err := cmd.StdoutPipe()
	check(err)
	stdin, err := cmd.StdinPipe()
	check(err)
	check(cmd.Start())
	_, _ = io.ReadAll(stdout) // Ends although the program goes on.
	check(stdin.Close())
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 8 {
		t.Errorf("exit status %d", cmd.ProcessState.ExitCode())
	}
}
