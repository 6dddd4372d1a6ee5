// SPDX-License-Identifier: Apache-2.0

// Package vmem gets address space and pages from the operating system, and gives pages back.
//
// # Model
//
// Package vmem separates address space and memory. [Memory.Reserve] takes address space, which
// nothing may touch and which costs no memory. [Memory.Commit] makes a part of it readable and
// writable; the machine lends pages as they are touched. [Memory.Purge] gives the pages back and
// keeps the range committed: later reads see zeros. [Memory.Release] gives address space back, and
// is only for ranges that no block was ever allocated from, such as the rest after alignment or a
// failed start.
//
// Address space that blocks were allocated from is never unmapped: Go could map its own heap there,
// and a stale pointer would then be a Go pointer to the wrong object. So there is no unmap for
// files either. [Memory.RetireFile] replaces a closed file map in place by inaccessible address
// space, and nothing here moves a mapping.
//
// # Huge pages
//
// A purge that leaves a part of a huge page in use lowers the resident set that the kernel reports
// and returns nothing to the machine, until the huge page is split. [Memory.SplitHuge] splits it
// without touching its contents; call it before such a purge. The kernel may later fill the holes
// and make the page huge again, unless [Memory.NoHuge] was called for it.
//
// # Rules
//
// Addresses are uintptr, because the ranges are never Go memory and the collector must not see them
// as such. A caller that turns one into a pointer must ensure that the range is committed and that
// the memory holds no Go pointers. Addresses and sizes are in bytes; except for files, both are
// multiples of [PageSize]. A range that is empty or not so aligned is an error.
//
// Errors are of type [*Error], which has the request and, if the system lets us find out, which
// limit refused it; errors.Is(err, ErrNoMemory) is true for a refusal for lack of memory or address
// space, and false for a misuse. A call that fails changes nothing unless its comment says
// otherwise.
//
// # Concurrency
//
// [System] holds no state of its callers. All methods and functions may be called from any
// goroutine at any time. Calls on overlapping ranges happen in an order that the caller must
// arrange.
//
// # What it is not
//
// It is no allocator: every call is a system call of a microsecond or more, and every change of
// protection may split a mapping, of which Linux grants 65530 by default. (At that limit Go dies
// too, so on Linux the package keeps 33 mappings in reserve, releases them at the first refusal,
// and refuses calls that would take more mappings until it has them back.) Where [Supported] is
// false (js, wasip1, plan9 and untested systems), every call returns an error that wraps
// errors.ErrUnsupported, and callers use the Go heap.
package vmem
