// SPDX-License-Identifier: Apache-2.0

package httparena

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
)

// A secret is what a request has in its arena, and code that it calls keeps.
type secret struct {
	path string
	copy []byte
	next *secret
}

func newSecret(a *arena.Arena, path string) *secret {
	s := arena.New[secret](a)
	s.path, s.copy, s.next = arena.Concat(a, "of ", path), arena.Bytes(a, path), arena.New[secret](a)
	s.next.path = arena.String(a, path)
	return s
}

// is says whether the secret is that of a request.
func (s *secret) is(path string) bool {
	return s.path == "of "+path && string(s.copy) == path && s.next != nil && s.next.path == path
}

// requestPath is as long for each request, so that memory that is reused fits.
func requestPath(i int) string { return fmt.Sprintf("/request-%04d", i) }

// TestKept: a value that code keeps stays what it was, whatever requests follow. With Reuse it does
// not, which shows that this test can tell.
func TestKept(t *testing.T) {
	for _, o := range []Options{{}, {Shared: true}, {Pool: &arena.Pool{NoReuse: true}}, {Reuse: true}} {
		var kept []*secret
		h := Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			kept = append(kept, newSecret(arena.FromContext(r.Context()), r.URL.Path))
		}), o)
		for i := range 100 {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", requestPath(i), nil))
		}
		if m := freehold.Modes(); m.Guard || m.Sample != 0 {
			continue // The mode overwrites it, and makes its use fault.
		}
		foreign := 0
		for i, s := range kept {
			if !s.is(requestPath(i)) {
				foreign++
			}
		}
		if want := o.Reuse && owns() && !freehold.Modes().NoReuse; want != (foreign > 0) {
			t.Errorf("%+v: %d of %d values are not what they were", o, foreign, len(kept))
		}
	}
}

// TestLeftBehind: a goroutine that a handler leaves behind reads its own text and nothing else
// while other requests write theirs, and the race detector has nothing to say.
func TestLeftBehind(t *testing.T) {
	if m := freehold.Modes(); m.Guard || m.Sample != 0 {
		t.Skip("the mode makes the use fault")
	}
	var over atomic.Bool
	var left sync.WaitGroup
	h := Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, path := newSecret(arena.FromContext(r.Context()), r.URL.Path), strings.Clone(r.URL.Path)
		if strings.HasSuffix(path, "00") {
			left.Go(func() {
				for n := 0; n < 100 || !over.Load(); n++ {
					if !s.is(path) {
						t.Errorf("a goroutine of %s reads %q, %q", path, s.path, s.copy)
						return
					}
				}
			})
		}
	}), Options{})
	var clients sync.WaitGroup
	for c := range 2 {
		clients.Go(func() {
			for i := range 200 {
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", requestPath(1000*c+i), nil))
			}
		})
	}
	clients.Wait()
	over.Store(true)
	left.Wait()
}

func TestPoolThatReuses(t *testing.T) {
	defer func() {
		if err, ok := recover().(error); !ok || !strings.Contains(err.Error(), "Reuse") {
			t.Errorf("a Pool that reuses memory, without Reuse: %v", err)
		}
	}()
	Handler(http.NotFoundHandler(), Options{Pool: new(arena.Pool)})
}
