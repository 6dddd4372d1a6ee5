// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asFreehold is this test binary as the command freehold.
func asFreehold(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = "freehold"
	return cmd
}

// TestDoctorTerminated: a signal that ends the doctor, such as Ctrl-C, also ends the command that
// it started. The doctor then reports on the evidence so far.
func TestDoctorTerminated(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	endless := filepath.Join(t.TempDir(), "endless")
	if err := os.Symlink(self, endless); err != nil {
		t.Fatal(err)
	}
	cmd := asFreehold(t, "doctor", "-json", "--", endless)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "up and running") {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(stdout.String(), `"verdict"`) {
		t.Errorf("%v; the report is %q", err, stdout.String())
	}
}

// The second Ctrl-C ends the doctor whatever it waits for, here its standard input. The first is
// not taken at once, so that there are more.
func TestDoctorInterrupted(t *testing.T) {
	// A child inherits that the interrupt is ignored, as it is in the background of a shell, but
	// not that it is caught.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt)
	defer signal.Stop(caught)
	cmd := asFreehold(t, "doctor", "-")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write(make([]byte, 1<<20)); err != nil { // more than a pipe holds, so that the doctor reads by now
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		select {
		case err := <-ended:
			if err == nil {
				t.Error("it ended as if it had an answer")
			}
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	_ = cmd.Process.Kill()
	t.Error("interrupts for a minute did not end it")
}
