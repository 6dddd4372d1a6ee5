// SPDX-License-Identifier: Apache-2.0

package grpcarena

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/freehold-go/freehold/arena"
)

// Options configure [Handler]. The zero value is a good choice.
type Options struct {
	// Pool is the source of the arenas; nil is a pool of the Handler's own. Its field NoReuse must
	// be set, unless Reuse is. With Reuse its other fields bound the memory that it keeps: the
	// number of arenas, and the bytes of each.
	Pool *arena.Pool
	// Reuse gives the memory of a call to the next one at once. This is the fastest way, for
	// services whose values no other code keeps. Code that keeps a value sees the data of another
	// call, and a data race through the value can tear a slice header and forge memory. Without
	// Reuse the collector gets the memory, as with [arena.NoReuse], and a kept value does not
	// change. Reuse has no effect on calls that come through the server's method ServeHTTP.
	Reuse bool
	// Limit bounds the bytes of one call's arena; 0 means no bound. Beyond it arena.New and similar
	// functions panic with a value that errors.Is [offheap.ErrLimit], which ends the server unless
	// an interceptor recovers; functions with Try return it. A request that a [Registrar] decodes counts, and is an error
	// of its call if it exceeds the bound.
	//
	// [offheap.ErrLimit]: https://pkg.go.dev/github.com/freehold-go/freehold/offheap#ErrLimit
	Limit int64
	// Shared makes arenas that many goroutines may use at once, at the cost of a lock for each
	// value. Such arenas do not come from the pool.
	Shared bool
}

// Handler returns a handler for [grpc.StatsHandler] that puts an arena into the context of each
// call; see [arena.FromContext]. It panics if the limit is negative, or if the pool reuses memory
// and Reuse is not set.
//
// [grpc.StatsHandler]: https://pkg.go.dev/google.golang.org/grpc#StatsHandler
func Handler(o Options) stats.Handler {
	if o.Limit < 0 {
		panic(fmt.Errorf("grpcarena: Handler: negative limit %d; 0 means none", o.Limit))
	}
	switch {
	case o.Pool == nil:
		o.Pool = &arena.Pool{NoReuse: !o.Reuse}
	case !o.Pool.NoReuse && !o.Reuse:
		panic(errors.New("grpcarena: Handler with a Pool that reuses memory: set NoReuse of the Pool, or Reuse of the Options"))
	}
	return &handler{options: o}
}

type handler struct{ options Options }

// TagRPC begins a call. gRPC calls it before interceptors and the method's handler.
func (h *handler) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	t := &tenancy{
		arena:         h.arena(),
		byHTTP:        ctx.Value(http.ServerContextKey) != nil,
		requestOnHeap: !h.options.Reuse && h.options.Limit == 0,
	}
	return context.WithValue(arena.NewContext(ctx, t.arena), tenancyKey{}, t)
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

// HandleRPC notes the metadata that gRPC sends, and ends the call. After the reply is encoded gRPC
// reports the end, in the goroutine of the call, even if the method's handler panicked.
func (h *handler) HandleRPC(ctx context.Context, event stats.RPCStats) {
	t, ok := ctx.Value(tenancyKey{}).(*tenancy)
	if !ok {
		return
	}
	switch e := event.(type) {
	case *stats.OutHeader:
		t.send(e.Header)
		if e.Compression != "" {
			t.send(metadata.MD{"grpc-encoding": {e.Compression}})
		}
	case *stats.OutTrailer:
		t.send(e.Trailer)
	case *stats.End:
		if t.end(e.Error) {
			h.options.Pool.Put(t.arena)
		}
	}
}

// TagConn is for connections, which have no arena.
func (h *handler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn is for connections, which have no arena.
func (h *handler) HandleConn(context.Context, stats.ConnStats) {}

// A tenancy is the time for which a call has its arena: running, kept or ended.
type tenancy struct {
	arena *arena.Arena
	state atomic.Int32
	// byHTTP says that the call came through ServeHTTP. There gRPC encodes headers and the status in
	// another goroutine, which may run after the call's end, and reports no header that SetHeader set.
	byHTTP bool
	// requestOnHeap says that a Registrar decodes the request to the Go heap: nothing would use the arena's memory
	// again, and nothing bounds it.
	requestOnHeap bool

	mu   sync.Mutex
	sent []metadata.MD // gRPC may encode it after the call.
}

const (
	running = iota
	kept
	ended
)

type tenancyKey struct{}

// send notes metadata. The goroutine need not be the one that uses the arena, so it does not look
// into the arena.
func (t *tenancy) send(md metadata.MD) {
	if len(md) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = append(t.sent, md)
}

// end reports whether the arena ends here. It does not if a reader of its values may remain.
func (t *tenancy) end(err error) bool {
	// A goroutine may be using an arena that is kept.
	return t.state.Load() == running && !t.byHTTP && !t.sends(err) && t.state.CompareAndSwap(running, ended)
}

// sends reports whether gRPC may still have to encode a string of the arena: a key or a value of
// metadata, or the message of the status.
func (t *tenancy) sends(err error) bool {
	if err != nil && t.arena.Owns(status.Convert(err).Message()) {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, md := range t.sent {
		for key, values := range md {
			if t.arena.Owns(key) {
				return true
			}
			for _, v := range values {
				if t.arena.Owns(v) {
					return true
				}
			}
		}
	}
	return false
}

// Keep lets the arena of a call outlive it: the arena does not go back to the pool. The collector
// frees it when no pointer to one of its values is left. So a goroutine that outlives the call may
// go on using the arena. Call Keep before the call's handler returns; it panics if the arena has
// ended already. If ctx has no arena of this package, Keep does nothing.
//
// An arena that is not Shared still serves one goroutine at a time. Once the goroutine has begun,
// the handler must not use the arena.
func Keep(ctx context.Context) {
	t, ok := ctx.Value(tenancyKey{}).(*tenancy)
	if ok && !t.state.CompareAndSwap(running, kept) && t.state.Load() == ended {
		panic(errors.New("grpcarena: Keep of an arena that ended with its call: call it before the handler returns"))
	}
}
