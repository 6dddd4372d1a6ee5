// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/freehold-go/freehold/cmd/compare/child"
)

// A serverProgram is a server with a load. Its cost is the server's from its start to its end; its elapsed time is the load's.
type serverProgram struct {
	*commandProgram
	o *Options
}

// errNoListeners says that a system does not show who listens.
var errNoListeners = errors.New("this system does not show which process listens; say where with -ready host:port")

func (s *serverProgram) run(ctx context.Context, setting Setting, traced bool) (*child.Outcome, error) {
	server, err := s.under(setting).Start(ctx, traced)
	if err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	var out *child.Outcome
	var serverErr error
	go func() {
		defer close(ended)
		out, serverErr = server.Wait()
	}()
	err = s.ready(ctx, server, ended)
	begin := time.Now()
	if err == nil {
		err = once(ctx, "sweep: -load", s.o.Load)
	}
	took := time.Since(begin)
	select {
	case <-ended: // by itself
		if serverErr == nil {
			serverErr = fmt.Errorf("%s ended before its load did", server.Name)
		}
		return nil, serverErr
	default:
	}
	server.Stop()
	select {
	case <-ended:
	case <-time.After(stopTime):
		_ = server.Cmd.Process.Kill()
		<-ended
	}
	if err = errors.Join(err, serverErr); err != nil {
		return nil, err
	}
	out.Wall = took
	return out, nil
}

// stopTime is how long a server may take to end.
const stopTime = 10 * time.Second

// ready waits until the server listens.
func (s *serverProgram) ready(ctx context.Context, server *child.Child, ended <-chan struct{}) error {
	late := time.After(s.o.Wait)
	for {
		ok, err := s.listens(ctx, server.Cmd.Process.Pid)
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return nil // run tells why
		case <-late:
			where := "at any TCP port"
			if s.o.Ready != "" {
				where = "at " + s.o.Ready
			}
			return fmt.Errorf("%s does not listen %s after %s; -wait gives it longer, and -ready says where to look", server.Name, where, s.o.Wait)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *serverProgram) listens(ctx context.Context, pid int) (bool, error) {
	if s.o.Ready == "" {
		return groupListens(pid)
	}
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", s.o.Ready)
	if err != nil {
		var address *net.AddrError
		if errors.As(err, &address) {
			return false, fmt.Errorf("sweep: -ready %q: want host:port", s.o.Ready)
		}
		return false, nil
	}
	return true, conn.Close()
}
