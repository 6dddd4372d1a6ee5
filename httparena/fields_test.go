// SPDX-License-Identifier: Apache-2.0

package httparena

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
)

// TestFieldsOfConnection: a connection of HTTP/2 keeps strings of header fields for later requests, also those
// that the middleware does not see: early hints, and the header of an outgoing request. They stay what they were
// without Reuse, and with Keep.
func TestFieldsOfConnection(t *testing.T) {
	other := startHTTP2(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Header.Get("X-Text")) })
	for name, o := range map[string]Options{"NoReuse": {}, "Keep": {Reuse: true, Pool: &arena.Pool{Arenas: 1}}} {
		if m := freehold.Modes(); !o.Reuse && (m.Guard || m.Sample != 0) {
			continue // The mode overwrites such strings, and makes their use fault.
		}
		s := startHTTP2(t, Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if o.Reuse {
				Keep(r.Context())
			}
			text := arena.Concat(arena.FromContext(r.Context()), r.URL.Query().Get("q"), "!")
			w.Header().Set("Link", text)
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Del("Link")
			out, err := http.NewRequestWithContext(r.Context(), "GET", other.URL, nil)
			if err != nil {
				t.Error(err)
				return
			}
			out.Header.Set("X-Text", text)
			answer, err := other.Client().Do(out)
			if err != nil {
				t.Error(err)
				return
			}
			defer answer.Body.Close()
			io.Copy(w, answer.Body)
		}), o).ServeHTTP)
		for i := range 200 {
			text := strings.Repeat(fmt.Sprintf("%03d.", i%50), 10+i%7)
			if got, _ := get(t, s, "/?q="+text); got != text+"!" {
				t.Fatalf("%s: request %d of %s was passed on as %s", name, i, text, got)
			}
		}
	}
}

func startHTTP2(t *testing.T, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}
