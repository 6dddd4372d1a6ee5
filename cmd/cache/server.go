// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/freehold-go/freehold/cache"
)

// newServer makes a server that does not listen yet.
func newServer(o Options) (*server, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c, err := cache.New(cache.Options{Bytes: o.Memory, Name: "freehold cache serve", Clock: o.clock})
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &server{
		o: o, cache: c, start: now, wall: now.UnixMilli(), seed: maphash.MakeSeed(), writeTimeout: 30 * time.Second,
		stopAsked: make(chan struct{}, 1), conns: map[net.Conn]int64{},
	}, nil
}

// listen opens the socket. A Unix socket that a killed server has left is replaced.
func (s *server) listen() (err error) {
	network, address := listenAddress(s.o.Listen)
	if network == "tcp" {
		s.listener, err = net.Listen(network, address)
		return err
	}
	if c, dialErr := net.Dial(network, address); dialErr == nil {
		c.Close()
		return fmt.Errorf("%s: another server listens there", address)
	}
	if info, statErr := os.Lstat(address); statErr == nil && info.Mode().Type() == os.ModeSocket {
		if err := os.Remove(address); err != nil {
			return err
		}
	}
	s.listener, err = listenUnix(address)
	return err
}

// load stores the items of the saved file, and removes it: after a crash it would bring back items that
// were changed since.
func (s *server) load() error {
	if s.o.Save == "" {
		return nil
	}
	st, err := s.cache.Load(s.o.Save)
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(filepath.Dir(s.o.Save)); err != nil {
			return fmt.Errorf("-save: %w", err) // Or save would fail when there is something to lose.
		}
		s.logf("%s does not exist yet; the cache is empty", s.o.Save)
		return nil
	}
	if err != nil {
		return err
	}
	for _, v := range s.cache.All() {
		// Numbers in the upper half come from clients: the server would take ages to count so far.
		if it, ok := itemOf(v); ok && it.cas < 1<<63 && it.cas > s.cas.Load() {
			s.cas.Store(it.cas)
		}
	}
	s.logf("loaded %d items from %s; %d have expired, %d found no room, %d blocks are damaged", st.Entries, s.o.Save, st.Expired, st.Refused, st.Damaged)
	return os.Remove(s.o.Save)
}

// save writes the file of a warm restart.
func (s *server) save() error {
	if s.o.Save == "" {
		return nil
	}
	if err := s.cache.Save(s.o.Save); err != nil {
		return err
	}
	s.logf("saved %d items to %s", s.cache.Len(), s.o.Save)
	return nil
}

func (s *server) logf(format string, args ...any) { fmt.Fprintf(s.o.Log, format+"\n", args...) }

// serve accepts connections until stop.
func (s *server) serve() error {
	for {
		nc, err := s.listener.Accept()
		if err != nil {
			if s.stopping.Load() {
				return nil
			}
			if errors.Is(err, net.ErrClosed) {
				return err
			}
			time.Sleep(10 * time.Millisecond) // The process has too many open files.
			continue
		}
		s.mu.Lock()
		if s.open.Load() >= int64(s.o.MaxConns) || s.stopping.Load() {
			s.mu.Unlock()
			s.counts[rejectedConnections].Add(1)
			_ = nc.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = io.WriteString(nc, "ERROR Too many open connections\r\n")
			nc.Close()
			continue
		}
		s.latest++
		s.conns[nc] = s.latest
		s.open.Add(1)
		s.wait.Add(1)
		s.mu.Unlock()
		s.counts[totalConnections].Add(1)
		go s.handle(nc)
	}
}

// handle serves a connection. If it panics, which is a bug, the others go on.
func (s *server) handle(nc net.Conn) {
	defer func() {
		if p := recover(); p != nil {
			s.logf("bug: a connection panicked and was closed: %v\n%s", p, debug.Stack())
		}
		nc.Close()
		s.mu.Lock()
		delete(s.conns, nc)
		s.mu.Unlock()
		s.open.Add(-1)
		s.wait.Done()
	}()
	newConn(s, nc).serve()
}

// stop ends all connections: each carries out the commands that it has read, and has so long to write
// the answers.
func (s *server) stop(grace time.Duration) {
	s.mu.Lock()
	s.stopping.Store(true)
	for nc := range s.conns {
		_ = nc.SetReadDeadline(time.Unix(1, 0))
	}
	s.mu.Unlock()
	s.listener.Close()
	late := time.AfterFunc(grace, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for nc := range s.conns {
			nc.Close()
		}
	})
	defer late.Stop()
	s.wait.Wait()
}

// close returns the memory.
func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping.Store(true)
	if s.flushing != nil {
		s.flushing.Stop()
	}
	s.cache.Close()
}
