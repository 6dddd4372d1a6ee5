// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Options configure a server.
type Options struct {
	Listen   string        // An address of this machine, or the path of a Unix socket.
	Memory   int64         // Bytes of all items and the table that finds them.
	MaxItem  int64         // Bytes of an item: key, data and 24 more.
	MaxConns int           // Connections at the same time.
	Idle     time.Duration // A connection is closed after this long without a command; 0 is never.
	Save     string        // The file of a warm restart; "" is none.
	Shutdown bool          // A client may stop the server.
	Version  string
	Log      io.Writer

	clock func() time.Time // For tests; nil is time.Now.
}

const (
	leastItem = 1 << 10
	mostItem  = 1 << 30 // Sizes in the protocol have 31 bits.
)

// leastMemory is the least memory for items of a size: the cache stores none above an eighth.
func leastMemory(maxItem int64) int64 { return max(8*maxItem, 1<<20) }

// check lists what is wrong in the options.
func (o *Options) check() error {
	var errs []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(o.MaxItem < leastItem || o.MaxItem > mostItem, "-max-item is %d bytes; from %d to %d", o.MaxItem, leastItem, mostItem)
	wrong(o.Memory < leastMemory(o.MaxItem), "-memory is %d bytes; at least 1 MiB, and eight times -max-item, which is %d", o.Memory, o.MaxItem)
	wrong(o.MaxConns < 1, "-max-conns is %d; at least 1", o.MaxConns)
	wrong(o.Idle < 0, "-idle is %v; not below 0", o.Idle)
	if network, address := listenAddress(o.Listen); network == "tcp" {
		host, _, err := net.SplitHostPort(address)
		ip := net.ParseIP(host)
		wrong(err != nil, "-listen is %q; want 127.0.0.1:PORT, [::1]:PORT or the path of a Unix socket", o.Listen)
		wrong(err == nil && host != "localhost" && (ip == nil || !ip.IsLoopback()),
			"-listen is %q, which other machines can reach; the protocol has no passwords, so only addresses of this machine are served: 127.0.0.1, [::1], localhost", o.Listen)
	}
	return errors.Join(errs...)
}

// listenAddress splits the address: what has a slash is a path.
func listenAddress(listen string) (network, address string) {
	if strings.Contains(listen, "/") {
		return "unix", listen
	}
	return "tcp", listen
}
