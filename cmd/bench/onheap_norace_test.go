//go:build !race

package bench

import "github.com/freehold-go/freehold"

// onGoHeap says whether offheap hands out the Go heap: with the kill switch it does.
func onGoHeap() bool { return freehold.HeapMode() }
