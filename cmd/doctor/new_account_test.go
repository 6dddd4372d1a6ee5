// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"math"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/evidence"
)

// What the scheduler does when the sweeper gives way is the sweeper's cost, unless the program
// gives way itself.
func TestYields(t *testing.T) {
	yield := framesOf("runtime.lock2", "runtime.goschedImpl", "runtime.gosched_m", "runtime.mcall")
	sweeper := framesOf("runtime.sweepone", "runtime.bgsweep")
	own := framesOf("runtime.Gosched", "main.spin")
	for _, c := range []struct {
		name   string
		stacks [][]*stack.Frame
		want   stack.Class
	}{
		{"the sweeper", [][]*stack.Frame{yield, sweeper}, stack.Sweep},
		{"nobody is known", [][]*stack.Frame{yield}, stack.Mutator},
		{"the program", [][]*stack.Frame{yield, sweeper, own}, stack.Mutator},
	} {
		b := sampled(c.stacks)
		b.chargeYields()
		wantClass(t, c.name, b, c.want)
	}
}

// TestPreemption counts what the scheduler does for preempted goroutines as the collector's, up to
// what marking takes.
func TestPreemption(t *testing.T) {
	preempted := framesOf("runtime.schedule", "runtime.goschedImpl", "runtime.gopreempt_m", "runtime.newstack", "runtime.morestack")
	marking := framesOf("runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker")
	for _, c := range []struct {
		name   string
		stacks [][]*stack.Frame
		want   stack.Class
	}{
		{"by the collector", [][]*stack.Frame{preempted, marking}, stack.Pause},
		{"more than the collector", [][]*stack.Frame{preempted, preempted, marking}, stack.Mutator},
		{"without a collector", [][]*stack.Frame{preempted}, stack.Mutator},
	} {
		b := sampled(c.stacks)
		b.chargePreemption()
		wantClass(t, c.name, b, c.want)
	}
}

// sampled is a builder with a sample for each stack.
func sampled(stacks [][]*stack.Frame) *builder {
	b := &builder{account: &account{}}
	for _, frames := range stacks {
		st := &sample{frames: frames, ns: 10e6, class: stack.Classify(frames).Class}
		b.samples = append(b.samples, st)
		b.cpu[st.class] += st.ns
		b.total += st.ns
	}
	return b
}

// wantClass wants the first sample to be of a class, and the classes to add up.
func wantClass(t *testing.T, name string, b *builder, want stack.Class) {
	t.Helper()
	if got := b.samples[0].class; got != want {
		t.Errorf("%s: %v, want %v", name, got, want)
	}
	sum := 0.0
	for _, ns := range b.cpu {
		sum += ns
	}
	if sum != b.total {
		t.Errorf("%s: the classes add up to %v, want %v", name, sum, b.total)
	}
}

// TestSlowed: marking slows a program most that keeps one processor busy.
func TestSlowed(t *testing.T) {
	for _, c := range []struct{ seconds, want float64 }{{0, 0}, {10, besideMark / 2}, {5, besideMark}, {2.5, besideMark / 2}} {
		b := &builder{account: &account{ev: &evidence.Evidence{CPU: &profile.Profile{DurationNanos: int64(c.seconds * 1e9)}}, total: 6e9, mark: 0.9e9, sweep: 0.1e9}}
		if got := b.slowed(); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("five seconds of the program's in %v: %v, want %v", c.seconds, got, c.want)
		}
	}
}

// framesOf is a stack of functions, innermost first.
func framesOf(fns ...string) (list []*stack.Frame) {
	c := stack.NewTable("")
	for _, fn := range fns {
		list = append(list, c.Frame(fn, "", 0))
	}
	return list
}
