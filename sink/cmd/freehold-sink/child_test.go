// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/freehold-go/freehold/sink/config"
)

// child is a process of freehold-sink.
type child struct {
	cmd  *exec.Cmd
	log  string // the file of what it prints
	done chan struct{}
	err  error // valid after done
}

// sinkCommand is freehold-sink with a configuration.
func sinkCommand(t *testing.T, conf config.Config, name string) *exec.Cmd {
	t.Helper()
	var text bytes.Buffer
	if err := config.Write(&text, conf); err != nil {
		t.Fatal(err)
	}
	f, err := os.CreateTemp(t.TempDir(), "sink*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(text.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], name, "-config", f.Name())
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

// spawn starts a process that writes. It dies at a place, unless that is "".
func spawn(t *testing.T, conf config.Config, dies string) *child {
	t.Helper()
	cmd := sinkCommand(t, conf, "run")
	cmd.Env = append(cmd.Env, diesAt+"="+dies)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: cmd, log: log.Name(), done: make(chan struct{})}
	go func() {
		c.err = cmd.Wait()
		close(c.done)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill() // It may have ended.
		<-c.done
	})
	return c
}

// ended reports whether the process has ended.
func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// text is what the process has printed.
func (c *child) text(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(c.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tail is the end of it.
func (c *child) tail(t *testing.T) string {
	t.Helper()
	text := c.text(t)
	return text[max(0, len(text)-2000):]
}

// place is where a process that has ended died, "" if it ended otherwise.
func (c *child) place(t *testing.T) string {
	t.Helper()
	if !c.slain() {
		return ""
	}
	_, place, _ := strings.Cut(c.text(t), killed)
	place, _, ok := strings.Cut(place, "\n")
	if !ok {
		return anywhere
	}
	return place
}

// slain reports whether a process that has ended was ended by SIGKILL.
func (c *child) slain() bool {
	var exit *exec.ExitError
	if !errors.As(c.err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// stop ends a process by SIGTERM, which must succeed.
func (c *child) stop(t *testing.T) {
	t.Helper()
	peak, began := c.peak(), time.Now()
	c.cmd.Process.Signal(syscall.SIGTERM) // It may have ended.
	<-c.done
	t.Logf("stopped in %v, peak RSS %s", time.Since(began).Round(time.Millisecond), peak)
	if c.err != nil && !c.slain() {
		t.Errorf("the sink ended with %v\n%s", c.err, c.tail(t))
	}
}

// peak is the most memory that a running process had. The system's figure for a process that has ended counts this process, too, from which it was forked.
func (c *child) peak() string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		return "unknown"
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// inspect runs freehold-sink inspect, which must find neither gaps nor overlaps.
func inspect(t *testing.T, conf config.Config) {
	t.Helper()
	out, err := sinkCommand(t, conf, "inspect").CombinedOutput()
	if err != nil {
		t.Errorf("inspect: %v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, " ") || strings.Contains(line, "not written by") {
			t.Errorf("inspect: %s", line)
		}
	}
	t.Logf("inspect: %s", lines[len(lines)-1])
}
