// SPDX-License-Identifier: Apache-2.0

package gctune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/memlimit"
)

// A Tuner measures memory at regular times and sets GOMEMLIMIT and GOGC by its Options. [Start]
// makes one. Its methods may be called from any goroutine.
type Tuner struct {
	o       Options
	off     string // why the tuner sets nothing, "" if it sets the values
	env     environment
	done    chan struct{}
	gogc    gogc
	peak    map[string]int64 // other memory by level: the highest of late
	squeeze float64          // share of the limit that stays free because work waits for memory
	last    goState          // at the last measurement
	lastErr string           // so that an error is logged once
	logged  int64            // limit that was logged last
	mu      sync.Mutex       // guards the fields below
	stats   Stats
}

// environment is the system that a tuner reads and sets; tests replace it.
type environment struct {
	limiter *memlimit.Limiter
	current func() int64 // GOMEMLIMIT in force
	setGC   func(int) int
	read    func() goState
	offHeap func() int64
	getenv  func(string) (string, bool)
}

func process() environment {
	return environment{
		limiter: memlimit.Process,
		current: func() int64 { return debug.SetMemoryLimit(-1) },
		setGC:   debug.SetGCPercent,
		read:    newGoReader(),
		offHeap: func() int64 { held, _ := freehold.ReadTotals(); return held.Resident() },
		getenv:  os.LookupEnv,
	}
}

// Stats are the last decision and counts since [Start].
type Stats struct {
	Decision
	Looks     uint64 // measurements, each with a decision
	Changes   uint64 // measurements after which GOMEMLIMIT differed from the one before
	Errors    uint64 // measurements that could not read a limit; the last decision stayed in force
	Thrashing uint64 // measurements that found the State Thrashing
}

// running is the tuner of this process.
var running atomic.Pointer[Tuner]

// Start makes the first decision, puts it in force, and adjusts it until ctx ends. Then it restores
// the program's own GOMEMLIMIT and GOGC. Start takes well under a millisecond; call it at the top
// of main.
//
// An error means that nothing was set: an option is meaningless, a limit cannot be read, or
// ErrRunning. If a function of the options panics inside Start, so does Start, and the program's own values
// are in force. It is no error if there is no limit; the tuner follows a limit that appears later.
//
// The environment overrides the options. GCTUNE=off makes the tuner do nothing but report that in
// its Stats. The words dryrun, the name of a policy, and a number such as 0.8 stand for
// Options.DryRun, Policy and Ratio; commas separate several words. The tuner never exceeds a limit
// in GOMEMLIMIT, and leaves a GOGC alone. FREEHOLD=nomemlimit acts like GCTUNE=off.
func Start(ctx context.Context, o Options) (*Tuner, error) {
	t, err := newTuner(o, process())
	if err != nil {
		return nil, err
	}
	if !running.CompareAndSwap(nil, t) {
		return nil, ErrRunning
	}
	returned := false
	defer func() {
		if !returned { // A callback panicked, or ended its goroutine.
			t.restore()
		}
	}()
	t.begin()
	err = t.look()
	returned = true
	if err != nil {
		running.Store(nil)
		return nil, err
	}
	go t.run(ctx)
	return t, nil
}

// Decide returns the decision that [Start] would begin with, and sets nothing. A GOGC that a running
// tuner has set does not count as the program's own.
func Decide(o Options) (Decision, error) {
	o.DryRun, o.OnThrash = true, nil
	t, err := newTuner(o, process())
	if err != nil {
		return Decision{}, err
	}
	t.begin()
	if s, ok := ReadStats(); ok && s.setGOGC(t.last.gogc) {
		t.gogc.why = reasonToKeep(&t.o, defaultGOGC, t.env.getenv)
	}
	err = t.look()
	return t.Stats().Decision, err
}

// ReadStats returns the figures of the tuner that runs in this process. If none runs, ok is false.
func ReadStats() (s Stats, ok bool) {
	t := running.Load()
	if t == nil {
		return s, false
	}
	return t.Stats(), true
}

// Stats returns the last decision and the counts.
func (t *Tuner) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stats
}

// String is one line for people: the state and what is in force. It may be called from any goroutine.
func (t *Tuner) String() string {
	switch {
	case t == nil:
		return "no Tuner"
	case t.done == nil:
		return "a Tuner that Start did not make"
	}
	s := t.Stats()
	gogc := fmt.Sprint(s.GOGC)
	if s.GOGC < 0 {
		gogc = "off"
	}
	text := fmt.Sprintf("Tuner: GOMEMLIMIT %s, GOGC %s, %s", size(s.Limit), gogc, s.State)
	if s.Off != "" {
		text += ", nothing is set (" + s.Off + ")"
	}
	return text
}

