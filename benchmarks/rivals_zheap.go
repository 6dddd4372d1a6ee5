//go:build !cgo || !jemalloc

package main

import (
	"github.com/dgraph-io/ristretto/v2/z"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/workloads"
)

// Without its build tag z.Calloc is make([]byte, n) and z.Free does nothing. It takes part where
// blocks hold bytes only: pointers between its blocks would keep nothing alive.
func init() {
	calloc := func() workloads.Bytes {
		return workloads.Bytes{Alloc: func(n int) []byte { return z.Calloc(n, "bench") }, Free: z.Free}
	}
	const name, note = "ristretto z (default)", "z.Calloc without its build tag: the Go heap"
	set.Add("churn/zeroed", bench.Contestant{Name: name, Note: note, Prepare: workloads.Churn(calloc, true), FullOnly: true})
	for _, w := range []string{"fragmentation/log", "fragmentation/big"} {
		set.Add(w, bench.Contestant{Name: name, Note: note, Prepare: workloads.Fragmentation(calloc, nil), FullOnly: true})
	}
}
