// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"expvar"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freehold-go/freehold/cmd/debugport"
	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/gctune"
)

// debugServer is a server with net/http/pprof below a prefix, and with what the test adds.
func debugServer(t *testing.T, prefix string, more map[string]http.HandlerFunc) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(prefix+"/debug/pprof/", http.StripPrefix(prefix, http.HandlerFunc(pprof.Index)))
	if more["/debug/pprof/profile"] == nil {
		mux.HandleFunc(prefix+"/debug/pprof/profile", pprof.Profile)
	}
	for path, h := range more {
		mux.HandleFunc(prefix+path, h)
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// A program without any handler of freehold's is read as well, wherever its pages lie.
func TestAddress(t *testing.T) {
	for name, more := range map[string]map[string]http.HandlerFunc{
		"heap?debug=1": nil,
		"expvar":       {"/debug/vars": expvar.Handler().ServeHTTP},
	} {
		t.Run(name, func(t *testing.T) {
			s := debugServer(t, "/inner", more)
			e := collected(t, []string{s.URL + "/inner/debug/pprof/heap?debug=1"}, nil, Options{Duration: time.Second})
			if e.CPU == nil || e.Heap[0] == nil || e.Heap[1] == nil || e.Window <= 0 {
				t.Fatalf("pieces are missing: %+v", e)
			}
			for i := range e.Metrics {
				if v, ok := e.Metrics[i].Get(evidence.MetricAllocBytes); !ok || v <= 0 {
					t.Errorf("metrics %d lack the allocated bytes: %+v", i, e.Metrics[i].Values)
				}
			}
			if e.Source != s.URL+"/inner" {
				t.Errorf("the source is %q", e.Source)
			}
		})
	}
}

// TestAddressKept reads the evidence that was kept of a program. It equals the original, for each
// source of metrics.
func TestAddressKept(t *testing.T) {
	for name, more := range map[string]map[string]http.HandlerFunc{
		"gctune":       {gctune.HandlerPath: gctune.Handler().ServeHTTP},
		"expvar":       {"/debug/vars": expvar.Handler().ServeHTTP},
		"heap?debug=1": nil,
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "kept")
			e := collected(t, []string{debugServer(t, "", more).URL}, nil, Options{Duration: time.Second, Save: dir})
			again := collected(t, []string{dir}, nil, Options{})
			if again.CPU == nil || again.Heap[0] == nil || again.Heap[1] == nil || again.Main != e.Main || again.Go != e.Go {
				t.Errorf("%+v was kept as %+v", e, again)
			}
			for i := range e.Metrics {
				if got, want := again.Metrics[i], e.Metrics[i]; len(want.Values) == 0 || !maps.Equal(got.Values, want.Values) || len(got.Histograms) != len(want.Histograms) {
					t.Errorf("the metrics %d that were kept are %v, want %v", i, got.Values, want.Values)
				}
			}
		})
	}
}

func answer(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}
}

