// Package httparena gives each HTTP request an arena, which ends with its handler.
//
//	mux.Handle("/search", httparena.Handler(http.HandlerFunc(search), httparena.Options{}))
//
//	func search(w http.ResponseWriter, r *http.Request) {
//		a := arena.FromContext(r.Context())
//		hits := arena.MakeSlice[hit](a, 0, 100)
//		...
//	}
//
// # Model
//
// [Handler] takes an arena from a pool, puts it in the request's context, calls the handler, and gives the arena back. The collector
// then gets the arena's memory, because a handler calls code of others, which may keep a pointer: a value that is used after its
// request stays what it was, and shows the data of no other request. With [Options].Reuse the next request gets the memory at once.
//
// The bytes that one arena may take can be bounded, and with Reuse also the bytes that the pool keeps. Without the middleware [arena.FromContext] is the nil arena, which allocates from the Go heap, so that handlers work in either case.
//
// The ResponseWriter is passed on as it is, with all that it can do.
//
// # Lifetime
//
// Values in the arena are good until the handler returns. What lives longer must be copied out, by [arena.Clone] or [arena.Heap]: what goes
// to a cache, a channel, a log that is written later, or a goroutine that the handler leaves behind.
//
//   - A goroutine that is left behind may use the arena if the handler called [Keep] before: the arena is then not given back, but
//     left to the collector.
//   - http.TimeoutHandler leaves its handler behind when time is up, so the middleware belongs inside it:
//     http.TimeoutHandler(httparena.Handler(h, o), d, "late"). Outside it would end the arena under the handler's feet.
//   - After Hijack the connection is the handler's, or that of a goroutine, to which the points above apply. A handler that stays for as
//     long as the connection lasts should free memory in between, with an arena of its own.
//   - http.Transport may read the body of an outgoing request after it has returned. If the body lies in the arena, call Keep.
//   - The server writes the response's header when the handler has returned, unless it was flushed before. If a header value is a string
//     of the arena, the arena is left to the collector, too, and the string stays good.
//   - After a panic, http.ErrAbortHandler included, and after runtime.Goexit, the arena is left to the collector, because what was
//     thrown may lead into it.
//
// A program that breaks these rules sees its old data, or panics if it allocates from an arena after the arena's end. With
// [Options].Reuse it sees data of another request instead, and does not damage memory as long as it has no data race; but a data race
// through such a value reads torn slices and interfaces, and with them memory can be forged. With FREEHOLD=guard the use of a value that outlived its request is a report with the stacks of the use, of the
// allocation and of the end.
//
// # Concurrency
//
// An arena serves one goroutine at a time: a handler that allocates from several at once needs [Options].Shared.
//
// # What it is not
//
// It does not know what the handler keeps: [arena.Audit] and the debug modes do.
package httparena
