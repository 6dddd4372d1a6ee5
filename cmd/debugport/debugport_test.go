// SPDX-License-Identifier: Apache-2.0

package debugport

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for address, want := range map[string]string{
		"http://h:1": "http://h:1", "http://h:1/": "http://h:1", "http://h/x/debug/pprof/profile?seconds=3#f": "http://h/x",
		"https://u:p@h/y/": "https://u:p@h/y", "http://h/debug/vars": "http://h", "http://h/x/debug": "http://h/x",
	} {
		if s, err := Parse(address); err != nil || s.URL() != want {
			t.Errorf("%s: %v, %v", address, s, err)
		}
	}
	for _, address := range []string{"http://", "h:1", "", "http://a:b%zz@h"} {
		if s, err := Parse(address); err == nil {
			t.Errorf("%s is the address %s", address, s)
		}
	}
}

// TestPasswords looks for one in every text that an address leads to.
func TestPasswords(t *testing.T) {
	const secret = "hunter2"
	private := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) }))
	defer private.Close()
	s, err := Parse(strings.Replace(private.URL, "//", "//me:"+secret+"@", 1))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Get(t.Context(), HeapText, 0)
	if Status(err) != http.StatusUnauthorized {
		t.Fatalf("the error is %v", err)
	}
	texts := []string{s.String(), err.Error()}
	for _, bad := range []string{"http://me:" + secret + "/@host", "http://me:" + secret + "%zz@host", "http://me:" + secret + "@"} {
		_, err := Parse(bad)
		if err == nil {
			t.Fatalf("%s is an address", bad)
		}
		texts = append(texts, err.Error(), Redacted(bad))
	}
	for _, text := range texts {
		if strings.Contains(text, secret) {
			t.Errorf("the password is in %q", text)
		}
	}
}

func TestSame(t *testing.T) {
	parse := func(address string) *Server {
		s, err := Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a := parse("http://me:x@h:1/debug/pprof")
	if !a.Same(parse("http://h:1/")) || a.Same(parse("http://h:2")) || a.Same(parse("https://h:1")) || a.Same(parse("http://h:1/x")) {
		t.Error("servers are told apart by scheme, host and path, and by nothing else")
	}
}
