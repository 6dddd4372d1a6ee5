// SPDX-License-Identifier: Apache-2.0

package httparena

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

// serve starts a server on the loopback device for a handler in the middleware.
func serve(t *testing.T, o Options, f http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(Handler(f, o))
	s.Config.ErrorLog = nil
	t.Cleanup(s.Close)
	return s
}

// get is the answer's body and header.
func get(t testing.TB, s *httptest.Server, path string) (string, http.Header) {
	t.Helper()
	r, err := s.Client().Get(s.URL + path)
	if err != nil {
		t.Error(err)
		return "", nil
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return string(b), r.Header
}

// A tenant is an arena in use. It holds it, so that the collector does not take it.
type tenant struct {
	a  *arena.Arena
	id uint64
}

func tenantOf(a *arena.Arena) tenant { return tenant{a, a.ID()} }

// over says whether the arena was given back. Any goroutine may ask.
func (t tenant) over() bool {
	inUse := slices.ContainsFunc(arena.List(), func(i arena.Info) bool { return i.ID == t.id })
	runtime.KeepAlive(t.a)
	return !inUse
}

func TestEndsWithHandler(t *testing.T) {
	arenas := make(chan tenant, 1)
	s := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		a := arena.FromContext(r.Context())
		v := arena.New[int](a)
		if a == nil || a.Owns(v) != owns() {
			t.Error("the value does not lie in the request's arena")
		}
		io.WriteString(w, arena.Concat(a, "hello ", r.URL.Path))
		arenas <- tenantOf(a)
	})
	for range 10 {
		if body, _ := get(t, s, "/world"); body != "hello /world" {
			t.Errorf("body %q", body)
		}
		if a := <-arenas; !settled(a.over) {
			t.Error("the arena did not end with its handler")
		}
	}
}

// settled waits for what a server does after it has answered.
func settled(done func() bool) bool {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if done() {
			return true
		}
	}
	return done()
}

// TestManyRequests: each request has values of its own, also in memory that another request used.
func TestManyRequests(t *testing.T) {
	pool := &arena.Pool{Arenas: 2, Bytes: 1 << 20}
	s := serve(t, Options{Pool: pool, Reuse: true}, func(w http.ResponseWriter, r *http.Request) {
		a := arena.FromContext(r.Context())
		var parts []string
		for i := range 100 {
			parts = arena.Append(a, parts, arena.Concat(a, r.URL.Path, fmt.Sprint(i)))
		}
		io.WriteString(w, strings.Join(parts, " "))
	})
	var clients sync.WaitGroup
	for g := range 8 {
		clients.Go(func() {
			for i := range 50 {
				path := fmt.Sprintf("/%d-%d-", g, i)
				body, _ := get(t, s, path)
				if f := strings.Fields(body); len(f) != 100 || f[0] != path+"0" || f[99] != path+"99" {
					t.Errorf("%s was answered with %.80q", path, body)
				}
			}
		})
	}
	clients.Wait()
}

func TestLimit(t *testing.T) {
	s := serve(t, Options{Limit: 1 << 20}, func(w http.ResponseWriter, r *http.Request) {
		_, err := arena.TryMakeSlice[byte](arena.FromContext(r.Context()), 2<<20, 2<<20)
		fmt.Fprint(w, errors.Is(err, offheap.ErrLimit))
	})
	if body, _ := get(t, s, "/"); body != "true" {
		t.Errorf("beyond the limit: ErrLimit %s", body)
	}
}

// TestLimitForEach: each handler may take what the limit allows, whatever chunks the requests of
// another left in the pool.
func TestLimitForEach(t *testing.T) {
	answer := func(w http.ResponseWriter, err error) { fmt.Fprint(w, err) }
	for _, shared := range []bool{false, true} {
		s := serve(t, Options{Limit: 1 << 20, Pool: &arena.Pool{Arenas: 1}, Reuse: true, Shared: shared}, func(w http.ResponseWriter, r *http.Request) {
			a := arena.FromContext(r.Context())
			if r.URL.Path == "/strings" {
				_, err := arena.TryMakeSlice[string](a, 50_000, 50_000)
				answer(w, err)
				return
			}
			_, err := arena.TryMakeSlice[*int](a, 100_000, 100_000)
			answer(w, err)
		})
		for range 3 {
			for _, path := range []string{"/strings", "/pointers"} {
				if body, _ := get(t, s, path); body != "<nil>" {
					t.Errorf("%s: %s", path, body)
				}
			}
		}
	}
}

