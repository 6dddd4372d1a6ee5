// SPDX-License-Identifier: Apache-2.0

// Package debugport reads the answers of a running Go program with net/http/pprof, expvar and the
// like.
//
// A Server stands for one program. Every answer is bounded in time and in size. Errors name the
// address without its password, name the fault and the remedy, and carry no prefix of a verb.
//
// It does not interpret the answers; package doctor does.
package debugport

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Pprof is the path at which net/http/pprof answers.
const Pprof = "/debug/pprof"

// Paths of what a program serves, below its base.
const (
	Heap     = Pprof + "/heap?gc=1"    // A heap profile, taken right after a collection.
	HeapText = Pprof + "/heap?debug=1" // The same as text; it ends with runtime.MemStats.
	Vars     = "/debug/vars"           // The variables of package expvar.
	Metrics  = "/metrics"              // Counters in Prometheus's text format.
)

// Counters are the paths at which programs serve counters.
var Counters = []string{Vars, Metrics}

// CPU is the path of a CPU profile over a number of whole seconds.
func CPU(seconds int) string { return fmt.Sprintf("%s/profile?seconds=%d", Pprof, seconds) }

// A Server is a running program. It may be used by several goroutines at once.
type Server struct {
	base   *url.URL
	client http.Client
	// timeout is how long an answer may take beyond its window, 0 for AnswerTime.
	timeout time.Duration
}

// Parse returns the server at an address such as http://localhost:6060. What follows the base, such
// as /debug/pprof/heap, is dropped.
func Parse(address string) (*Server, error) {
	base, err := url.Parse(address)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("%q is no address; write it like http://localhost:6060", Redacted(address))
	}
	path, _, _ := strings.Cut(base.Path, "/debug/")
	path = strings.TrimSuffix(path, "/debug")
	base.Path, base.RawQuery, base.Fragment = strings.TrimSuffix(path, "/"), "", ""
	return &Server{base: base}, nil
}

// Redacted is an address without its password, whether or not the address is valid.
func Redacted(address string) string {
	if u, err := url.Parse(address); err == nil {
		if u.User == nil {
			return address
		}
		return u.Redacted()
	}
	if scheme, rest, ok := strings.Cut(address, "://"); ok {
		if i := strings.LastIndex(rest, "@"); i >= 0 { // The end of a user and a password that no address may have.
			return scheme + "://xxxxx" + rest[i:]
		}
	}
	return address
}

// String is the server's base address without its password.
func (s *Server) String() string { return s.base.Redacted() }

// URL is the server's base address, password included. Do not print it.
func (s *Server) URL() string { return s.base.String() }

// Same reports whether both addresses lead to one server, with whatever user and password.
func (s *Server) Same(o *Server) bool {
	return s.base.Scheme == o.base.Scheme && s.base.Host == o.base.Host && s.base.Path == o.base.Path
}
