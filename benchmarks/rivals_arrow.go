//go:build cgo

package main

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory/mallocator"
)

func init() {
	m := mallocator.NewMallocator()
	rival{
		name: "arrow Mallocator (cgo)", note: "calloc, and a sync.Map entry for each block", slow: true,
		zeroed: way{
			alloc: func(n int) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(m.Allocate(n))) },
			free:  func(p unsafe.Pointer, n int) { m.Free(unsafe.Slice((*byte)(p), n)) },
		},
	}.register()
}