func TestShared(t *testing.T) {
	arenas := make(chan tenant, 1)
	s := serve(t, Options{Shared: true}, func(w http.ResponseWriter, r *http.Request) {
		a := arena.FromContext(r.Context())
		var workers sync.WaitGroup
		for range 4 {
			workers.Go(func() {
				for i := range 1000 {
					*arena.New[int](a) = i
				}
			})
		}
		workers.Wait()
		arenas <- tenantOf(a)
	})
	get(t, s, "/")
	if a := <-arenas; !settled(a.over) {
		t.Error("the shared arena did not end with its handler")
	}
}

// TestPanic: a panic's value, and other pointers into the arena, stay valid.
func TestPanic(t *testing.T) {
	for name, leave := range map[string]func(v any){
		"panic":  func(v any) { panic(v) },
		"abort":  func(any) { panic(http.ErrAbortHandler) },
		"goexit": func(any) { runtime.Goexit() },
	} {
		t.Run(name, func(t *testing.T) {
			var used tenant
			var thrown *string
			h := Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				a := arena.FromContext(r.Context())
				used = tenantOf(a)
				thrown = arena.New[string](a)
				*thrown = arena.Concat(a, "thrown by ", name)
				leave(thrown)
			}), Options{})
			var caught any
			done := make(chan bool)
			go func() {
				defer close(done)
				defer func() { caught = recover() }()
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
			}()
			<-done
			if used.over() {
				t.Error("the arena was given back, though what was thrown may lead into it")
			}
			switch name {
			case "panic":
				if caught != any(thrown) || *thrown != "thrown by panic" {
					t.Errorf("caught %v", caught)
				}
			case "abort":
				if caught != http.ErrAbortHandler {
					t.Errorf("caught %v", caught)
				}
			}
		})
	}
}

// TestHeader: the server writes a header after the handler, which must not show another request's
// strings.
func TestHeader(t *testing.T) {
	for name, set := range map[string]func(a *arena.Arena, h http.Header, v string){
		"value":  func(a *arena.Arena, h http.Header, v string) { h.Set("X-Path", arena.String(a, v)) },
		"key":    func(a *arena.Arena, h http.Header, v string) { h[arena.String(a, "X-Path")] = []string{v} },
		"values": func(a *arena.Arena, h http.Header, v string) { h["X-Path"] = arena.Append(a, nil, v) },
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
				a := arena.FromContext(r.Context())
				set(a, w.Header(), strings.Clone(r.URL.Path))
				io.WriteString(w, "x") // The header is decided on, but not written.
			})
			var clients sync.WaitGroup
			for g := range 8 {
				clients.Go(func() {
					for i := range 100 {
						path := fmt.Sprintf("/%d-%d", g, i)
						if _, header := get(t, s, path); header.Get("X-Path") != path {
							t.Errorf("the answer to %s has the header %q", path, header.Get("X-Path"))
						}
					}
				})
			}
			clients.Wait()
		})
	}
}

// TestHeaderKeepsArena is what TestHeader rests on, without a race to win.
func TestHeaderKeepsArena(t *testing.T) {
	if !owns() {
		t.Skip("values do not lie in arenas with the kill switch")
	}
	for name, want := range map[string]bool{"arena": false, "heap": true} {
		var used tenant
		w := httptest.NewRecorder()
		Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a := arena.FromContext(r.Context())
			used = tenantOf(a)
			v := strings.Clone(name)
			if name == "arena" {
				v = arena.String(a, v)
			}
			w.Header().Set("X", v)
		}), Options{}).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if got := used.over(); got != want {
			t.Errorf("with a string of the %s in the header the arena ended: %v", name, got)
		}
	}
}

// owns says whether values lie in arenas at all, which they do not with the kill switch.
func owns() bool {
	a := arena.NewArena()
	defer a.Free()
	return a.Owns(arena.String(a, "x"))
}

// TestKeep: goroutines that a handler leaves behind.
func TestKeep(t *testing.T) {
	left, results := make(chan bool), make(chan string)
	s := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		a := arena.FromContext(r.Context())
		v := arena.Concat(a, "kept for ", r.URL.Path)
		Keep(r.Context())
		Keep(r.Context()) // Twice is as good.
		go func() {
			<-left
			results <- arena.Concat(a, v, " and used")
		}()
	})
	get(t, s, "/a")
	for range 20 { // They would have the memory by now.
		Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			arena.Concat(arena.FromContext(r.Context()), "others ", r.URL.Path)
		}), Options{}).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/b", nil))
	}
	close(left)
	if got := <-results; got != "kept for /a and used" {
		t.Errorf("the goroutine read %q", got)
	}
}

