// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/freehold-go/freehold/gctune"
)

// childVariable tells a process that it is the service. A variable, not an argument, lets any
// program that calls RunChild be its own child, a test binary included.
const childVariable = "FREEHOLD_DOCTOR_SERVICE"

// foreign are the variables that a child does not inherit, because they would change the findings.
var foreign = []string{"GOGC", "GOMEMLIMIT", "GODEBUG", "FREEHOLD", childVariable}

// RunChild is the service, and does not return, if this process was started as one; otherwise it
// returns at once. Call it first in main, and in TestMain of a test that runs the command.
func RunChild() {
	if os.Getenv(childVariable) == "" {
		return
	}
	// Ctrl-C reaches every process of the terminal; the parent ends the service itself.
	signal.Ignore(os.Interrupt)
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sample service:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve works until in ends, which is when the parent closes it or dies. It writes its address to
// out once it works at full speed.
func serve(in io.Reader, out io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen on the loopback interface: %w", err)
	}
	t, err := newTopic(batches)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	go func() { failed <- work(t, newProfiles(customers), runtime.GOMAXPROCS(0)) }()
	fmt.Fprintf(out, "http://%s\n", listener.Addr())
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, in)
		close(ended)
	}()
	select {
	case err := <-failed:
		return err
	case <-ended:
		return nil
	}
}

// handler serves what the doctor reads.
func handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.Handle("/debug/freehold/metrics", gctune.Handler())
	return mux
}

// work handles messages for good with so many goroutines, and returns the first error.
func work(t *topic, p *profiles, workers int) error {
	failed := make(chan error, workers)
	var sent atomic.Int64 // stands for the topic that summaries are written to
	for w := range workers {
		go func() {
			for offset := w * len(t.messages) / workers; ; offset += messagesPerPoll {
				for _, message := range t.poll(offset) {
					summaries, err := p.handle(message)
					if err != nil {
						failed <- err
						return
					}
					for _, s := range summaries {
						sent.Add(int64(len(s)))
					}
				}
			}
		}()
	}
	return <-failed
}

// A Process is the service in a child process.
type Process struct {
	URL    string // where net/http/pprof answers
	stdin  io.Closer
	cmd    *exec.Cmd
	cancel context.CancelFunc
	stop   time.Duration // how long Stop lets it end by itself
}

// stopTime is how long a child may take to end by itself.
const stopTime = 2 * time.Second

// Start starts the service and returns when it answers. The program that calls it must call
// RunChild first in its main. The service ends with ctx, with Stop, or with this process.
func Start(ctx context.Context) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the executable to start as the sample service: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(foreign, name)
	}), childVariable+"=1")
	cmd.WaitDelay = stopTime
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	p, err := start(cmd)
	if err != nil {
		cancel()
		_ = cmd.Wait()
		if text := strings.TrimSpace(stderr.String()); text != "" {
			err = errors.New(text)
		}
		return nil, fmt.Errorf("start the sample service: %w", err)
	}
	p.cancel, p.stop = cancel, stopTime
	return p, nil
}

// start starts cmd and reads its address.
func start(cmd *exec.Cmd) (*Process, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("it ended before it said its address: %w", err)
	}
	return &Process{URL: strings.TrimSpace(line), stdin: stdin, cmd: cmd}, nil
}

// Stop ends the service and waits for that.
func (p *Process) Stop() {
	_ = p.stdin.Close() // asks it to end
	timer := time.AfterFunc(p.stop, p.cancel)
	_ = p.cmd.Wait() // how it ended does not matter any more
	timer.Stop()
	p.cancel()
}
