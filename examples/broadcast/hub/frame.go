// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"io"

	"github.com/freehold-go/freehold/offheap"
	"github.com/freehold-go/freehold/pool"
)

// messages is the account of the messages on their way.
var messages = offheap.NewPurpose("messages")

// Frames sends n messages to all connections. Each message is built once off the heap, and the last
// connection that has sent it frees it at once.
func Frames(conns []io.Writer, n int) {
	queues, wait := connections(conns, func(w io.Writer, m *pool.Frame) {
		defer m.Release() // Also if the connection is broken.
		_, _ = m.WriteTo(w)
	})
	for i := range n {
		b := pool.BufferFor(messages)
		write(b, i)
		m := b.Share() // Copies nothing. The Buffer has ended.
		for _, q := range queues {
			q <- m.Retain() // An owner for each queue.
		}
		m.Release() // The sender's own.
	}
	wait()
}
