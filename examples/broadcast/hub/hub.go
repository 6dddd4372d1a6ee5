// SPDX-License-Identifier: Apache-2.0

// Package hub sends each message to many connections, in two ways: a message on the Go heap, and a
// pool.Frame off it.
package hub

import (
	"fmt"
	"io"
	"sync"
)

// write writes message number i, a report of some kilobytes.
func write(w io.Writer, i int) {
	for line := range 60 {
		fmt.Fprintf(w, "message %d, line %d: the temperature is %d degrees\n", i, line, (i*31+line)%40)
	}
}

// queue is the number of messages that wait for a slow connection.
const queue = 16

// connections starts a writer for each connection, which sends what its queue has, and returns the
// queues. wait closes them and waits for the writers.
func connections[M any](conns []io.Writer, send func(w io.Writer, m M)) (queues []chan M, wait func()) {
	var wg sync.WaitGroup
	for _, conn := range conns {
		q := make(chan M, queue)
		queues = append(queues, q)
		wg.Go(func() {
			for m := range q {
				send(conn, m)
			}
		})
	}
	return queues, func() {
		for _, q := range queues {
			close(q)
		}
		wg.Wait()
	}
}
