// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// With a sanitizer compiled in, every block is tracked. All memory that blocks are cut from is
// forbidden to the program; a block is allowed while it lives, so that its neighbourhood is what
// the sanitizers call red zones: at least what the block before leaves behind its end (see margin).
// Freed blocks are forbidden again, and not used again while they are in quarantine.

// sanitizedQuarantine bounds the freed blocks that a sanitizer keeps from being used again, in
// bytes. It is what AddressSanitizer keeps of malloc's.
const sanitizedQuarantine = 256 << 20

// marked says whether blocks are noted with their stacks: in the debug modes, and for a sanitizer
// to which they are reported. A nil t has no blocks.
func (t *tracked) marked() bool {
	return t != nil && (t.modes.Asked() || sanitize.Enabled && t.under != nil)
}

// sanitized says whether b is reported to a sanitizer. Blocks on the Go heap are the runtime's to
// report.
func (t *tracked) sanitized(b *block) bool {
	return sanitize.Enabled && t.under != nil && !b.guarded
}

// announce reports a new block to the sanitizer, and zeroes it if zero is set.
func (t *tracked) announce(b *block, zero bool) {
	if !t.sanitized(b) {
		return
	}
	sanitize.Fresh(b.addr, b.size, zero)
	if zero {
		unsafex.Clear(b.addr, b.size)
	}
}

// giveBack gives the memory of a block back to the slabs, which may clear it.
func (t *tracked) giveBack(b *block) {
	if t.sanitized(b) {
		sanitize.Unpoison(b.addr, b.room)
		defer sanitize.Poison(b.addr, b.room)
	}
	t.under.freeSlow(b.addr, nil, "Free")
}

// clearRest makes the elements of s from the n-th on zero.
func clearRest[T any](s []T, n int) {
	rest := s[n:]
	clear(rest)
	if sanitize.Enabled && len(rest) > 0 { // MemorySanitizer does not see what the builtin writes.
		sanitize.Unpoison(unsafex.SliceAddr(rest), uintptr(len(rest))*unsafex.Size[T]())
	}
}

// allowCopy comes before a copy of s, of which the program may have written a part: to
// MemorySanitizer, as Go uses it, a copy is a use. Bytes that were not written count as written
// afterwards.
func allowCopy[T any](s []T) {
	if sanitize.Kind == "msan" && len(s) > 0 {
		sanitize.Unpoison(unsafex.SliceAddr(s), uintptr(len(s))*unsafex.Size[T]())
	}
}
