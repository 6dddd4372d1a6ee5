// SPDX-License-Identifier: Apache-2.0

//go:build unix

package process

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"testing"
)

// started is a shell with a child that says when it is up, and would go on for a minute. The reader
// ends when both have: they alone hold the other end.
func started(t *testing.T, ctx context.Context, script string) (*exec.Cmd, io.Reader) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script)
	cmd.Stdout = w
	Own(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() { _ = Kill(cmd) })
	out := bufio.NewReader(r)
	if line, err := out.ReadString('\n'); line != "up\n" {
		t.Fatalf("the shell says %q, %v", line, err)
	}
	return cmd, out
}

// gone waits until nothing is left that was started.
func gone(t *testing.T, out io.Reader) {
	t.Helper()
	if _, err := io.ReadAll(out); err != nil {
		t.Error(err)
	}
}

func TestInterrupt(t *testing.T) {
	// A child inherits that the interrupt is ignored, as it is in the background of a shell, but
	// not that it is caught.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt)
	defer signal.Stop(caught)
	cmd, out := started(t, t.Context(), `sh -c "echo up; exec sleep 60"; true`)
	if err := Interrupt(cmd); err != nil {
		t.Fatal(err)
	}
	gone(t, out)
	if err := cmd.Wait(); err == nil {
		t.Error("the shell came to its end")
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd, out := started(t, ctx, `sh -c "echo up; exec sleep 60"; true`)
	cancel()
	gone(t, out)
	if err := cmd.Wait(); err == nil {
		t.Error("the shell came to its end")
	}
}

// What the command leaves behind is ended after it.
func TestKillLeft(t *testing.T) {
	cmd, out := started(t, t.Context(), `sh -c "echo up; exec sleep 60" &`)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := Kill(cmd); err != nil {
		t.Fatal(err)
	}
	gone(t, out)
}

func TestNothingLeft(t *testing.T) {
	cmd, out := started(t, t.Context(), "echo up")
	gone(t, out)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]func(*exec.Cmd) error{"Interrupt": Interrupt, "Kill": Kill} {
		if err := end(cmd); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
