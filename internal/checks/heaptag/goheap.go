// SPDX-License-Identifier: Apache-2.0

//go:build goheap

package main

import "github.com/freehold-go/freehold"

// A build with -tags goheap takes every block from the Go heap.
func init() {
	if err := freehold.Configure(freehold.Options{Heap: true}); err != nil {
		panic(err)
	}
}
