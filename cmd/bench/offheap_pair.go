package bench

import "github.com/freehold-go/freehold/offheap"

// addPairOffheap adds the ways of freehold to pair and pair/all.
func addPairOffheap() {
	ways := []pairWay{
		{"offheap New", "New and Delete of [n]byte", pairNewLoops},
		{"offheap NewUninit", "NewUninit and Delete of [n]byte", pairUninitLoops},
		{"offheap Alloc", "Alloc and Free of n bytes", pairAllocLoops},
		{"offheap AllocUninit", "AllocUninit and Free of n bytes", pairAllocUninitLoops},
		{"offheap Local", "NewIn and DeleteIn of [n]byte, a Local for each goroutine", pairLocalLoops},
	}
	addOwn("pair", pairContestants(ways, false)...)
	addOwn("pair/all", pairContestants(ways, true)...)
	AddBar(Bar{"pair of 32 B, offheap New by the Go heap", 0.5, TimeRatio("pair", 32, "offheap New", heapName)})
	AddBar(Bar{"pair of 32 B on all Ps, offheap New by the Go heap", 0.5, TimeRatio("pair/all", 32, "offheap New", heapName)})
}

func pairNewLoops(size int) func() func(int) uint64 {
	return bySize(size, pairNew[[16]byte], pairNew[[32]byte], pairNew[[64]byte], pairNew[[128]byte],
		pairNew[[256]byte], pairNew[[512]byte], pairNew[[1024]byte], pairNew[[2048]byte], pairNew[[4096]byte])
}

func pairNew[T block]() func(int) uint64 {
	return func(n int) (sum uint64) {
		for i := range n {
			p := offheap.New[T]()
			(*p)[0] = byte(i)
			sum += uint64((*p)[0])
			offheap.Delete(p)
		}
		return sum
	}
}

func pairUninitLoops(size int) func() func(int) uint64 {
	return bySize(size, pairUninit[[16]byte], pairUninit[[32]byte], pairUninit[[64]byte], pairUninit[[128]byte],
		pairUninit[[256]byte], pairUninit[[512]byte], pairUninit[[1024]byte], pairUninit[[2048]byte], pairUninit[[4096]byte])
}

func pairUninit[T block]() func(int) uint64 {
	return func(n int) (sum uint64) {
		for i := range n {
			p := offheap.NewUninit[T]()
			(*p)[0] = byte(i)
			sum += uint64((*p)[0])
			offheap.Delete(p)
		}
		return sum
	}
}

func pairLocalLoops(size int) func() func(int) uint64 {
	return bySize(size, pairLocal[[16]byte], pairLocal[[32]byte], pairLocal[[64]byte], pairLocal[[128]byte],
		pairLocal[[256]byte], pairLocal[[512]byte], pairLocal[[1024]byte], pairLocal[[2048]byte], pairLocal[[4096]byte])
}

func pairLocal[T block]() func(int) uint64 {
	local := offheap.NewLocal()
	return func(n int) (sum uint64) {
		for i := range n {
			p := offheap.NewIn[T](local)
			(*p)[0] = byte(i)
			sum += uint64((*p)[0])
			offheap.DeleteIn(local, p)
		}
		return sum
	}
}

func pairAllocLoops(size int) func() func(int) uint64 {
	return func() func(int) uint64 {
		return func(n int) (sum uint64) {
			for i := range n {
				b := offheap.Alloc(size)
				b[0] = byte(i)
				sum += uint64(b[0])
				offheap.Free(b)
			}
			return sum
		}
	}
}

func pairAllocUninitLoops(size int) func() func(int) uint64 {
	return func() func(int) uint64 {
		return func(n int) (sum uint64) {
			for i := range n {
				b := offheap.AllocUninit(size)
				b[0] = byte(i)
				sum += uint64(b[0])
				offheap.Free(b)
			}
			return sum
		}
	}
}
