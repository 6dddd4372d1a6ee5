// Package grpcmem gives gRPC its message buffers outside the Go heap.
//
//	pool := grpcmem.NewPool(grpcmem.Options{})
//	server := grpc.NewServer(experimental.BufferPool(pool))
//	client, err := grpc.NewClient(target, experimental.WithBufferPool(pool), ...)
//
// or, for all clients and servers and for the proto codec, in an init function,
//
//	experimental.SetDefaultBufferPool(pool)
//
// # Model
//
// A buffer of more than a kilobyte is one block of package offheap, on the account of a purpose. There are no tiers: a buffer has
// the size that was asked for, in the size class that fits it, and when it comes back its memory serves any other size. Smaller
// ones come from the Go heap, because gRPC neither counts references to them nor gives them back (mem.NewBuffer).
//
// # Lifetime
//
// A buffer is gRPC's from Get to Put, and Put frees it. These may hold it in between:
//
//   - A mem.Buffer, its slices and its references. The last Free of them calls Put. Data read from a Buffer
//     (ReadOnlyData) must not be used after one's own Free of it, with this pool as with any other.
//   - A codec, until its Unmarshal returns; one that keeps the data takes a reference (Ref) that it frees later, as
//     encoding.CodecV2 demands. The proto codec copies.
//   - Nobody. gRPC drops buffers without Put: messages that nobody read from a stream that was cancelled or ended early.
//     With gRPC's own pool they are garbage. Here they are found when the collector finds what Get returned unreachable,
//     and freed then; Stats counts them as Dropped.
//
// The last point asks for one thing more than gRPC's own pool does: who keeps the bytes of a Buffer must keep the Buffer. A codec or
// a handler that takes ReadOnlyData, forgets the Buffer without freeing it, and reads the bytes later, sees other data.
//
// With FREEHOLD=guard a use after Put is a report with the stacks of Get, Put and the use.
//
// # Errors
//
// gRPC's interface has none. Where a limit or the machine refuses a block, the buffer comes from the Go heap, and Stats counts it
// as Refused. A second Put, and a Put of what Get never returned, panic with an [*offheap.MisuseError].
//
// # Concurrency
//
// A Pool may be used by any number of clients, servers and goroutines at once.
//
// # What it is not
//
// It does not make calls faster where the collector has little to do: see the package's benchmarks. It pays where many large messages are
// in flight beside a large heap, because their buffers do not count for the collector's pace, are not dropped at each collection, as what
// lies in a sync.Pool is, and have their own size and not that of a tier: of gRPC's pool, a message of 40 KB takes and clears 1 MiB.
package grpcmem
