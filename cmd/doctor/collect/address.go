package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/doctor/service"
	"github.com/freehold-go/freehold/gctune"
)

// Limits on what a running program may answer.
const (
	answerTime = 30 * time.Second
	answerSize = 256 << 20 // bytes; the largest profiles of large programs have some tens of MiB
)

// pprofPath is where net/http/pprof answers.
const pprofPath = "/debug/pprof"

// address watches the running program at an address.
func (c *collector) address(ctx context.Context, address string) error {
	base, err := baseOf(address)
	if err != nil {
		return err
	}
	c.sources = append(c.sources, base.Redacted())
	return c.watch(ctx, base)
}

// baseOf is the part of an address before /debug/pprof.
func baseOf(address string) (*url.URL, error) {
	base, err := url.Parse(address)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("doctor: %q is no address; write it like http://localhost:6060", address)
	}
	path, _, _ := strings.Cut(base.Path, pprofPath)
	base.Path, base.RawQuery, base.Fragment = strings.TrimSuffix(path, "/"), "", ""
	return base, nil
}

// watch takes the program's state, a CPU profile, and the state again. The heap profiles are taken right after a collection, outside of
// the CPU profile: Go's heap profile tells what was allocated up to the last collection, so that their difference is then exact.
func (c *collector) watch(ctx context.Context, base *url.URL) error {
	c.Progress("asking " + base.Redacted())
	if _, err := c.get(ctx, base, pprofPath+"/", answerTime); err != nil {
		return err
	}
	metrics := c.metricsPath(ctx, base)
	before, err := c.heap(ctx, base, fileHeap0)
	if err != nil {
		return err
	}
	if c.ev.Metrics[0], err = c.metrics(ctx, base, metrics, fileMetric0); err != nil {
		return err
	}
	if err := c.cpu(ctx, base); err != nil {
		return err
	}
	if c.ev.Metrics[1], err = c.metrics(ctx, base, metrics, fileMetric1); err != nil {
		return err
	}
	after, err := c.heap(ctx, base, fileHeap1)
	if err != nil {
		return err
	}
	c.ev.Heap = [2]*profile.Profile{before, after}
	if before != nil && after != nil {
		c.ev.Window = time.Duration(after.TimeNanos - before.TimeNanos) // both by the program's clock
	}
	return nil
}

// cpu takes the CPU profile, and shows how far it is.
func (c *collector) cpu(ctx context.Context, base *url.URL) error {
	duration := c.duration(watchTime).Round(time.Second)
	duration = max(duration, time.Second) // net/http/pprof takes whole seconds
	begin := time.Now()
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			c.Progress(fmt.Sprintf("profiling %s: %.0f of %.0f s", base.Redacted(), min(time.Since(begin), duration).Seconds(), duration.Seconds()))
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	data, err := c.get(ctx, base, fmt.Sprintf("%s/profile?seconds=%d", pprofPath, int(duration.Seconds())), duration+answerTime)
	close(done)
	<-stopped
	if err != nil {
		return err
	}
	c.Progress(fmt.Sprintf("profiling %s: %.0f of %.0f s", base.Redacted(), duration.Seconds(), duration.Seconds()))
	c.keep(fileCPU, data)
	return c.read(base.Redacted()+pprofPath+"/profile", data)
}

// heap takes a heap profile. One that the program does not serve is left out; the report then says so.
func (c *collector) heap(ctx context.Context, base *url.URL, name string) (*profile.Profile, error) {
	data, err := c.get(ctx, base, pprofPath+"/heap?gc=1", answerTime)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e, err := alone(base.Redacted()+pprofPath+"/heap", data)
	if err != nil {
		return nil, err
	}
	c.keep(name, data)
	return e.Heap[1], nil
}

// metricsPath is where the program tells its metrics best: gctune's handler has all of them, expvar and the text form of the heap
// profile have runtime.MemStats.
func (c *collector) metricsPath(ctx context.Context, base *url.URL) string {
	for _, path := range []string{gctune.HandlerPath, "/debug/vars"} {
		data, err := c.get(ctx, base, path, answerTime)
		if err != nil {
			continue
		}
		if e, err := alone(path, data); err == nil && !e.Metrics[1].Empty() {
			return path
		}
	}
	return pprofPath + "/heap?debug=1"
}