// Done is closed when the context has ended and the tuner has restored the program's values. Done
// panics if [Start] did not make the Tuner.
func (t *Tuner) Done() <-chan struct{} {
	if t.done == nil {
		panic(errors.New("gctune: Tuner.Done of a Tuner that Start did not make, so it would never be done: use the pointer that Start returned"))
	}
	return t.done
}

func newTuner(o Options, env environment) (*Tuner, error) {
	words, _ := env.getenv(variable)
	off := o.override(words, os.Stderr)
	if err := o.validate(); err != nil {
		return nil, err
	}
	o.fill()
	t := &Tuner{o: o, env: env, done: make(chan struct{}), peak: map[string]int64{}}
	switch {
	case off:
		t.off = variable + "=off"
	case freehold.Modes().NoMemLimit:
		t.off = "FREEHOLD=nomemlimit"
	case o.DryRun:
		t.off = "a dry run"
	}
	return t, nil
}

// begin reads what the program has set. It comes when no other tuner has anything in force any more.
func (t *Tuner) begin() {
	t.last = t.env.read()
	t.gogc.init(&t.o, t.last.gogc, t.env.getenv)
}

// run measures until the context ends.
func (t *Tuner) run(ctx context.Context) {
	defer close(t.done)
	defer t.restore()
	if t.o.Interval < 0 {
		<-ctx.Done()
		return
	}
	ticker := time.NewTicker(t.o.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := t.look(); err != nil && err.Error() != t.lastErr {
			t.lastErr = err.Error()
			t.o.Logger.Warn("gctune: the last decision stays in force", "error", err)
		}
	}
}

// restore sets the program's own values again.
func (t *Tuner) restore() {
	if t.off == "" {
		t.env.limiter.SetBudget(memlimit.Budget{}, t.env.offHeap)
		t.gogc.restore(t.env.setGC, t.env.read().gogc)
	}
	running.CompareAndSwap(t, nil)
}

// look measures, decides, and applies the decision.
func (t *Tuner) look() error {
	levels, err := t.levels()
	if err != nil {
		t.mu.Lock()
		t.stats.Errors++
		t.mu.Unlock()
		return err
	}
	t.lastErr = ""
	now := t.env.read()
	was := t.Stats()
	d, budget := t.decide(levels, now)
	if t.off == "" {
		t.env.limiter.SetBudget(budget, t.env.offHeap)
		d.Limit = t.env.current()
	}
	t.assess(&d, now, was.State)
	t.adaptSqueeze(d.Pressure, d.State)
	d.GOGC, d.GOGCWhy = t.gogc.decide(&d, now)
	if t.off == "" {
		t.gogc.set(d.GOGC, t.env.setGC)
	}
	t.last = now
	t.record(d, was)
	return nil
}

// levels are the bounds on this process's memory.
func (t *Tuner) levels() ([]level, error) {
	if t.o.Limit == nil {
		return readLevels(t.o.Root, t.o.Source)
	}
	n, err := t.o.Limit()
	if err != nil {
		return nil, fmt.Errorf("gctune: Options.Limit: %w", err)
	}
	if n <= 0 {
		return nil, fmt.Errorf("gctune: Options.Limit: %d bytes; want more than 0, and math.MaxInt64 for no limit", n)
	}
	if n >= unlimited {
		return nil, nil
	}
	return []level{{name: "Options.Limit", limit: n, hard: n, used: ownMemory(t.o.Root)}}, nil
}

// peakDecay is the factor by which the figure of other memory may fall at each measurement. Such
// memory often returns, and each change of the limit costs collections.
const peakDecay = 0.9

