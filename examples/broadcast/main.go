// SPDX-License-Identifier: Apache-2.0

// Command broadcast sends messages to many connections and shows the collector's work.
//
//	go run ./examples/broadcast           # frames off the heap
//	go run ./examples/broadcast -plain    # slices on the Go heap
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/freehold-go/freehold/examples/broadcast/hub"
	"github.com/freehold-go/freehold/examples/internal/cost"
)

func main() {
	plain := flag.Bool("plain", false, "use the Go heap")
	conns := flag.Int("conns", 1000, "number of connections")
	n := flag.Int("n", 1000, "number of messages")
	flag.Parse()
	run(os.Stdout, *plain, *conns, *n)
}

// A counter is a connection that counts.
type counter struct{ n int }

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return len(p), nil
}

func run(out io.Writer, plain bool, conns, n int) {
	send := hub.Frames
	if plain {
		send = hub.Plain
	}
	counters := make([]counter, conns)
	var writers []io.Writer
	for i := range counters {
		writers = append(writers, &counters[i])
	}
	sending := cost.Of(func() { send(writers, n) })
	total := 0
	for i := range counters {
		total += counters[i].n
	}
	fmt.Fprintf(out, "%d messages to %d connections, %d bytes\n", n, conns, total)
	fmt.Fprintf(out, "send     %v\n", sending)
}
