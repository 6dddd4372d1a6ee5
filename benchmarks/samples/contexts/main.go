// Command contexts makes a request's state, of a few kilobytes and with pointers, anew for each
// request.
//
// After the change the states come from a sync.Pool, and each is cleared as far as it was used.
package main

import (
	"sync"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

// state is what a request needs while it lasts.
type state struct {
	used    int
	keys    [128]string
	values  [128]*int
	handler func(*state) int
}

var (
	words  = []string{"host", "accept", "user-agent", "cookie", "authorization", "referer"}
	number = new(int)
	pool   = sync.Pool{New: func() any { return new(state) }}
	total  int // keeps the compiler from dropping the work
)

func main() {
	load.Main(load.Sample{Ops: 1_200_000, Before: before, After: after})
}

func before() load.Op {
	return func(i int) {
		s := newState()
		total += s.serve(i)
	}
}

//go:noinline // a state that a router hands on escapes
func newState() *state { return &state{handler: (*state).count} }

func after() load.Op {
	return func(i int) {
		s := pool.Get().(*state)
		s.handler = (*state).count
		total += s.serve(i)
		s.reset()
		pool.Put(s)
	}
}

func (s *state) serve(i int) int {
	for k := range 40 {
		s.keys[s.used], s.values[s.used] = words[(i+k)%len(words)], number
		s.used++
	}
	return s.handler(s)
}

func (s *state) count() (n int) {
	for _, k := range s.keys[:s.used] {
		n += len(k)
	}
	return n
}

func (s *state) reset() {
	clear(s.keys[:s.used])
	clear(s.values[:s.used])
	s.used, s.handler = 0, nil
}
