package offheap

import "github.com/freehold-go/freehold/internal/unsafex"

// The race detector must not take what these functions do for accesses of the program: they look at memory that is the program's, and
// may do so while it writes there.

// paint writes the byte over n bytes at addr.
//
//go:norace
func paint(addr, n uintptr, with byte) {
	if n == 0 {
		return
	}
	mem := unsafex.Bytes(addr, n)
	for i := range mem {
		mem[i] = with
	}
}

// unpainted finds the first of n bytes at addr that is another than the byte, and says whether there is none.
//
//go:norace
func unpainted(addr, n uintptr, with byte) (off uintptr, whole bool) {
	if addr%8 == 0 { // Whole words first.
		word := uint64(with) * 0x0101010101010101
		for _, w := range unsafex.Slice[uint64](addr, int(n/8), int(n/8)) {
			if w != word {
				break
			}
			off += 8
		}
	}
	for ; off < n; off++ {
		if *unsafex.At[byte](addr + off) != with {
			return off, false
		}
	}
	return 0, true
}

// search finds the first word of n bytes at addr, from offset from on, that is an address of the Go heap.
//
//go:norace
func (l *lookup) search(addr, n, from uintptr) (off, word uintptr, found bool) {
	first := roundUp(addr+from, ptrSize)
	if n < from || first+ptrSize > addr+n {
		return 0, 0, false
	}
	words := unsafex.Slice[uintptr](first, int((addr+n-first)/ptrSize), int((addr+n-first)/ptrSize))
	for i := range words {
		if w := words[i]; w != 0 && l.has(w) {
			return first + uintptr(i)*ptrSize - addr, w, true
		}
	}
	return 0, 0, false
}

// wipe writes zeros over n bytes at addr.
//
//go:norace
func wipe(addr, n uintptr) { unsafex.Clear(addr, n) }
