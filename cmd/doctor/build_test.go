package doctor

import (
	"testing"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
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
		b := &builder{account: &account{}}
		for _, frames := range c.stacks {
			st := &sample{frames: frames, ns: 10e6, class: stack.Classify(frames).Class}
			b.samples = append(b.samples, st)
			b.cpu[st.class] += st.ns
			b.total += st.ns
		}
		b.chargeYields()
		if got := b.samples[0].class; got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		sum := 0.0
		for _, ns := range b.cpu {
			sum += ns
		}
		if sum != b.total {
			t.Errorf("%s: the classes add up to %v, want %v", c.name, sum, b.total)
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
