// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"bytes"
	"io"
)

// Plain sends n messages to all connections. Each message is a slice that the connections share, and
// the collector frees it some time after the last one has sent it.
func Plain(conns []io.Writer, n int) {
	queues, wait := connections(conns, func(w io.Writer, m []byte) { _, _ = w.Write(m) })
	for i := range n {
		var b bytes.Buffer // It cannot be reused: the queues keep its bytes.
		write(&b, i)
		for _, q := range queues {
			q <- b.Bytes()
		}
	}
	wait()
}
