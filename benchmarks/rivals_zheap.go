//go:build !cgo || !jemalloc

package main

import (
	"github.com/dgraph-io/ristretto/v2/z"

	"github.com/freehold-go/freehold/cmd/bench"
)

// Without its build tag z.Calloc is make([]byte, n) and z.Free does nothing. It takes part where blocks hold bytes
// only: pointers between its blocks would keep nothing alive.
func init() {
	calloc := func() bench.Bytes {
		return bench.Bytes{Alloc: func(n int) []byte { return z.Calloc(n, "bench") }, Free: z.Free}
	}
	const name, note = "ristretto z (default)", "z.Calloc without its build tag: the Go heap"
	bench.Add("churn/zeroed", bench.Contestant{Name: name, Note: note, Prepare: bench.Churn(calloc, true), FullOnly: true})
	for _, w := range []string{"fragmentation/log", "fragmentation/big"} {
		bench.Add(w, bench.Contestant{Name: name, Note: note, Prepare: bench.Fragmentation(calloc, nil), FullOnly: true})
	}
}
