//go:build cgo && jemalloc

package main

import (
	"unsafe"

	"github.com/dgraph-io/ristretto/v2/z"

	"github.com/freehold-go/freehold/benchmarks/jemalloc"
	"github.com/freehold-go/freehold/cmd/bench"
)

const zName = "ristretto z (jemalloc)"

func init() {
	rival{
		name: zName, note: "z.Calloc and z.Free, default options, leak tracking always on", slow: true,
		env: []string{defaultConf},
		zeroed: way{
			alloc: func(n int) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(z.Calloc(n, "bench"))) },
			free:  func(p unsafe.Pointer, n int) { z.Free(unsafe.Slice((*byte)(p), n)) },
		},
	}.register()
	free := func(p unsafe.Pointer, n int) { jemalloc.Free(unsafe.Slice((*byte)(p), n)) }
	rival{
		name: "jemalloc (cgo), counted", note: "slices whose bytes are counted, a background thread, huge pages for records",
		zeroed: way{func(n int) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(jemalloc.Alloc(n))) }, free},
		plain:  way{func(n int) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(jemalloc.AllocUninit(n))) }, free},
	}.register()
	set.AddBars("churn/zeroed", bench.AtMost("churn/zeroed, offheap by z.Calloc", 0.7, bench.TimeRatio("churn/zeroed", 0, "offheap", zName)))
}
