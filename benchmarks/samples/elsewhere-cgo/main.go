//go:build cgo

// Command elsewhere-cgo spends its time in C.
package main

/*
static unsigned work(unsigned x, int n) {
	for (int i = 0; i < n; i++) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; }
	return x;
}
*/
import "C"

import "github.com/freehold-go/freehold/benchmarks/samples/load"

func main() {
	x := C.uint(1)
	load.Main(load.Sample{Ops: 800_000, Before: func() load.Op {
		return func(int) { x = C.work(x, 1000) }
	}})
}
