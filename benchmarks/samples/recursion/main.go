// Command recursion starts a goroutine for each request, which descends deep: its stack begins
// small and is copied to a larger one again and again.
//
// After the change the requests go to a goroutine that stays, whose stack is large already.
package main

import (
	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

const depth = 400

func main() {
	load.Main(load.Sample{Ops: 100_000, Before: before, After: after})
}

func before() load.Op {
	return func(i int) {
		done := make(chan int)
		go func() { done <- descend(depth, i) }()
		<-done
	}
}

func after() load.Op {
	requests, done := make(chan int), make(chan int)
	go func() {
		for i := range requests {
			done <- descend(depth, i)
		}
	}()
	return func(i int) {
		requests <- i
		<-done
	}
}

// descend walks down with some state in each frame, as a parser does.
func descend(level, value int) int {
	var local [16]int
	local[value&15] = level
	if level == 0 {
		return value
	}
	return descend(level-1, value+1) + local[level&15]
}
