package httparena

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/freehold-go/freehold/arena"
)

// Options are those of [Handler]. The zero value is good.
type Options struct {
	// Pool is where arenas come from and go back to; nil is a pool of the handler's own. Its field NoReuse must be set, unless Reuse is.
	// With Reuse its other fields bound what it keeps: for how many requests at once, and how many bytes for each.
	Pool *arena.Pool
	// Reuse gives the memory of a request to the next ones at once. That is the fastest way, for handlers whose values nothing keeps:
	// code that keeps one sees the data of another request, and a data race through it can tear a slice header and forge memory.
	// Without Reuse the collector gets the memory, as [arena.NoReuse] says, and a value that was kept stays what it was.
	Reuse bool
	// Limit bounds the bytes that one request's arena may take, 0 for no bound. arena.New and the like panic beyond it with a value
	// that errors.Is [offheap.ErrLimit], which net/http answers by ending the connection; those with Try return it.
	//
	// [offheap.ErrLimit]: https://pkg.go.dev/github.com/freehold-go/freehold/offheap#ErrLimit
	Limit int64
	// Shared makes arenas that many goroutines may use at once, which costs a lock for each value. They do not come from the pool.
	Shared bool
}

// Handler returns next with an arena in the context of each request; see [arena.FromContext]. It panics if next is nil, the limit
// is negative, or the pool reuses memory and Reuse is not set.
func Handler(next http.Handler, o Options) http.Handler {
	if next == nil {
		panic("httparena: Handler of a nil http.Handler")
	}
	if o.Limit < 0 {
		panic(fmt.Errorf("httparena: Handler: negative limit %d; 0 means none", o.Limit))
	}
	switch {
	case o.Pool == nil:
		o.Pool = &arena.Pool{NoReuse: !o.Reuse}
	case !o.Pool.NoReuse && !o.Reuse:
		panic(errors.New("httparena: Handler with a Pool that reuses memory: set NoReuse of the Pool, or Reuse of the Options"))
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
	// Without this after a panic, and after Goexit, which recover would not tell: then the collector has the arena.
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

// end says whether the arena ends here. It does not if somebody may still read what is in it.
func (t *tenancy) end(a *arena.Arena, header http.Header) bool {
	// Who kept the arena may be using it, so that we may not.
	return t.state.Load() == running && !inHeader(a, header) && t.state.CompareAndSwap(running, ended)
}

// Keep lets the arena of a request outlive its handler: it is not given back, but left to the collector, which frees it when nobody
// has a value of it any more. So a goroutine that the handler leaves behind may go on using it. Keep must be called before the
// handler returns, and panics if the arena has ended already. If ctx has no arena of this package's, it does nothing.
//
// An arena that is not Shared still serves one goroutine at a time: after the goroutine has begun, the handler uses it no more.
func Keep(ctx context.Context) {
	t, ok := ctx.Value(tenancyKey{}).(*tenancy)
	if ok && !t.state.CompareAndSwap(running, kept) && t.state.Load() == ended {
		panic(errors.New("httparena: Keep of an arena that ended with its handler: call it before the handler returns"))
	}
}

// inHeader says whether a key or a value of a response's header lies in the arena. The server reads them after the handler.
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
