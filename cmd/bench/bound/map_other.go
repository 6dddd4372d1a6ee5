// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package bound

// mapped keeps the bound's memory on the Go heap reachable, because the collector does not see the
// bound's links.
var mapped [][]byte

// Map takes n bytes from the Go heap, on systems without mmap in package syscall.
func Map(n int) []byte {
	words := make([]byte, n)
	mapped = append(mapped, words)
	return words
}
