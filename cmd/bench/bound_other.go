//go:build !unix

package bench

// mapped keeps what the bound took from the Go heap reachable: its links are hidden from the collector.
var mapped [][]byte

// mapMemory takes n bytes from the Go heap, on systems without mmap in package syscall.
func mapMemory(n int) []byte {
	words := make([]byte, n)
	mapped = append(mapped, words)
	return words
}
