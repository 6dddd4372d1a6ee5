// SPDX-License-Identifier: Apache-2.0

package grpcmem

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/mem"
)

// pools are ours and gRPC's own.
func pools() map[string]mem.BufferPool {
	return map[string]mem.BufferPool{
		"grpcmem":        NewPool(Options{}),
		"grpcmem/uninit": NewPool(Options{Uninit: true}),
		"grpc":           mem.DefaultBufferPool(),
		"make":           mem.NopBufferPool{},
	}
}

// BenchmarkGetPut takes a buffer and puts it back.
func BenchmarkGetPut(b *testing.B) {
	for name, p := range pools() {
		for _, n := range []int{4 << 10, 16 << 10, 40_000, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						buf := p.Get(n)
						(*buf)[0] = 1
						p.Put(buf)
					}
				})
			})
		}
	}
}

// BenchmarkCall sends a message to a server on the loopback device and back.
func BenchmarkCall(b *testing.B) {
	for name, p := range pools() {
		for _, n := range []int{4 << 10, 40_000, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				client := connect(b, p)
				b.ReportAllocs()
				b.SetBytes(2 * int64(n))
				b.RunParallel(func(pb *testing.PB) {
					m := message(1, n)
					for pb.Next() {
						if err := call(b.Context(), client, m); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}
