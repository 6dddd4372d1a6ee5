// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/debugport"
	"github.com/freehold-go/freehold/cmd/doctor/service"
	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/terminal"
	"github.com/freehold-go/freehold/gctune"
)

// address watches the running program at an address.
func (c *collector) address(ctx context.Context, address string) error {
	server, err := debugport.ParseWith(address, c.Server)
	if err != nil {
		return fmt.Errorf("doctor: %w", err)
	}
	c.sources = append(c.sources, server.String())
	return c.watch(ctx, server)
}

// watch takes the program's state, a CPU profile, and the state again. The heap profiles are taken
// right after a collection, and not during the CPU profile. Go's heap profile has the allocations
// up to the last collection, so the difference of the two is exact.
func (c *collector) watch(ctx context.Context, server *debugport.Server) error {
	c.Progress("asking " + server.String())
	if _, err := c.get(ctx, server, debugport.Pprof+"/", 0); err != nil {
		return err
	}
	counter, err := c.findCounter(ctx, server)
	if err != nil {
		return err
	}
	metrics := c.metricsPath(ctx, server)
	before, err := c.heap(ctx, server, fileHeap0)
	if err != nil {
		return err
	}
	if c.ev.Metrics[0], err = c.metrics(ctx, server, metrics); err != nil {
		return err
	}
	if err := c.settled(ctx, server, &c.ev.Metrics[0]); err != nil {
		return err
	}
	if err := c.profile(ctx, server, counter); err != nil {
		return err
	}
	if c.ev.Metrics[1], err = c.metrics(ctx, server, metrics); err != nil {
		return err
	}
	after, err := c.heap(ctx, server, fileHeap1)
	if err != nil {
		return err
	}
	if err := c.settled(ctx, server, &c.ev.Metrics[1]); err != nil {
		return err
	}
	c.addReadings()
	for i, name := range []string{fileMetric0, fileMetric1} {
		if err := c.keepMetrics(name, c.ev.Metrics[i]); err != nil {
			return err
		}
	}
	c.ev.Heap = [2]*profile.Profile{before, after}
	if before != nil && after != nil {
		if len(c.curve) > 0 {
			c.ev.Curve = slices.Concat([]float64{evidence.InUse(before)}, c.curve, []float64{evidence.InUse(after)})
		}
		c.ev.Window = time.Duration(after.TimeNanos - before.TimeNanos) // both by the program's clock
	}
	return nil
}

// profile takes the CPU profile, and reads the counter of operations right before and right after it.
func (c *collector) profile(ctx context.Context, server *debugport.Server, counter *counterPort) error {
	if err := c.count(ctx, counter, 0); err != nil {
		return err
	}
	if err := c.cpu(ctx, server); err != nil {
		return err
	}
	return c.count(ctx, counter, 1)
}

// cpu takes the CPU profile and shows the progress.
func (c *collector) cpu(ctx context.Context, server *debugport.Server) error {
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
			c.Progress(fmt.Sprintf("profiling %s: %s of %s", server.String(), terminal.Elapsed(min(time.Since(begin), duration)), terminal.Elapsed(duration)))
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	end := c.growth(ctx, server, max(curveEvery, duration/(mostCurve+1)))
	data, err := c.get(ctx, server, debugport.CPU(int(duration.Seconds())), duration)
	c.curve = end()
	close(done)
	<-stopped
	if err != nil {
		return err
	}
	c.Progress(fmt.Sprintf("profiling %s: %s of %s", server.String(), terminal.Elapsed(duration), terminal.Elapsed(duration)))
	c.keep(fileCPU, data)
	return c.read(server.String()+debugport.Pprof+"/profile", data)
}

// The heap profiles during the CPU profile: the least time between two, and their largest number.
const (
	curveEvery = 2 * time.Second
	mostCurve  = 8
)