func TestKeepTooLate(t *testing.T) {
	var ctx context.Context
	Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { ctx = r.Context() }), Options{}).
		ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	defer func() {
		if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), "before the handler returns") {
			t.Errorf("Keep after the handler: %v", err)
		}
	}()
	Keep(t.Context()) // No arena: nothing happens.
	Keep(ctx)
}

// TestTimeoutInside is the order that the documentation asks for: the handler that is late has its
// arena until it returns.
func TestTimeoutInside(t *testing.T) {
	late, arenas := make(chan bool), make(chan tenant, 1)
	results := make(chan string, 1)
	h := http.TimeoutHandler(Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := arena.FromContext(r.Context())
		v := arena.Concat(a, "mine: ", r.URL.Path)
		<-late
		results <- strings.Clone(arena.Concat(a, v, ", still"))
		arenas <- tenantOf(a)
	}), Options{}), time.Millisecond, "late")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/x", nil))
	if w.Code != http.StatusServiceUnavailable || w.Body.String() != "late" {
		t.Errorf("answered %d %q", w.Code, w.Body)
	}
	close(late)
	if got := <-results; got != "mine: /x, still" {
		t.Errorf("the late handler read %q", got)
	}
	if a := <-arenas; !settled(a.over) {
		t.Error("the arena did not end with its handler")
	}
}

// TestTimeoutOutside is the wrong order: the late handler panics because its arena has ended, and
// no memory is damaged.
func TestTimeoutOutside(t *testing.T) {
	late, results := make(chan bool), make(chan any, 1)
	h := Handler(http.TimeoutHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		defer func() { results <- recover() }()
		<-late
		arena.New[int](arena.FromContext(r.Context()))
	}), time.Millisecond, "late"), Options{})
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	close(late)
	if err, _ := (<-results).(error); err == nil || !strings.Contains(err.Error(), "which was freed") {
		t.Errorf("the late handler used an arena that had ended: %v", err)
	}
}

// TestHijack: the middleware passes the writer on as it is, and the arena is good while the handler
// has the connection.
func TestHijack(t *testing.T) {
	arenas := make(chan tenant, 1)
	s := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		a := arena.FromContext(r.Context())
		for range 3 {
			line, err := rw.ReadString('\n')
			if err != nil {
				t.Error(err)
				return
			}
			rw.WriteString(arena.Concat(a, "got ", line))
			rw.Flush()
		}
		arenas <- tenantOf(a)
	})
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	in := bufio.NewReader(conn)
	for i := range 3 {
		fmt.Fprintf(conn, "line %d\n", i)
		if line, err := in.ReadString('\n'); err != nil || line != fmt.Sprintf("got line %d\n", i) {
			t.Fatalf("%q, %v", line, err)
		}
	}
	if a := <-arenas; !settled(a.over) {
		t.Error("the arena did not end with its handler")
	}
}

// TestMiddleware: each handler that the function wraps has an arena, and all take theirs from one
// pool.
func TestMiddleware(t *testing.T) {
	pool := &arena.Pool{Arenas: 1}
	wrap := Middleware(Options{Pool: pool, Reuse: true})
	answers := func(text string) http.Handler {
		return wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a := arena.FromContext(r.Context())
			if a == nil {
				t.Error("no arena")
			}
			io.WriteString(w, arena.Concat(a, text, r.URL.Path))
		}))
	}
	mux := http.NewServeMux()
	mux.Handle("/one", answers("the first at "))
	mux.Handle("/two", answers("the second at "))
	for path, want := range map[string]string{"/one": "the first at /one", "/two": "the second at /two"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Body.String() != want {
			t.Errorf("%s: %q", path, w.Body)
		}
	}
	if m := freehold.Modes(); !owns() || m.NoReuse || m.Guard || m.Sample != 0 {
		return // The pool has nothing to keep.
	}
	a := pool.Get()
	defer pool.Put(a)
	if a.Stats().Held == 0 {
		t.Error("the handlers left no chunks in the pool")
	}
}

func TestBadArguments(t *testing.T) {
	for name, f := range map[string]func(){
		"httparena: Handler of a nil http.Handler":    func() { Handler(nil, Options{}) },
		"httparena: Handler: negative limit":          func() { Handler(http.NotFoundHandler(), Options{Limit: -1}) },
		"httparena: Middleware of a nil http.Handler": func() { Middleware(Options{})(nil) },
		"httparena: Middleware: negative limit":       func() { Middleware(Options{Limit: -1}) },
		"httparena: Middleware with a Pool":           func() { Middleware(Options{Pool: new(arena.Pool)}) },
	} {
		func() {
			defer func() {
				if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), name) {
					t.Errorf("%s: %v", name, v)
				}
			}()
			f()
		}()
	}
}
