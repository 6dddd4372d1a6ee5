package doctor

import "testing"

// What the scheduler does when the sweeper gives way is the sweeper's cost, unless the program gives way itself.
func TestYields(t *testing.T) {
	yield := stackOf("runtime.lock2", "runtime.goschedImpl", "runtime.gosched_m", "runtime.mcall")
	sweeper := stackOf("runtime.sweepone", "runtime.bgsweep")
	own := stackOf("runtime.Gosched", "main.spin")
	for _, c := range []struct {
		name   string
		stacks [][]*frame
		want   class
	}{
		{"the sweeper", [][]*frame{yield, sweeper}, classSweep},
		{"nobody is known", [][]*frame{yield}, classMutator},
		{"the program", [][]*frame{yield, sweeper, own}, classMutator},
	} {
		b := &builder{account: &account{}}
		for _, frames := range c.stacks {
			st := &stack{frames: frames, ns: 10e6, class: place(frames).class}
			b.stacks = append(b.stacks, st)
			b.cpu[st.class] += st.ns
			b.total += st.ns
		}
		b.chargeYields()
		if got := b.stacks[0].class; got != c.want {
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