// metrics reads the metrics at one end of the window.
func (c *collector) metrics(ctx context.Context, base *url.URL, path, name string) (doctor.Metrics, error) {
	data, err := c.get(ctx, base, path, answerTime)
	if isMissing(err) {
		return doctor.Metrics{}, nil
	}
	if err != nil {
		return doctor.Metrics{}, err
	}
	e, err := alone(base.Redacted()+path, data)
	if err != nil {
		return doctor.Metrics{}, err
	}
	if e.Main != "" {
		c.ev.Main = e.Main
	}
	if e.Go != "" {
		c.ev.Go = e.Go
	}
	// Not as it was served: the text form is a heap profile as well, and there are two of these already.
	return e.Metrics[1], c.keepMetrics(name, e)
}

// keepMetrics keeps the values of an Evidence in the form of gctune.Handler, which has a place for all of them.
func (c *collector) keepMetrics(name string, e *doctor.Evidence) error {
	fields := map[string]any{"main": e.Main, "go": e.Go}
	for metric, v := range e.Metrics[1].Values {
		fields[metric] = v
	}
	for metric, h := range e.Metrics[1].Histograms {
		fields[metric] = h
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("doctor: %w", err)
	}
	c.keep(name, data)
	return nil
}

// A statusError is an answer other than 200.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

// isMissing reports whether the program does not serve the path.
func isMissing(err error) bool {
	var status *statusError
	return errors.As(err, &status) && status.status == http.StatusNotFound
}

// get reads one answer of the program.
func (c *collector) get(ctx context.Context, base *url.URL, path string, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base.String()+path, nil)
	if err != nil {
		return nil, fmt.Errorf("doctor: %q is no address; write it like http://localhost:6060", base.Redacted())
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, unreachable(base, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, answerSize+1))
	if err != nil && errors.Is(ctx.Err(), context.Canceled) { // by the user, and not the program's end
		return nil, unreachable(base, ctx.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("doctor: %s%s: the answer broke off: %w; is the program still running?", base.Redacted(), path, cause(err))
	}
	if len(data) > answerSize {
		return nil, fmt.Errorf("doctor: %s%s: the answer has more than %d MiB, which no profile has", base.Redacted(), path, answerSize>>20)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, refused(base, path, resp, data)
	}
	return data, nil
}

// unreachable says why there was no answer.
func unreachable(base *url.URL, err error) error {
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("doctor: %s: interrupted: %w", base.Redacted(), context.Canceled)
	case errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err):
		return fmt.Errorf("doctor: %s does not answer in time; is that the address of its debug port?", base.Redacted())
	case errors.As(err, &dns):
		return fmt.Errorf("doctor: there is no host %s; check the address", base.Hostname())
	}
	return fmt.Errorf("doctor: cannot reach %s: %w; is the program running, and does it listen there?", base.Redacted(), cause(err))
}

// cause is an error without the request around it.
func cause(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	var syscall *os.SyscallError
	if errors.As(err, &syscall) {
		return syscall.Err
	}
	return err
}

// refused says why the program did not answer with what was asked for.
func refused(base *url.URL, path string, resp *http.Response, data []byte) error {
	text := fmt.Sprintf("doctor: %s%s answers %q", base.Redacted(), path, resp.Status)
	first, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		text += "; write user and password into the address, like http://user:password@host, or ask for permission"
	case resp.StatusCode == http.StatusNotFound:
		text += `; import _ "net/http/pprof" in the program and serve http.DefaultServeMux, or give the address of its debug port`
	case strings.Contains(first, "already in use"):
		text += "; somebody else is taking a CPU profile: try again when that is done"
	case strings.Contains(first, "WriteTimeout"):
		text += "; the server's WriteTimeout is shorter than the profile: give a shorter -duration"
	case first != "" && len(first) < 200 && resp.Header.Get("X-Go-Pprof") == "1":
		text += ": " + first
	default:
		text += "; is there a Go program with net/http/pprof?"
	}
	return &statusError{resp.StatusCode, text}
}

// serviceModule is the module of the sample service.
const serviceModule = "github.com/freehold-go/freehold/cmd"

// warmUp is how long the sample service works before it is watched.
const warmUp = time.Second

// service watches the sample service in a child process.
func (c *collector) service(ctx context.Context) error {
	c.sources = append(c.sources, "the sample service")
	c.Progress("starting the sample service: batches of orders in JSON are decoded, grouped and encoded")
	child, err := service.Start(ctx)
	if err != nil {
		return fmt.Errorf("doctor: %w", err)
	}
	defer child.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("doctor: the sample service: interrupted: %w", ctx.Err())
	case <-time.After(warmUp):
	}
	base, err := baseOf(child.URL)
	if err != nil {
		return err
	}
	err = c.watch(ctx, base)
	c.ev.Main = serviceModule
	return err
}
