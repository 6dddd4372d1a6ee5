// Command elsewhere-lock has goroutines that wait for each other: its cost is one mutex.
package main

import (
	"sync"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

func main() {
	load.Main(load.Sample{Ops: 8_000, Before: contending})
}

func contending() load.Op {
	var mutex sync.Mutex
	counters := map[int]int{}
	return func(int) {
		var group sync.WaitGroup
		for worker := range 16 {
			group.Go(func() {
				for k := range 500 {
					mutex.Lock()
					counters[(worker+k)%64]++
					mutex.Unlock()
				}
			})
		}
		group.Wait()
	}
}
