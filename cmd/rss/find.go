// SPDX-License-Identifier: Apache-2.0

package rss

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/freehold-go/freehold/cmd/debugport"
	"github.com/freehold-go/freehold/cmd/process"
)

// findTime is how long a listener may take to answer.
const findTime = 2 * time.Second

// Find returns the URL of a process's net/http/pprof: it asks each of its listeners that loopback reaches for the command line, once.
func Find(ctx context.Context, o Options) (string, error) {
	if o.PID <= 0 || o.URL != "" {
		return "", fmt.Errorf("rss: -find looks for the URL of a process: give its ID alone")
	}
	o.URL = "-" // found below
	if err := o.prepare(); err != nil {
		return "", err
	}
	p := &target{o.Proc, o.PID}
	program, err := p.program()
	if err != nil {
		return "", err
	}
	if own, err := os.Readlink(filepath.Join(o.Proc, "self/ns/net")); err == nil {
		if its, err := os.Readlink(p.path("ns/net")); err == nil && own != its {
			return "", fmt.Errorf("rss: -find: process %d is in another network namespace; run nsenter -t %d -n freehold rss -find %d", o.PID, o.PID, o.PID)
		}
	}
	if _, err := os.ReadDir(p.path("fd")); err != nil {
		return "", p.explain("fd", err)
	}
	var asked []string
	for _, s := range process.Holds(p.path(""), process.Sockets(p.path(""))) {
		addr := s.At.Addr()
		if addr.IsUnspecified() {
			addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		}
		if !addr.IsLoopback() {
			continue
		}
		for _, scheme := range []string{"http", "https"} {
			url := scheme + "://" + netip.AddrPortFrom(addr, s.At.Port()).String()
			server, err := debugport.ParseWith(url, o.Server)
			if err != nil {
				return "", fmt.Errorf("rss: %w", err)
			}
			data, err := server.GetWithin(ctx, debugport.Pprof+"/cmdline", findTime)
			if err == nil && strings.ReplaceAll(strings.TrimRight(string(data), "\x00"), "\x00", " ") == program.command {
				return url, nil
			}
			if ctx.Err() != nil {
				return "", fmt.Errorf("rss: %w", ctx.Err())
			}
			if scheme == "https" || err == nil || debugport.Status(err) != 400 { // 400 is the answer of a server that wants TLS
				break
			}
		}
		asked = append(asked, strconv.Itoa(int(s.At.Port())))
	}
	if len(asked) == 0 {
		return "", fmt.Errorf("rss: -find: process %d listens at no TCP port of loopback; serve net/http/pprof, or give the process ID without -find for the coarse lines", o.PID)
	}
	return "", fmt.Errorf("rss: -find: process %d serves no net/http/pprof at its ports %s; import _ \"net/http/pprof\" and serve http.DefaultServeMux, or leave out -find", o.PID, strings.Join(asked, ", "))
}
