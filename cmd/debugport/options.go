// SPDX-License-Identifier: Apache-2.0

package debugport

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Options say how to reach a server. The zero value is good for most.
type Options struct {
	// Insecure accepts every certificate, and CA is the file of the certificate authority in PEM
	// that signed the server's, "" for those of the system.
	Insecure bool
	CA       string
	// Headers are sent with each request, as "Name: value". Errors never contain their values.
	Headers []string
	// Timeout is how long an answer may take beyond the window that it covers, [AnswerTime] if it is
	// 0.
	Timeout time.Duration
}

// ParseWith is Parse with options.
func ParseWith(address string, o Options) (*Server, error) {
	s, err := Parse(address)
	if err != nil {
		return nil, err
	}
	if s.timeout = AnswerTime; o.Timeout > 0 {
		s.timeout = o.Timeout
	}
	header, err := headersOf(o.Headers)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if o.Insecure || o.CA != "" {
		if transport.TLSClientConfig, err = o.tls(); err != nil {
			return nil, err
		}
	}
	s.client.Transport = &headerTransport{next: transport, base: s.base, header: header}
	return s, nil
}

func (o Options) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.Insecure}
	if o.CA == "" {
		return config, nil
	}
	pem, err := os.ReadFile(o.CA)
	if err != nil {
		return nil, fmt.Errorf("-ca: %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("-ca: %s has no certificate in PEM; give the file that begins with -----BEGIN CERTIFICATE-----", o.CA)
	}
	return config, nil
}

// headersOf parses "Name: value". An error does not quote the text, which may be a secret.
func headersOf(list []string) (http.Header, error) {
	header := http.Header{}
	for i, text := range list {
		name, value, ok := strings.Cut(text, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsAny(name, " \t\r\n") || strings.ContainsAny(value, "\r\n") {
			return nil, fmt.Errorf("-header: number %d is not of the form 'Name: value', such as 'Authorization: Bearer TOKEN'", i+1)
		}
		header.Add(name, value)
	}
	return header, nil
}

// A headerTransport adds headers to requests to one server, and to no other that this one redirects
// to, because a header may be a secret.
type headerTransport struct {
	next   http.RoundTripper
	base   *url.URL
	header http.Header
}

func (t *headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(t.header) > 0 && r.URL.Scheme == t.base.Scheme && r.URL.Host == t.base.Host {
		r = r.Clone(r.Context())
		for name, values := range t.header {
			if strings.EqualFold(name, "Host") {
				r.Host = values[0]
				continue
			}
			r.Header[name] = values
		}
	}
	return t.next.RoundTrip(r)
}
