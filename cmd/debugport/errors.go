// SPDX-License-Identifier: Apache-2.0

package debugport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
)

// unreachable explains why there was no answer.
func (s *Server) unreachable(err error) error {
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: interrupted: %w", s, context.Canceled)
	case errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err):
		return fmt.Errorf("%s does not answer in time; is that the address of its debug port, and is there a proxy with a shorter timeout in between? A busy program may need more than -timeout", s)
	case isUnknownCA(err):
		return fmt.Errorf("cannot trust %s: %w; give its certificate authority with -ca FILE, or accept it unchecked with -insecure", s, cause(err))
	case errors.As(err, &dns):
		return fmt.Errorf("there is no host %s; check the address", s.base.Hostname())
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("cannot reach %s: connection refused; is the program running, and is this the address of its debug port?", s)
	}
	return fmt.Errorf("cannot reach %s: %w; is the program running, and does it listen there?", s, cause(err))
}

// cause is an error without the request around it.
func cause(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		return call.Err
	}
	return err
}

// A statusError is an answer other than 200.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

// Status is the HTTP status of the answer that the error stands for, or 0 if there was no answer.
func Status(err error) int {
	if status := new(*statusError); errors.As(err, status) {
		return (*status).status
	}
	return 0
}

// refused explains an answer other than 200.
func (s *Server) refused(path string, response *http.Response, data []byte) error {
	path, _, _ = strings.Cut(path, "?")
	text := fmt.Sprintf("%s%s answers %q", s, path, response.Status)
	first, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	switch {
	case response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden:
		text += "; put user and password into the address, like http://user:password@host, give a token with -header 'Authorization: Bearer TOKEN', or ask for access"
	case response.StatusCode == http.StatusNotFound && path == Vars:
		text += `; import _ "expvar" in the program and serve http.DefaultServeMux`
	case response.StatusCode == http.StatusNotFound:
		text += `; import _ "net/http/pprof" in the program and serve http.DefaultServeMux, or give the address of its debug port`
	case strings.Contains(first, "already in use"):
		text += "; another CPU profile is being taken: try again when it is done"
	case strings.Contains(first, "WriteTimeout"):
		text += "; the server's WriteTimeout is shorter than the profile: give a shorter -duration"
	case first != "" && len(first) < 200 && response.Header.Get("X-Go-Pprof") == "1":
		text += ": " + first
	default:
		text += "; is there a Go program with net/http/pprof?"
	}
	return &statusError{response.StatusCode, text}
}

// isUnknownCA reports whether the connection failed by the server's certificate.
func isUnknownCA(err error) bool {
	var verify *tls.CertificateVerificationError
	return errors.As(err, &verify)
}
