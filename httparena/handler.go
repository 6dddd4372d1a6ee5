// SPDX-License-Identifier: Apache-2.0

package httparena

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/freehold-go/freehold/arena"
)

// Options configure [Handler] and [Middleware]. The zero value is a good choice.
type Options struct {
	// Pool is the source of the arenas; nil is a pool of the call's own. Its field NoReuse must
	// be set, unless Reuse is. With Reuse its other fields bound the memory that it keeps: the
	// number of arenas, and the bytes of each.
	Pool *arena.Pool
	// Reuse gives the memory of a request to the next one at once. This is the fastest way, for
	// handlers whose values no other code keeps. Code that keeps a value sees the data of another
	// request, and a data race through the value can tear a slice header and forge memory. Without
	// Reuse the collector gets the memory, as with [arena.NoReuse], and a kept value does not
	// change.
	Reuse bool
	// Limit bounds the bytes of one request's arena; 0 means no bound. Beyond it arena.New and
	// similar functions panic with a value that errors.Is [offheap.ErrLimit], which net/http
	// answers by closing the connection; functions with Try return it.
	//
	// [offheap.ErrLimit]: https://pkg.go.dev/github.com/freehold-go/freehold/offheap#ErrLimit
	Limit int64
	// Shared makes arenas that many goroutines may use at once, at the cost of a lock for each
	// value. Such arenas do not come from the pool.
	Shared bool
}

// Handler returns next with an arena in the context of each request; see [arena.FromContext]. It
// panics if next is nil, if the limit is negative, or if the pool reuses memory and Reuse is not
// set.
func Handler(next http.Handler, o Options) http.Handler {
	return wrap("Handler", next, o.checked("Handler"))
}

// Middleware returns [Handler] with the options as a function, for routers and chains that take
// such functions (chi's Use, alice, gorilla/mux). All handlers that the function wraps share one
// pool. Middleware panics as Handler does, and so does the function if its handler is nil.
func Middleware(o Options) func(next http.Handler) http.Handler {
	o = o.checked("Middleware")
	return func(next http.Handler) http.Handler { return wrap("Middleware", next, o) }
}

// checked is o with a pool. It panics if o makes no sense. op is the function that was called.
func (o Options) checked(op string) Options {
	if o.Limit < 0 {
		panic(fmt.Errorf("httparena: %s: negative limit %d; 0 means none", op, o.Limit))
	}
	switch {
	case o.Pool == nil:
		o.Pool = &arena.Pool{NoReuse: !o.Reuse}
	case !o.Pool.NoReuse && !o.Reuse:
		panic(fmt.Errorf("httparena: %s with a Pool that reuses memory: set NoReuse of the Pool, or Reuse of the Options", op))
	}
	return o
}

func wrap(op string, next http.Handler, o Options) http.Handler {
	if next == nil {
		panic(fmt.Errorf("httparena: %s of a nil http.Handler", op))
	}
	return &handler{next: next, options: o}
}

type handler struct {
	next    http.Handler
	options Options
}

// ServeHTTP makes a handler an [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := h.arena()
	t := new(tenancy)
	// Without this after a panic, and after Goexit, which recover would not tell: then the
	// collector has the arena.
	returned := false
	defer func() {
		if returned && t.end(a, w.Header()) {
			h.options.Pool.Put(a)
		}
	}()
	ctx := context.WithValue(arena.NewContext(r.Context(), a), tenancyKey{}, t)
	h.next.ServeHTTP(w, r.WithContext(ctx))
	returned = true
}

func (h *handler) arena() *arena.Arena {
	var a *arena.Arena
	if h.options.Shared {
		a = arena.NewWith(arena.Options{Shared: true, NoReuse: !h.options.Reuse})
	} else {
		a = h.options.Pool.Get()
	}
	a.SetLimit(h.options.Limit)
	return a
}

// A tenancy is the time for which a request has its arena: running, kept or ended.
type tenancy struct{ state atomic.Int32 }

const (
	running = iota
	kept
	ended
)

type tenancyKey struct{}

// end reports whether the arena ends here. It does not if a reader of its values may remain.
func (t *tenancy) end(a *arena.Arena, header http.Header) bool {
	// Who kept the arena may be using it, so that we may not.
	return t.state.Load() == running && !inHeader(a, header) && t.state.CompareAndSwap(running, ended)
}

// Keep lets the arena of a request outlive its handler: the arena does not go back to the pool. The
// collector frees it when no pointer to one of its values is left. So a goroutine that outlives the
// handler may go on using the arena. Call Keep before the handler returns; it panics if the arena
// has ended already. If ctx has no arena of this package, Keep does nothing.
//
// An arena that is not Shared still serves one goroutine at a time. Once the goroutine has begun,
// the handler must not use the arena.
func Keep(ctx context.Context) {
	t, ok := ctx.Value(tenancyKey{}).(*tenancy)
	if ok && !t.state.CompareAndSwap(running, kept) && t.state.Load() == ended {
		panic(errors.New("httparena: Keep of an arena that ended with its handler: call it before the handler returns"))
	}
}

// inHeader says whether a key or a value of a response's header lies in the arena. The server reads
// them after the handler.
func inHeader(a *arena.Arena, header http.Header) bool {
	for key, values := range header {
		if a.Owns(key) || a.Owns(values) {
			return true
		}
		for _, v := range values {
			if a.Owns(v) {
				return true
			}
		}
	}
	return false
}