func TestAddressRefused(t *testing.T) {
	const closed = "http://127.0.0.1:1" // no port that was free a moment ago: the next server may get it
	empty := httptest.NewServer(http.NotFoundHandler())
	defer empty.Close()
	private := httptest.NewServer(answer(http.StatusUnauthorized, "no"))
	defer private.Close()
	page := httptest.NewServer(answer(http.StatusOK, "<html>please log in</html>"))
	defer page.Close()
	second := Options{Duration: time.Second}
	wantError(t, []string{closed}, nil, second, `cannot reach http://.*: connection refused; is the program running`)
	wantError(t, []string{empty.URL}, nil, second, `answers "404 Not Found"; import _ "net/http/pprof"`)
	wantError(t, []string{strings.Replace(private.URL, "//", "//me:secret@", 1)}, nil, second, `//me:xxxxx@.*answers "401 Unauthorized"; put user and password`)
	wantError(t, []string{page.URL}, nil, second, `/debug/pprof/heap`)
	wantError(t, []string{"http://"}, nil, second, `is no address; write it like http://localhost:6060`)
	wantError(t, []string{"http://no-such-host.invalid"}, nil, second, `no host no-such-host\.invalid|cannot reach|in time`)

	broken := debugServer(t, "", map[string]http.HandlerFunc{"/debug/pprof/profile": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("short"))
	}})
	wantError(t, []string{broken.URL}, nil, second, `the answer broke off: unexpected EOF; is the program still running\?`)
	busy := debugServer(t, "", map[string]http.HandlerFunc{"/debug/pprof/profile": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Go-Pprof", "1")
		http.Error(w, "Could not enable CPU profiling: cpu profiling already in use", http.StatusInternalServerError)
	}})
	wantError(t, []string{busy.URL}, nil, second, `another CPU profile is being taken`)
	// Servers built by Go before 1.23 refuse what takes longer than their WriteTimeout.
	hasty := debugServer(t, "", map[string]http.HandlerFunc{"/debug/pprof/profile": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Go-Pprof", "1")
		http.Error(w, "profile duration exceeds server's WriteTimeout", http.StatusBadRequest)
	}})
	wantError(t, []string{hasty.URL}, nil, Options{Duration: 2 * time.Second}, `WriteTimeout is shorter than the profile: give a shorter -duration`)
}

// Who interrupts gets an error, not a report of half the evidence.
func TestAddressInterrupted(t *testing.T) {
	for name, part := range map[string]string{"before the answer": "", "within the answer": "a part of it"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			s := debugServer(t, "", map[string]http.HandlerFunc{"/debug/pprof/profile": func(w http.ResponseWriter, r *http.Request) {
				if part != "" {
					_, _ = w.Write([]byte(part))
					w.(http.Flusher).Flush()
					time.Sleep(100 * time.Millisecond) // so that it has arrived, as a rule
				}
				cancel()
				<-r.Context().Done()
			}})
			_, err := From(ctx, []string{s.URL}, nil, Options{Duration: 20 * time.Second})
			if err == nil || !strings.Contains(err.Error(), "interrupted") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// The token, the certificate and the timeout reach each request.
func TestAddressOptions(t *testing.T) {
	const token = "Bearer s3cr3t"
	ts := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != token {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		http.DefaultServeMux.ServeHTTP(w, r)
	}))
	defer ts.Close()
	o := Options{Duration: time.Second, Server: debugport.Options{Insecure: true, Headers: []string{"Authorization: " + token}}}
	if e := collected(t, []string{ts.URL}, nil, o); e.CPU == nil || e.Heap[1] == nil || strings.Contains(e.Source, "s3cr3t") {
		t.Errorf("pieces are missing: %+v", e)
	}
	wantError(t, []string{ts.URL}, nil, Options{}, `cannot trust .*; give its certificate authority with -ca FILE, or accept it unchecked with -insecure`)
	o.Server.Headers = nil
	wantError(t, []string{ts.URL}, nil, o, `answers "401 Unauthorized"; .* -header 'Authorization: Bearer TOKEN'`)
}

// The heap profiles during the CPU profile are bounded, and none is asked for after the end.
func TestGrowth(t *testing.T) {
	var asked atomic.Int64
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.DefaultServeMux.ServeHTTP(w, r)
	}))
	defer ts.Close()
	server, err := debugport.Parse(ts.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{Options: Options{Save: "kept"}, ev: &evidence.Evidence{}}
	end := c.growth(t.Context(), server, time.Millisecond)
	for asked.Load() < mostCurve {
		time.Sleep(time.Millisecond)
	}
	if list := end(); len(list) < mostCurve-1 || len(list) > mostCurve || len(c.pieces) != len(list) || asked.Load() != mostCurve {
		t.Errorf("%d values, %d pieces and %d requests", len(list), len(c.pieces), asked.Load())
	}
	if list := c.growth(t.Context(), server, time.Hour)(); len(list) != 0 {
		t.Errorf("ended before the first: %v", list)
	}
}
