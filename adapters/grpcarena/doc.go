// SPDX-License-Identifier: Apache-2.0

// Package grpcarena gives each call of a gRPC server an arena, which ends when the reply is
// written.
//
//	server := grpc.NewServer(grpc.StatsHandler(grpcarena.Handler(grpcarena.Options{})))
//
//	func (s *service) Search(ctx context.Context, q *pb.Query) (*pb.Hits, error) {
//		a := arena.FromContext(ctx)
//		hits := arena.New[pb.Hits](a)
//		...
//		return hits, nil
//	}
//
// # Model
//
// [Handler] is a [google.golang.org/grpc/stats.Handler], for unary and for streaming calls. It puts an arena from a pool
// into the call's context before the first interceptor runs, and frees the arena when the call has
// ended: after gRPC has encoded the reply, so the reply may lie in the arena and point into it. An
// interceptor could not do that, because gRPC encodes the reply of a unary call when all
// interceptors have returned.
//
// By default the arena's memory goes to the collector, because a handler calls other code, which
// may keep a pointer. A value that is used after its call then does not change, and shows the data
// of no other call. With Options.Reuse the next call gets the memory at once.
//
// Without the Handler [arena.FromContext] returns the nil arena, which allocates from the Go heap,
// so services work in both cases.
//
// # Requests and replies
//
// [Registrar] makes gRPC decode the requests of a service by package arenaproto: into the arenas of their calls with
// Options.Reuse or Options.Limit, otherwise to the Go heap, in a few objects for each.
//
//	pb.RegisterSearchServer(grpcarena.Registrar(server, arenaproto.Into), new(service))
//
// On the side of the client, [UnaryClientInterceptor], [StreamClientInterceptor] and the option [ReplyInto]
// decode replies into an arena. The function arenaproto.Into is a parameter, so this module does not
// depend on that one, and needs no newer protobuf than gRPC does.
//
// # Lifetime
//
// Values in the arena are valid until the call ends. Copy values that must live longer with
// [arena.Clone] or [arena.Heap]: values for a cache, a channel, a log that is written later, or a
// goroutine that outlives the call.
//
//   - A goroutine that outlives the call may use the arena if the call's handler has called [Keep].
//   - gRPC writes metadata and the message of a status after the call has ended. If a header, a
//     trailer, the name of a compressor or the message is a string of the arena, the Handler detects
//     it and leaves the arena to the collector, so the string stays valid.
//   - A connection keeps strings of metadata for later calls, in the table of HTTP/2's header
//     compression. The Handler does not see the metadata of calls that the handler makes to other
//     servers. If such metadata are strings of the arena, of the request for example, copy them with
//     strings.Clone, or call [Keep].
//   - A call that comes through ServeHTTP, so by the server of net/http, leaves its arena to the
//     collector, because gRPC reports neither all headers of the call nor when it has written them.
//   - A stream has one arena for as long as it lasts. If a stream is long, use an arena of its own
//     for each message, and [ReceiveInto] for the messages that arrive.
//   - A codec that does not copy the bytes of a message, and grpc.EnableTracing, keep messages
//     beyond the call. Both are unusual. Without Options.Reuse such messages do not change.
//   - A recovered panic ends the arena as a return does. Code that keeps the panic's value copies
//     it.
//   - gRPC ends no call of a method that the server does not have. The collector takes the arena.
//
// A program that breaks these rules sees its old data, or panics if it allocates from an arena
// after the arena's end. With Options.Reuse it sees data of another call. Without a data race it
// does not damage memory. A data race through such a value reads torn slices and interfaces, and
// can forge memory with them. FREEHOLD=guard reports the use of a value that outlived its call,
// with the stacks of the use, of the allocation and of the end.
//
// # Concurrency
//
// An arena serves one goroutine at a time. A call that allocates from several at once needs
// Options.Shared. A Handler serves any number of calls and servers at once.
//
// # What it is not
//
// Handler is for servers. As the handler of a client it has no effect, because the context of a client's
// call is gRPC's own. It does not know which values a call keeps. Run the service's tests
// with FREEHOLD=guard: a use of such a value after the call then faults, and the report names both
// places.
package grpcarena
