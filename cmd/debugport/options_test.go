// SPDX-License-Identifier: Apache-2.0

package debugport

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A server with a certificate of its own is reached with -insecure or -ca, and the error without
// names both.
func TestCertificates(t *testing.T) {
	ts := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }))
	defer ts.Close()
	ts.Config.ErrorLog = nil
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ts.Certificate().Raw}), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"insecure": {Options{Insecure: true}, ""}, "ca": {Options{CA: ca}, ""}, "neither": {Options{}, "give its certificate authority with -ca FILE, or accept it unchecked with -insecure"},
	} {
		s, err := ParseWith(ts.URL, c.o)
		if err != nil {
			t.Fatal(err)
		}
		data, err := s.Get(t.Context(), "/", 0)
		if c.want == "" && (err != nil || string(data) != "ok") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if err := os.WriteFile(ca, []byte("no certificate"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ParseWith(ts.URL, Options{CA: ca}); err == nil || !strings.Contains(err.Error(), "-ca: ") || !strings.Contains(err.Error(), "no certificate in PEM") {
		t.Error(err)
	}
}

// A header goes to the server, and to no other that this one redirects to.
func TestHeaders(t *testing.T) {
	const secret = "Bearer s3cr3t"
	got := make(chan string, 2)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("X-Token") + r.Header.Get("Authorization")
	}))
	defer other.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("X-Token") + r.Header.Get("Authorization")
		http.Redirect(w, r, other.URL, http.StatusFound)
	}))
	defer first.Close()
	s, err := ParseWith(first.URL, Options{Headers: []string{"Authorization: " + secret, "X-Token:1"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "/", 0); err != nil {
		t.Fatal(err)
	}
	if a, b := <-got, <-got; a != "1"+secret || b != "" {
		t.Errorf("the server gets %q, the other %q", a, b)
	}
	_, err = ParseWith(first.URL, Options{Headers: []string{"s3cr3t"}})
	if err == nil || strings.Contains(err.Error(), "s3cr3t") || !strings.Contains(err.Error(), "-header: number 1 is not of the form") {
		t.Errorf("a wrong header: %v", err)
	}
}

// TestTimeout: an answer that does not come ends by the timeout.
func TestTimeout(t *testing.T) {
	release := make(chan struct{})
	ts := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer ts.Close()
	defer close(release)
	s, err := ParseWith(ts.URL, Options{Timeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "/", 0); err == nil || !strings.Contains(err.Error(), "does not answer in time") || !strings.Contains(err.Error(), "-timeout") || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
