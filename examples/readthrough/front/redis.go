// SPDX-License-Identifier: Apache-2.0

package front

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// A Redis is a client: RESP, without pipelines, over as many connections as calls are under way.
type Redis struct {
	address string
	idle    chan *conn
}

type conn struct {
	net.Conn
	r *bufio.Reader
	b []byte
}

// NewRedis is a client of the server at an address. It keeps up to 64 idle connections.
func NewRedis(address string) *Redis { return &Redis{address: address, idle: make(chan *conn, 64)} }

// Get appends the value of a key to dst. The error is [ErrNil] if there is none.
func (r *Redis) Get(ctx context.Context, dst, key []byte) ([]byte, error) {
	return r.do(ctx, dst, []byte("GET"), key)
}

// Set stores a value.
func (r *Redis) Set(ctx context.Context, key, value []byte) error {
	_, err := r.do(ctx, nil, []byte("SET"), key, value)
	return err
}

// Close closes the idle connections. No call may be under way.
func (r *Redis) Close() {
	for len(r.idle) > 0 {
		(<-r.idle).Close()
	}
}

// do sends a command and appends the reply to dst.
func (r *Redis) do(ctx context.Context, dst []byte, args ...[]byte) (reply []byte, err error) {
	var c *conn
	select {
	case c = <-r.idle:
	default:
		var d net.Dialer
		n, err := d.DialContext(ctx, "tcp", r.address)
		if err != nil {
			return dst, err
		}
		c = &conn{Conn: n, r: bufio.NewReader(n)}
	}
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	c.b = fmt.Appendf(c.b[:0], "*%d\r\n", len(args))
	for _, a := range args {
		c.b = fmt.Appendf(c.b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err = c.Write(c.b); err == nil {
		dst, err = readReply(c.r, dst)
	}
	_, refused := err.(replyError)
	whole := err == nil || err == ErrNil || refused
	if !stop() || !whole { // What comes next on this connection is unknown.
		c.Close()
		if !whole && ctx.Err() != nil {
			err = ctx.Err()
		}
		return dst, err
	}
	select {
	case r.idle <- c:
	default:
		c.Close()
	}
	return dst, err
}

// A replyError is an error that the server has answered with.
type replyError string

func (e replyError) Error() string { return "front: Redis: " + string(e) }

// readReply appends a reply that is no array.
func readReply(r *bufio.Reader, dst []byte) ([]byte, error) {
	line, err := readLine(r)
	if err != nil {
		return dst, err
	}
	switch line[0] {
	case '+', ':':
		return append(dst, line[1:]...), nil
	case '-':
		return dst, replyError(line[1:])
	case '$':
		n, err := strconv.Atoi(string(line[1:]))
		if err == nil && n == -1 {
			return dst, ErrNil
		}
		if err != nil || n < 0 || n > 512<<20 {
			return dst, fmt.Errorf("front: a reply of %q bytes", line[1:])
		}
		return readBulk(r, dst, n)
	}
	return dst, fmt.Errorf("front: unknown reply %q", line)
}

// readBulk appends n bytes and skips the end of the line.
func readBulk(r *bufio.Reader, dst []byte, n int) ([]byte, error) {
	at := len(dst)
	dst = append(dst, make([]byte, n+2)...)
	if _, err := io.ReadFull(r, dst[at:]); err != nil {
		return dst[:at], err
	}
	return dst[:at+n], nil
}

// readLine is a line without its end. It has at least one byte.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return nil, fmt.Errorf("front: bad line %q", line)
	}
	return line[:len(line)-2], nil
}
