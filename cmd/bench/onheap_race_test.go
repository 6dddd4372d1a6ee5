//go:build race

package bench

// onGoHeap says whether offheap hands out the Go heap: under the race detector it does.
func onGoHeap() bool { return true }
