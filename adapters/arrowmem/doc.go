// Package arrowmem gives Apache Arrow its buffers outside the Go heap.
//
//	allocator := arrowmem.NewAllocator(arrowmem.Options{})
//	builder := array.NewInt64Builder(allocator)
//
// # Model
//
// Every buffer is one block of package offheap, aligned to 64 bytes and zero, on the account of a purpose, which can have a limit.
// The collector neither scans nor counts it, and there is no cgo, as there is in arrow's own Mallocator.
//
// # Lifetime
//
// Arrow counts references: a block lives until the last Release of all arrays, records, slices and builders that share it. With
// arrow's Go allocator a Release that was forgotten costs nothing, because the collector takes the memory; here it is a leak. Test with
// memory.NewCheckedAllocator around this one, whose AssertSize finds what was not released. And a Release too many, or a use
// after the last, which the Go allocator forgives, ends here in a panic or in other data; with FREEHOLD=guard, in a report.
//
// Strings that arrays return (String.Value) are not copies: they end with the array. strings.Clone takes one out.
//
// # Errors
//
// Arrow's interface has none: where the machine or a limit refuses memory, Allocate and Reallocate panic with a value that
// errors.Is [offheap.ErrOutOfMemory] or [offheap.ErrLimit]. A Free of what is no block panics with an [*offheap.MisuseError].
//
// # Concurrency
//
// An Allocator may be used from any goroutine.
//
// # What it is not
//
// It is not for arrays that go to C through arrow's C Data Interface: with the kill switch (FREEHOLD=heap) blocks are Go memory, which
// C must not keep. Arrow's Mallocator serves there.
package arrowmem
