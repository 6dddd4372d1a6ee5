// SPDX-License-Identifier: Apache-2.0

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
// Routers that take middleware as a function get it from [Middleware].
//
// # Model
//
// [Handler] takes an arena from a pool, puts it into the request's context, calls the handler, and
// then frees the arena. By default the arena's memory goes to the collector, because a handler
// calls other code, which may keep a pointer. A value that is used after its request then does not
// change, and shows the data of no other request. With Options.Reuse the next request gets the
// memory at once.
//
// Options can bound the bytes of one arena and, with Reuse, the bytes that the pool keeps. Without
// the middleware [arena.FromContext] returns the nil arena, which allocates from the Go heap, so
// handlers work in both cases.
//
// The ResponseWriter is passed on unchanged, with all of its methods.
//
// # Lifetime
//
// Values in the arena are valid until the handler returns. Copy values that must live longer with
// [arena.Clone] or [arena.Heap]: values for a cache, a channel, a log that is written later, or a
// goroutine that outlives the handler.
//
//   - A goroutine that outlives the handler may use the arena if the handler has called [Keep]. The
//     arena then goes to the collector and not back to the pool.
//   - [http.TimeoutHandler] answers when time is up, while its handler runs on. So put the
//     middleware inside it: http.TimeoutHandler(httparena.Handler(h, o), d, "late"). Outside it,
//     the middleware would free the arena while the handler uses it.
//   - After Hijack the connection belongs to the handler, or to a goroutine, for which the points
//     above hold. A handler that stays for as long as the connection lasts should free memory in
//     between, with an arena of its own.
//   - [http.Transport] may read the body of an outgoing request after it has returned. If the body
//     lies in the arena, call Keep.
//   - The server writes the response's header after the handler has returned, unless the handler
//     flushed it. If a header value is a string of the arena, the middleware detects it and leaves
//     the arena to the collector, so the string stays valid.
//   - A connection keeps strings of header fields for later requests, in the table of HTTP/2's
//     header compression. The middleware sees only the response's header at the end of the handler.
//     Other header fields need strings of the Go heap (strings.Clone), or [Keep]: those of outgoing
//     requests, and those that the handler removes after WriteHeader, as with early hints (status
//     103).
//   - After a panic, http.ErrAbortHandler included, and after runtime.Goexit, the middleware leaves
//     the arena to the collector, because the panic's value may point into it.
//
// A program that breaks these rules sees its old data, or panics if it allocates from an arena
// after the arena's end. With Options.Reuse it sees data of another request. Without a data race it
// does not damage memory. A data race through such a value reads torn slices and interfaces, and
// can forge memory with them. FREEHOLD=guard reports the use of a value that outlived its request,
// with the stacks of the use, of the allocation and of the end.
//
// # Concurrency
//
// An arena serves one goroutine at a time. A handler that allocates from several at once needs
// Options.Shared.
//
// # What it is not
//
// It does not know which values the handler keeps. Run its tests with FREEHOLD=guard: a use of such
// a value after the request then faults, and the report names both places.
package httparena
