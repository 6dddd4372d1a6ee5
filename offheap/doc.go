// SPDX-License-Identifier: Apache-2.0

// Package offheap allocates single blocks of memory outside the Go heap, which the garbage
// collector neither scans nor waits for.
//
//	b := offheap.Alloc(4096)
//	offheap.Free(b)
//
//	type node struct {
//		next offheap.Ref[node] // A link: 8 bytes, no pointer.
//		key  [2]uint64
//	}
//	n := offheap.New[node]()
//	n.next = offheap.RefOf(n)
//	offheap.Delete(n)
//
//	index := offheap.NewPurpose("index")
//	index.SetLimit(1 << 30)
//	s := offheap.For[node](index).MakeSlice(0, 100)
//	offheap.FreeSlice(s)
//
// # Model
//
// One allocator serves the process. Blocks up to 64 KiB lie in slabs of one size class each, of
// which there are 87. Above 64 bytes they waste at most an eighth. Larger blocks are whole pages.
//
// Off-heap memory holds no Go pointers, because the collector would not see them: New refuses a T
// with Go pointers, and names the field. [Ref], [SliceRef] and [AtomicRef] link off-heap values. A
// type with [UnsafeSelfContained] promises that its pointers lead to off-heap memory only.
//
// A [Typed] says where memory comes from: [For] a [Purpose], [In] a [Local], the fastest way for
// one goroutine, and Aligned. The package's functions are those of the zero Typed.
//
// # Lifetime
//
// A block belongs to the caller until the caller frees it. The program must not use it afterwards.
// A stale pointer shows data of a later block: of the same type if the type holds bools or is
// self-contained, otherwise of any data without pointers and bools. Nothing worse happens: the
// allocator's records lie apart from the blocks, whose address space is never unmapped.
//
// A free of an address that is no block panics with a [*MisuseError]. An interior or a foreign
// pointer is always found, a second free as long as the block has not been allocated again. Later
// it frees the new owner's block. To the memory model a free is a write to the whole block: two
// frees that nothing orders are a data race, both may succeed, and the block may get two owners, of
// which one may be an arena. Freed memory goes back to the machine after some 300 ms, or at once by
// [Purge].
//
// All functions may be called from any goroutine. A Local serves one at a time.
//
// # Errors
//
// If there is no memory, a function panics with a value that errors.Is [ErrOutOfMemory] or
// [ErrLimit]. Its form with Try before its name, or [Try], returns the error. RLIMIT_AS, a machine
// that does not overcommit and vm.max_map_count lead to ErrOutOfMemory, as do absurd sizes. Under
// RLIMIT_DATA or RLIMIT_AS the allocator leaves an eighth of the writable memory, at least 96 MiB,
// to the Go heap, because Go ends the process if its heap cannot grow. If a cgroup is full, the
// kernel kills the process; [SetLimit] prevents that.
//
// Go ends the process if weak.Make, runtime.AddCleanup, runtime.SetFinalizer, ed25519.Sign or
// ed25519.PrivateKey.Sign gets off-heap memory.
//
// # Modes
//
// Words in FREEHOLD report mistakes with stacks; see docs/finding-mistakes.md.
//
//   - guard: each block ends where its own pages end, while budgets last, or has a canary.
//   - leaks: [Leaks], and the end of the process, list the blocks in use.
//   - pointers: frees and [Check] search blocks for addresses of the Go heap.
//   - heap: all blocks come from the Go heap, with the same checks, slower. So they do on js,
//     wasip1 and plan9, and under the race detector, unless guard or pointers is set.
//
// In the first three modes Realloc moves a block whose size changes. In all four [Stats] and limits
// count requested lengths.
//
// # What it is not
//
// It is no arena and no cache. It does not speed up a program whose collector has little to do.
// Leave data of a few megabytes, or long-lived data without pointers, on the Go heap.
package offheap
