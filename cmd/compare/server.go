// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/debugport"
	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// A server is a running program with net/http/pprof.
type server struct {
	*debugport.Server
	side string // In messages.
	per  string
	// counter is the path that has the counter per, "" before it was found.
	counter string
}

// serverContest prepares the comparison of two servers. They are watched at the same time, so that
// both have the same load and the same disturbances.
func serverContest(ctx context.Context, o *Options) (*contest, error) {
	var servers [2]*server
	for i, address := range [2]string{o.A, o.B} {
		port, err := debugport.Parse(address)
		if err != nil {
			return nil, fmt.Errorf("compare: %s: %w", sideNames[i], err)
		}
		servers[i] = &server{Server: port, side: sideNames[i], per: o.Per}
		o.progress("compare: " + sideNames[i] + ": asking " + port.String())
		if _, err := servers[i].read(ctx); err != nil {
			return nil, err
		}
	}
	if servers[0].Same(servers[1].Server) {
		return nil, fmt.Errorf("compare: A and B are the same server, %s; a server takes one CPU profile at a time", servers[0])
	}
	c := &contest{per: "second", notes: []string{"peak RSS counts from the start of each server"}}
	if o.Per != "" {
		c.per = o.Per
	}
	c.pair = func(ctx context.Context, _, _ bool) (both [2]sample, err error) {
		var wg sync.WaitGroup
		var errs [2]error
		for i, s := range servers {
			wg.Go(func() { both[i], errs[i] = s.watch(ctx, o.Window) })
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return both, err
			}
		}
		return both, nil
	}
	return c, nil
}

// name is the server's name in messages.
func (s *server) name() string { return "compare: " + s.side + ", " + s.String() }

// get reads an answer that covers a window.
func (s *server) get(ctx context.Context, path string, window time.Duration) ([]byte, error) {
	data, err := s.Get(ctx, path, window)
	if err != nil {
		return nil, fmt.Errorf("compare: %s: %w", s.side, err)
	}
	return data, nil
}

// A reading has a server's figures at one moment.
type reading struct {
	at      time.Time
	metrics evidence.Metrics
	stats   evidence.MemStats
	work    float64 // the value of the counter Options.Per
}

// read asks for the statistics of the heap profile's text form, which every server with
// net/http/pprof has.
func (s *server) read(ctx context.Context) (*reading, error) {
	text, err := s.get(ctx, debugport.HeapText, 0)
	if err != nil {
		return nil, err
	}
	r := &reading{at: time.Now()}
	var e evidence.Evidence
	if err := e.Read(s.name()+debugport.HeapText, bytes.NewReader(text)); err != nil {
		return nil, err
	}
	r.metrics = e.Metrics[1]
	r.stats = evidence.ReadMemStats(text)
	if s.per == "" {
		return r, nil
	}
	if r.work, err = s.count(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// count reads the counter, at the path where the server has it.
func (s *server) count(ctx context.Context) (v float64, err error) {
	parse := func(answer []byte) error {
		v, err = evidence.Counter(answer, s.per)
		return err
	}
	if s.counter != "" {
		answer, err := s.get(ctx, s.counter, 0)
		if err != nil {
			return 0, err
		}
		if err := parse(answer); err != nil {
			return 0, fmt.Errorf("%s%s: %w", s.name(), s.counter, err)
		}
		return v, nil
	}
	path, err := s.FirstOf(ctx, debugport.Counters, parse)
	switch {
	case debugport.Status(err) == http.StatusNotFound:
		return 0, fmt.Errorf("compare: %s: %w, or leave out -per", s.side, err)
	case err != nil:
		return 0, fmt.Errorf("compare: %s: %w", s.side, err)
	}
	s.counter = path
	return v, nil
}

// watch profiles the server for a window and reads its counters at both ends.
func (s *server) watch(ctx context.Context, window time.Duration) (sample, error) {
	before, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	path := debugport.CPU(int(window.Seconds()))
	data, err := s.get(ctx, path, window)
	if err != nil {
		return nil, err
	}
	after, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	e := &evidence.Evidence{Source: s.String()}
	if err := e.Read(s.name()+path, bytes.NewReader(data)); err != nil {
		return nil, err
	}
	if e.CPU == nil {
		return nil, fmt.Errorf("%s%s: no CPU profile", s.name(), path)
	}
	elapsed := after.at.Sub(before.at).Seconds()
	work, profiled := elapsed, window.Seconds()
	values := sample{}
	if s.per != "" {
		if work = after.work - before.work; work <= 0 {
			return nil, fmt.Errorf("%s: the counter %q did not rise in %s; is the server under load?", s.name(), s.per, terminal.Seconds(elapsed))
		}
		values[s.per+" per second"] = work / elapsed
		profiled = window.Seconds() * work / elapsed
	}
	cpu := cpuSeconds(e.CPU) / profiled
	values[MeasureCPU] = cpu
	values[MeasureGCCPU] = doctor.Diagnose(ctx, e).GCShare * cpu
	addDifferences(values, before, after, work)
	return values, nil
}

// addDifferences adds the differences of the counters between two readings, divided by the work
// done.
func addDifferences(values sample, before, after *reading, work float64) {
	rise := func(name string) (float64, bool) {
		a, okA := before.metrics.Get(name)
		b, okB := after.metrics.Get(name)
		return b - a, okA && okB && b >= a
	}
	for measure, name := range map[string]string{MeasureAllocBytes: evidence.MetricAllocBytes, MeasureAllocs: evidence.MetricAllocObjects} {
		if v, ok := rise(name); ok {
			values[measure] = v / work
		}
	}
	if after.stats.MaxRSS > 0 {
		values[MeasurePeakRSS] = after.stats.MaxRSS
	}
	cycles, ok := rise(evidence.MetricCyclesTotal)
	if !ok {
		return
	}
	values[MeasureGCCycles] = cycles / work
	last, _ := after.metrics.Get(evidence.MetricCyclesTotal)
	if pauses := after.stats.LastPauses(int(last), int(cycles)); len(pauses) > 0 {
		// If there were more cycles than the ring holds, the last ones stand for all.
		part := float64(len(pauses)) / cycles
		addPauses(values, pauses, time.Duration(part*float64(after.at.Sub(before.at))))
	}
}

// cpuSeconds is the total of a CPU profile.
func cpuSeconds(p *profile.Profile) float64 {
	i := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" && t.Unit == "nanoseconds" })
	if i < 0 {
		return 0
	}
	sum := int64(0)
	for _, s := range p.Sample {
		sum += s.Value[i]
	}
	return float64(sum) / 1e9
}