// growth takes heap profiles in the background, without a collection, until the returned function is
// called, which returns their bytes in use. It ends at the first one that fails: the curve is worth
// less than the profiles at the ends, and these report errors.
func (c *collector) growth(ctx context.Context, server *debugport.Server, every time.Duration) (end func() []float64) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan []float64, 1)
	go func() {
		var list []float64
		defer func() { done <- list }()
		tick := time.NewTicker(every)
		defer tick.Stop()
		for len(list) < mostCurve {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			data, err := server.Get(ctx, debugport.Pprof+"/heap", 0)
			if err != nil {
				return
			}
			e, err := alone("heap", data)
			if err != nil || e.Heap[1] == nil {
				return
			}
			list = append(list, evidence.InUse(e.Heap[1]))
			c.keep(fmt.Sprintf("heap-%d.pb.gz", len(list)), data)
		}
	}()
	return func() []float64 {
		cancel()
		return <-done
	}
}

// heap takes a heap profile. If the program does not serve it, heap leaves it out, and the report
// says so.
func (c *collector) heap(ctx context.Context, server *debugport.Server, name string) (*profile.Profile, error) {
	data, err := c.get(ctx, server, debugport.Heap, 0)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e, err := alone(server.String()+debugport.Pprof+"/heap", data)
	if err != nil {
		return nil, err
	}
	c.keep(name, data)
	return e.Heap[1], nil
}

// metricsPath is the path at which the program serves the most metrics: gctune's handler has all of
// them, expvar and the text form of the heap profile have runtime.MemStats.
func (c *collector) metricsPath(ctx context.Context, server *debugport.Server) string {
	for _, path := range []string{gctune.HandlerPath, debugport.Vars} {
		data, err := c.get(ctx, server, path, 0)
		if err != nil {
			continue
		}
		if e, err := alone(path, data); err == nil && !e.Metrics[1].Empty() {
			return path
		}
	}
	return debugport.HeapText
}

// metrics reads the metrics at one end of the window.
func (c *collector) metrics(ctx context.Context, server *debugport.Server, path string) (evidence.Metrics, error) {
	data, err := c.get(ctx, server, path, 0)
	if isMissing(err) {
		return evidence.Metrics{}, nil
	}
	if err != nil {
		return evidence.Metrics{}, err
	}
	e, err := alone(server.String()+path, data)
	if err != nil {
		return evidence.Metrics{}, err
	}
	if e.Main != "" {
		c.ev.Main = e.Main
	}
	if e.Go != "" {
		c.ev.Go = e.Go
	}
	return e.Metrics[1], nil
}

// keepMetrics keeps values in the form of gctune.Handler, which can hold all of them. The text form
// of a heap profile is not kept as it was served: it is a heap profile as well, and there are two
// of these already.
func (c *collector) keepMetrics(name string, m evidence.Metrics) error {
	if m.Empty() {
		return nil
	}
	fields := map[string]any{"main": c.ev.Main, "go": c.ev.Go}
	for metric, v := range m.Values {
		fields[metric] = v
	}
	for metric, h := range m.Histograms {
		fields[metric] = h
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("doctor: %w", err)
	}
	c.keep(name, data)
	return nil
}

// settled notes the live heap and the next collection's goal as they are right after the collection
// that a heap profile asked for, if the program's metrics lack the live heap: GOGC follows from
// these two.
func (c *collector) settled(ctx context.Context, server *debugport.Server, m *evidence.Metrics) error {
	if _, ok := m.Get(evidence.MetricLiveHeap); ok || m.Empty() {
		return nil
	}
	data, err := c.get(ctx, server, debugport.HeapText, 0)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	e, err := alone(server.String()+debugport.HeapText, data)
	if err != nil {
		return err
	}
	live, ok1 := e.Metrics[1].Get(evidence.MetricHeapInUse)
	goal, ok2 := e.Metrics[1].Get(evidence.MetricHeapGoal)
	if ok1 && ok2 {
		m.Set(evidence.MetricLiveHeap, live)
		m.Set(evidence.MetricHeapGoal, goal)
	}
	return nil
}

// get reads one answer of the program, which covers a window of time.
func (c *collector) get(ctx context.Context, server *debugport.Server, path string, window time.Duration) ([]byte, error) {
	data, err := server.Get(ctx, path, window)
	if err != nil {
		return nil, fmt.Errorf("doctor: %w", err)
	}
	return data, nil
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
	server, err := debugport.Parse(child.URL)
	if err != nil {
		return fmt.Errorf("doctor: %w", err)
	}
	err = c.watch(ctx, server)
	c.ev.Main = serviceModule
	return err
}
