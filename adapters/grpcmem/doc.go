// SPDX-License-Identifier: Apache-2.0

// Package grpcmem gives gRPC message buffers outside the Go heap.
//
//	pool := grpcmem.NewPool(grpcmem.Options{})
//	server := grpc.NewServer(experimental.BufferPool(pool))
//	client, err := grpc.NewClient(target, experimental.WithBufferPool(pool), ...)
//
// Or, in an init function, for all clients and servers and for the proto codec:
//
//	experimental.SetDefaultBufferPool(pool)
//
// # Model
//
// A buffer of more than a kilobyte is one block of package offheap, on the account of a purpose.
// There are no tiers: a buffer has the requested size, rounded to its size class, and after Put its
// memory serves any other size. Smaller buffers come from the Go heap, because gRPC neither counts
// references to them nor puts them back (mem.NewBuffer).
//
// # Lifetime
//
// A buffer belongs to gRPC from Get to Put, and Put frees it. Between the two, these hold it:
//
//   - A mem.Buffer, its slices and its references. The last Free of them calls Put. Code must not
//     use data from a Buffer (ReadOnlyData) after its own Free of the Buffer, with this pool as
//     with any other.
//   - A codec, until its Unmarshal returns. A codec that keeps the data takes a reference (Ref) and
//     frees it later, as encoding.CodecV2 demands. The proto codec copies.
//   - gRPC drops some buffers without Put: unread messages of a stream that was cancelled or ended
//     early. With gRPC's own pool they are garbage. This pool frees such a buffer when the
//     collector finds the pointer from Get unreachable; Stats counts it as Dropped.
//
// The last point adds one rule to those of gRPC's own pool: code that keeps the bytes of a Buffer
// must keep the Buffer. If a codec or a handler takes ReadOnlyData, drops the Buffer without
// freeing it, and reads the bytes later, it sees other data.
//
// FREEHOLD=guard reports a use after Put with the stacks of Get, Put and the use.
//
// # Errors
//
// gRPC's interface returns no errors. If a limit or the machine refuses a block, the buffer comes
// from the Go heap, and Stats counts it as Refused. A second Put, and a Put of a buffer that Get
// never returned, panic with an [*offheap.MisuseError].
//
// # Concurrency
//
// A Pool may be used by any number of clients, servers and goroutines at once.
//
// # What it is not
//
// It does not make calls faster if the collector has little to do: see the package's benchmarks. It
// pays if many large messages are in flight beside a large heap. Then its buffers have three
// advantages: the collector does not count them, a collection does not drop them as it drops the
// contents of a sync.Pool, and they have the size of the message and not that of a tier. From
// gRPC's own pool, a message of 40 KB takes and clears 1 MiB.
package grpcmem
