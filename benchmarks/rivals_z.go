//go:build jemalloc

package main

import (
	"unsafe"

	"github.com/dgraph-io/ristretto/v2/z"

	"github.com/freehold-go/freehold/cmd/bench"
)

const zName = "ristretto z (jemalloc)"

func init() {
	rival{
		name: zName, note: "z.Calloc and z.Free, default options, leak tracking always on", slow: true,
		zeroed: way{
			alloc: func(n int) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(z.Calloc(n, "bench"))) },
			free:  func(p unsafe.Pointer, n int) { z.Free(unsafe.Slice((*byte)(p), n)) },
		},
	}.register()
	bench.AddBar(bench.Bar{
		Name: "churn/zeroed, offheap by z.Calloc", Limit: 0.7, Value: bench.TimeRatio("churn/zeroed", 0, "offheap", zName),
	})
}
