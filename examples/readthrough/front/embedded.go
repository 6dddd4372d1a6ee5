// SPDX-License-Identifier: Apache-2.0

package front

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
)

// Embedded stands for Redis where there is none: it answers GET for each key that begins with
// "page:". It keeps no values but computes them, so it adds nothing to the memory of the process.
type Embedded struct {
	listener net.Listener
	mu       sync.Mutex
	conns    map[net.Conn]bool
	wait     sync.WaitGroup
}

// NewEmbedded starts a server on a port of its own of this machine.
func NewEmbedded() (*Embedded, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Embedded{listener: l, conns: map[net.Conn]bool{}}
	s.wait.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns[c] = true
			s.mu.Unlock()
			s.wait.Go(func() {
				defer s.forget(c)
				_ = serve(c)
			})
		}
	})
	return s, nil
}

// Address is where it listens.
func (s *Embedded) Address() string { return s.listener.Addr().String() }

// Close ends the server and its connections.
func (s *Embedded) Close() {
	s.listener.Close()
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wait.Wait()
}

func (s *Embedded) forget(c net.Conn) {
	c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// serve answers commands until the connection ends.
func serve(c net.Conn) error {
	r := bufio.NewReader(c)
	var key, value, answer []byte
	for {
		line, err := readLine(r)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(line[1:]))
		if line[0] != '*' || err != nil || n < 1 || n > 8 {
			return errors.New("front: no command")
		}
		var name []byte
		for i := range n {
			into := &value
			if i == 0 {
				into = &name
			} else if i == 1 {
				into = &key
			}
			if *into, err = readReply(r, (*into)[:0]); err != nil {
				return err
			}
		}
		switch answer = answer[:0]; {
		case !bytes.EqualFold(name, []byte("GET")) || n != 2:
			answer = append(answer, "-ERR this server knows GET alone\r\n"...)
		case bytes.HasPrefix(key, []byte("page:")):
			answer = fmt.Appendf(answer, "$%d\r\n", ValueSize)
			answer = append(appendValue(answer, key), "\r\n"...)
		default:
			answer = append(answer, "$-1\r\n"...)
		}
		if _, err := c.Write(answer); err != nil {
			return err
		}
	}
}

// Fill stores the values of the first keys in a real Redis.
func Fill(ctx context.Context, r *Redis, keys int) error {
	var key, value []byte
	for i := range keys {
		key = AppendKey(key[:0], uint64(i))
		value = appendValue(value[:0], key)
		if err := r.Set(ctx, key, value); err != nil {
			return err
		}
	}
	return nil
}
