//go:build !unix

package bound

// mapped keeps what the bound took from the Go heap reachable: its links are hidden from the collector.
var mapped [][]byte

// Map takes n bytes from the Go heap, on systems without mmap in package syscall.
func Map(n int) []byte {
	words := make([]byte, n)
	mapped = append(mapped, words)
	return words
}
