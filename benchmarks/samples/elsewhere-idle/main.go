// Command elsewhere-idle waits for a timer nearly all of the time.
package main

import (
	"fmt"
	"time"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

// text is what a tick leaves behind.
var text string

func main() {
	load.Main(load.Sample{Ops: 1_000, Before: ticking})
}

func ticking() load.Op {
	return func(i int) {
		time.Sleep(2 * time.Millisecond)
		text = fmt.Sprintf("tick %d", i)
	}
}
