// Package alloctest is a conformance suite for allocators of byte blocks: it runs an [Allocator]
// against the contract below and against a naive model.
//
// # Model
//
// An allocator hands out blocks. A block is a []byte that its holder alone may write until it gives
// it back with Free. The suite looks only at what such a holder can see: lengths, contents,
// addresses, errors, panics, and the number of bytes in use. It needs no hook in the allocator.
//
// The contract that every allocator must keep:
//
//   - TryAlloc(n) gives n zero bytes, whatever the memory held before; TryAllocUninit(n) gives n
//     bytes of any value; TryAllocAligned(n, align) gives n zero bytes at a multiple of align, for
//     every power of two up to [Config.MaxAlign].
//   - No two live blocks share a byte, capacity included.
//   - TryRealloc(b, n) keeps the first min(len(b), n) bytes, and zeroes what is new; if it fails, b
//     is untouched and still held. A nil b makes it TryAlloc.
//   - Free takes b or b[:k], from any goroutine where [Config.Concurrent] says so. It
//     ignores nil and an empty slice that is no part of a block. The suite does not try b[cap(b):].
//   - A length that cannot be had is an error that errors.Is [Config.ErrOutOfMemory]. A negative
//     length, or an alignment that is not a power of two, is the caller's bug: a panic or an error,
//     in either case with a message that says so.
//   - InUse rises by at least the length of each block, and is back at its start when every block
//     is free and no call is under way.
//   - After any failure the allocator works on.
//
// With [Config.Misuse] the suite also frees what must not be freed: a block twice, an address inside
// a block, memory of the Go heap, a stack or the program's data. Each must panic with a message that
// says which, and must leave the allocator whole.
//
// # Use
//
// [Test] is the suite. [Ops] runs a stream of operations that a byte string describes, which is what
// a fuzz target wants; [FuzzSeeds] gives it a start. [FailEach] repeats a stream with the n-th call
// to the operating system failing, for each n. [CheckLeaks] makes a test fail that leaves blocks in
// use. [TestTyped] checks functions that hand out values of a type.
//
//	func TestConformance(t *testing.T) {
//		alloctest.Test(t, alloctest.Config{
//			New: func(t testing.TB) alloctest.Allocator { return newMine(t) },
//		})
//	}
//
//	func FuzzOps(f *testing.F) {
//		alloctest.FuzzSeeds(f)
//		f.Fuzz(func(t *testing.T, ops []byte) {
//			alloctest.Ops(t, newMine(t), ops, alloctest.Config{})
//		})
//	}
//
// Run such a target with -fuzzminimizetime=1x. By default the fuzzer spends up to a minute on making
// each new input shorter, in which it tries no other.
//
// # Concurrency
//
// The functions of this package may run in several tests at once if each has an allocator of its
// own. Tests that share one allocator must not run in parallel, because InUse is compared before and
// after; the same holds for [Config.GCStress], which changes the collector's setting meanwhile.
//
// # What it is not
//
// It measures nothing, and no check depends on a time. It cannot see a write through a stale slice,
// nor memory that an allocator loses without counting it.
package alloctest
