// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// newConn is a connection that serve serves.
func newConn(s *server, nc net.Conn) *conn {
	c := &conn{s: s, nc: nc, in: make([]byte, leastBuffer)}
	c.batch.hit = c.onHit
	return c
}

// serve answers a client until it leaves or the server stops.
func (c *conn) serve() {
	for !c.ended && c.fill() {
		c.run()
		c.flush()
	}
	c.s.counts.add(&c.counts)
}

// fill reads what the client has sent, and says whether it has.
func (c *conn) fill() bool {
	switch {
	case c.r == c.w:
		c.r, c.w = 0, 0
	case c.r > 0 && (c.w == len(c.in) || c.r > len(c.in)/2):
		c.w = copy(c.in, c.in[c.r:c.w])
		c.r = 0
	}
	if c.w == len(c.in) {
		c.in = append(c.in, make([]byte, len(c.in))...)
	}
	n, err := 0, os.ErrDeadlineExceeded
	if c.w == 0 && max(len(c.in), cap(c.out), cap(c.old), cap(c.item)) > keptBuffer {
		// A client that goes on with large items keeps its buffers.
		if n, err = c.read(calm); n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
			c.in, c.out, c.old, c.item = make([]byte, leastBuffer), nil, nil, nil
		}
	}
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		n, err = c.read(c.s.o.Idle)
	}
	c.w += n
	c.counts[bytesRead] += int64(n)
	if n == len(c.in) && n < mostOut { // The client sends more at a time.
		c.in = append(c.in, make([]byte, n)...)
	}
	return err == nil || n > 0
}

// read reads for at most a time; 0 is without an end.
func (c *conn) read(most time.Duration) (int, error) {
	if most > 0 || c.timed {
		until := time.Time{}
		if c.timed = most > 0; c.timed {
			until = time.Now().Add(most)
		}
		_ = c.nc.SetReadDeadline(until)
	}
	if c.s.stopping.Load() { // stop sets this before its deadline, which ours may just have replaced.
		return 0, io.EOF
	}
	return c.nc.Read(c.in[c.w:])
}

// binaryMagic begins each request of memcached's binary protocol, which is not served.
const binaryMagic = 0x80

// isGet says whether a line begins with get or gets, behind at most 100 spaces.
func isGet(b []byte) bool {
	cmd, _ := nextToken(b[:min(len(b), 106)])
	return string(cmd) == "get" || string(cmd) == "gets"
}

// run carries out the commands that are complete.
func (c *conn) run() {
	defer c.runBatch()
	for !c.ended {
		if c.skip > 0 {
			n := min(c.skip, c.w-c.r)
			c.skip -= n
			c.r += n
		}
		b := c.in[c.r:c.w]
		if len(b) > 0 && b[0] == binaryMagic {
			c.runBatch()
			c.ended = true
			return
		}
		end := bytes.IndexByte(b[c.looked:], '\n')
		if end < 0 {
			c.looked = len(b)
			if len(b) > mostLine && (!isGet(b) || len(b) > mostGetLine) {
				c.runBatch()
				c.ended = true // As memcached, without an answer.
			}
			return
		}
		end += c.looked
		c.looked = 0
		line := b[:end]
		if end > 0 && line[end-1] == '\r' {
			line = line[:end-1]
		}
		used, ok := c.command(line, b[end+1:])
		if !ok {
			return
		}
		c.r += end + 1 + used
		if len(c.out) >= mostOut {
			c.flush()
		}
	}
}
