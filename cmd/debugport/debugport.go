// Package debugport reads what a running Go program serves with net/http/pprof, expvar and the like.
//
// A Server stands for one program. Every answer is bounded in time and in size. Errors name the address without its password, say
// what was wrong and what to do, and carry no prefix of a verb.
//
// It does not interpret the answers; package doctor does.
package debugport

import (
	"context"
	"errors"
	"fmt"
	"io"
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
)

// CPU is the path of a CPU profile over a number of whole seconds.
func CPU(seconds int) string { return fmt.Sprintf("%s/profile?seconds=%d", Pprof, seconds) }

// Bounds of one answer.
const (
	// AnswerTime is how long an answer may take beyond the window that it covers.
	AnswerTime = 30 * time.Second
	answerSize = 256 << 20 // Bytes. The largest profiles of large programs have some tens of MiB.
)

// A Server is a running program. It may be used by several goroutines at once.
type Server struct {
	base   *url.URL
	client http.Client
}

// Parse returns the server at an address such as http://localhost:6060. What follows the base, such as /debug/pprof/heap, is dropped.
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

// Get reads the answer for a path below the base. window is the time that the answer covers, such as that of a CPU profile; the
// answer may take [AnswerTime] beyond it.
func (s *Server) Get(ctx context.Context, path string, window time.Duration) ([]byte, error) {
	return s.GetWithin(ctx, path, window+AnswerTime)
}

// GetWithin is Get with a bound on the whole time.
func (s *Server) GetWithin(ctx context.Context, path string, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base.String()+path, nil)
	if err != nil {
		return nil, fmt.Errorf("%q is no address; write it like http://localhost:6060", s)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, s.unreachable(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, answerSize+1))
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled): // The user interrupted; the program did not end.
		return nil, s.unreachable(ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("%s%s: the answer broke off: %w; is the program still running?", s, path, cause(err))
	case response.StatusCode != http.StatusOK:
		return nil, s.refused(path, response, data)
	case len(data) > answerSize:
		return nil, fmt.Errorf("%s%s: the answer has more than %d MiB, which no profile has", s, path, answerSize>>20)
	}
	return data, nil
}