// decide computes the limit by the level that leaves the least.
//
//	soft = limit·Ratio − Reserve − squeeze·limit − other
//	hard = limit that kills, less a quarter of the headroom, − other
//	other = used − Go's memory − off-heap memory, at least Options.Other
//
// Only the limiter subtracts off-heap memory. If the limit is the machine's, other programs never
// push Go below the memory that it takes with GOGC=100. A group's memory belongs to its members,
// but the machine's belongs to no program in particular. A program that starved whenever its
// neighbours grow would use CPU time to leave them little memory.
func (t *Tuner) decide(levels []level, now goState) (d Decision, budget memlimit.Budget) {
	d = Decision{Total: none, OffHeap: t.env.offHeap(), User: t.env.limiter.User(), Policy: t.o.Policy, MaxGrowth: t.o.MaxGrowth, Off: t.off}
	told := int64(0)
	if t.o.Other != nil {
		told = t.o.Other()
	}
	for _, l := range levels {
		other := max(0, told, l.used-now.taken-d.OffHeap, int64(float64(t.peak[l.name])*peakDecay))
		other = min(other, unlimited) // More would overflow beside a Reserve.
		t.peak[l.name] = other
		share := 1 - t.o.Ratio
		squeezed := int64(t.squeeze * float64(l.limit))
		headroom := int64(share*float64(l.limit)) + min(t.o.Reserve, l.limit) + squeezed
		soft := max(l.limit-headroom-other, l.limit/leastShare, 1)
		if l.machine {
			soft = max(soft, min(now.unlimited()+d.OffHeap, l.limit-headroom))
		}
		hard := max(l.hard-int64(share/4*float64(l.hard))-other, soft)
		if d.Source == "" || soft < budget.Soft {
			d.Source, d.Total, d.Headroom, d.Squeezed, d.Other = l.name, l.limit, headroom, squeezed, other
			d.Pressure = readPressure(t.o.Root, l.pressure)
			budget.Soft = soft
		}
		if budget.Hard == 0 || hard < budget.Hard {
			budget.Hard = hard
		}
	}
	if d.Source != "" {
		budget.Min = t.o.Min
		budget.Hard = max(budget.Hard, budget.Soft)
	}
	d.Limit = t.env.limiter.Preview(budget, d.OffHeap)
	return d, budget
}

// leastShare of a limit stays with Go and off-heap memory, for any memory of others: with less than
// a tenth the collector would only use CPU time.
const leastShare = 10

// If work waits for memory more than pressureHigh percent of the time, each measurement adds
// squeezeStep of the limit to the headroom, up to squeezeMost. Below pressureLow the headroom
// shrinks at half the pace. Processes wait if the kernel has reclaimed page cache that they need,
// or above memory.high.
const (
	pressureHigh = 10
	pressureLow  = 1
	squeezeStep  = 0.02
	squeezeMost  = 0.2
)

func (t *Tuner) adaptSqueeze(p Pressure, state State) {
	switch {
	case !p.Known || p.Some < pressureLow:
		t.squeeze = max(0, t.squeeze-squeezeStep/2)
	case p.Some >= pressureHigh && state == Ample: // A smaller heap would cost more CPU than the waiting.
		t.squeeze = min(squeezeMost, t.squeeze+squeezeStep)
	}
}

// assess compares the limit with the live heap.
func (t *Tuner) assess(d *Decision, now goState, was State) {
	d.Live, d.Runtime, d.Room = now.live, now.beside, none
	if d.Limit != none {
		d.Room = max(0, int64(float64(d.Limit)*(1-runtimeHeadroom))-now.beside)
	}
	if cpu := now.cpuAll - t.last.cpuAll; cpu > 0 {
		d.GCShare = max(0, min(1, (now.cpuGC-t.last.cpuGC)/cpu))
	}
	d.State = was.next(d.Ratio())
	if d.Limit != none && now.limiter > t.last.limiter {
		d.State = Thrashing
	}
	if lack := d.lack(); d.State != Ample && d.Total != none {
		d.Wanted = d.Total + int64(min(unlimited, math.Ceil(float64(lack)/t.o.Ratio)))
	}
}

// record keeps the figures and logs changes.
func (t *Tuner) record(d Decision, was Stats) {
	first := was.Looks == 0
	changed := first || abs(d.Limit-t.logged) > t.logged/64
	t.mu.Lock()
	s := &t.stats
	s.Decision = d
	s.Looks++
	if d.Limit != was.Limit {
		s.Changes++
	}
	if d.State == Thrashing {
		s.Thrashing++
	}
	now := *s
	t.mu.Unlock()

	entered := d.State == Thrashing && (first || was.State != Thrashing)
	switch {
	case entered:
		t.o.Logger.Warn("gctune: the memory limit is too near to the live heap", "why", d.String(), "decision", d)
	case changed || d.State != was.State:
		t.o.Logger.Info("gctune: memory limit", "why", d.String(), "decision", d)
	}
	if changed {
		t.logged = d.Limit
	}
	if entered && t.o.OnThrash != nil {
		t.o.OnThrash(now)
	}
}

func abs(n int64) int64 { return max(n, -n) }
