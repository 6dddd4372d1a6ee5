// SPDX-License-Identifier: Apache-2.0

// Package alloctest is a conformance suite for allocators of byte blocks: it runs an [Allocator]
// against the contract below and against a naive model.
//
// # Model
//
// An allocator returns blocks. A block is a []byte that only its holder may write, until the holder
// frees it. The suite observes only what a holder can observe: lengths, contents, addresses,
// errors, panics, and the number of bytes in use. It needs no hook in the allocator.
//
// Every allocator must keep this contract:
//
//   - TryAlloc(n) returns n zero bytes, for any earlier contents of the memory. TryAllocUninit(n)
//     returns n bytes of any value. TryAllocAligned(n, align) returns n zero bytes at a multiple of
//     align, for every power of two up to [Config.MaxAlign].
//   - No two live blocks share a byte, capacity included.
//   - TryRealloc(b, n) keeps the first min(len(b), n) bytes, and zeroes new bytes. If it fails, b
//     is untouched and the caller still holds it. With a nil b it is TryAlloc.
//   - Free accepts b or b[:k], from any goroutine if [Config.Concurrent] is set. It ignores nil and
//     an empty slice that is no part of a block. The suite does not try b[cap(b):].
//   - If a length is impossible, the result is an error that errors.Is [Config.ErrOutOfMemory]. A
//     negative length, or an alignment that is not a power of two, is a mistake of the caller: a
//     panic or an error, in both cases with a message that says so.
//   - InUse rises by at least the length of each block, and returns to its start when every block
//     is free and no call is under way.
//   - After any failure the allocator works on.
//
// With [Config.Misuse] the suite also makes wrong frees: a block twice, an address inside a block,
// memory of the Go heap, a stack or the program's data. Each must panic with a message that names
// the mistake, and must not damage the allocator.
//
// # Use
//
// [Test] is the suite. [Ops] runs a stream of operations that a byte string describes, for a fuzz
// target; [FuzzSeeds] adds seeds. [FailEach] repeats a stream for each n, and makes the n-th call
// to the operating system fail. [CheckLeaks] makes a test fail if it leaves blocks in use.
// [TestTyped] checks functions that return values of a type.
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
// Run such a target with -fuzzminimizetime=1x. By default the fuzzer spends up to a minute on
// making each new input shorter, and tries no other input in that time.
//
// # Concurrency
//
// The functions of this package may run in several tests at once if each has an allocator of its
// own. Tests that share one allocator must not run in parallel, because the suite compares InUse
// before and after. Tests with [Config.GCStress] must not run in parallel either, because it
// changes the collector's setting.
//
// # What it is not
//
// It measures nothing, and no check depends on a time. It cannot detect a write through a stale
// slice, nor memory that an allocator loses without counting it.
package alloctest
