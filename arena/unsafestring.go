// SPDX-License-Identifier: Apache-2.0

package arena

import "github.com/freehold-go/freehold/internal/unsafex"

// UnsafeString returns the bytes of b as a string, without a copy. b may lie in an arena or anywhere
// else. [String] is the safe way, and copies.
//
// The caller promises that no code writes to the bytes as long as the string, or a part of it, is in
// use. Go assumes that a string never changes, so after a write:
//   - A Go map with the string as a key no longer finds the entry, or finds it
//     under two keys. Deleting it may fail, too. (A Map of this package copies its keys.)
//   - A check of the string holds no longer: a path, a number or UTF-8 that was valid may be another
//     by the time of its use.
//   - Two looks at the string in one function may give the old and the new bytes, in any mixture,
//     because the compiler may keep what it has read.
//   - If another goroutine reads the string, the write is a data race.
//
// The length never changes, so no index leads outside the memory. A free is a write, too: after
// Free, Reset or Rewind of the arena with b, the string shows later data, as any stale value does.
// On the Go heap the string keeps all of b's array alive.
func UnsafeString[S ~[]byte](b S) string {
	return unsafex.StringOf(unsafex.DataOf(b), len(b))
}
