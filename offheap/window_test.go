// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// The tests here widen the windows between the steps of allocations, frees and purges; see
// invariants.Window. Slabs change hands all the time: the blocks are so large, or so few, that most
// frees give a slab back.

// widen widens windows until the test ends.
func widen(t *testing.T) {
	needOwnMemory(t)
	if !invariants.Enabled {
		t.Skip("windows are widened with -tags invariants alone")
	}
	procs := runtime.GOMAXPROCS(4)
	invariants.Widen(24)
	t.Cleanup(func() {
		invariants.Widen(0)
		runtime.GOMAXPROCS(procs)
	})
}

// windowSteps is how much each goroutine does.
const windowSteps = 30_000

// windowSizes are of blocks that fill a group each, of blocks of which a group has some, and of a large block.
var windowSizes = []uintptr{16 << 10, 40 << 10, 4096, 1000, 100 << 10}

// A windowBlock is a block that a worker of these tests has.
type windowBlock struct {
	addr, n uintptr
	kind    *kind
	stamp   byte
}

// fill writes what check expects: only a 1 in memory for bools.
func (b *windowBlock) fill() {
	for _, at := range b.places() {
		*unsafex.At[byte](b.addr + at) = b.stamp
	}
}

func (b *windowBlock) places() [4]uintptr { return [4]uintptr{0, b.n / 3, b.n / 2, b.n - 1} }

// check reports whether the block has what its owner wrote.
func (b *windowBlock) check(t *testing.T) bool {
	for _, at := range b.places() {
		if got := *unsafex.At[byte](b.addr + at); got != b.stamp {
			t.Errorf("byte %d of a block of %d bytes is %#x; its owner wrote %#x", at, b.n, got, b.stamp)
			return false
		}
	}
	return true
}

// resize resizes the block where it is, if that is possible. All of the block that is new is zero.
func (b *windowBlock) resize(t *testing.T, h *heap, n uintptr) {
	if room, _ := h.resize("Realloc", b.addr, b.n, n, b.kind.typ); room == 0 {
		return
	}
	for i := b.n; i < n; i++ {
		if v := *unsafex.At[byte](b.addr + i); v != 0 {
			t.Errorf("byte %d of a block that grew from %d to %d bytes is %#x", i, b.n, n, v)
			return
		}
	}
	b.n = n
	b.fill()
}

// free frees the block as its owner does.
func (b *windowBlock) free(h *heap) {
	h.freeSlow(b.addr, nil, "Free")
}

// TestWindows: what a correct program has is its own, and memory for bools never has anything else.
func TestWindows(t *testing.T) {
	widen(t)
	h := releasedHeap(t, &fakemem.Fake{})
	bools := h.newKind(nil, &typeDesc{typ: reflect.TypeFor[bool]()})
	kinds := []*kind{h.plain, h.newKind(nil, nil), h.newKind(&purposeState{options: PurposeOptions{Wipe: true}}, nil), bools}
	const workers, steps = 4, 2 * windowSteps
	given := make(chan windowBlock, 32)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			var mine []windowBlock
			free := func(b windowBlock) {
				b.check(t)
				b.free(h.heap)
			}
			for range steps {
				if t.Failed() {
					break
				}
				switch r.IntN(16) {
				case 0, 1, 2, 3, 4, 5:
					b := windowBlock{n: windowSizes[r.IntN(len(windowSizes))], kind: kinds[r.IntN(len(kinds))], stamp: byte(2 + r.IntN(250))}
					addr, err := h.allocate(request{kind: b.kind, n: b.n, align: 8, zero: b.kind == bools})
					if err != nil {
						t.Error(err)
						return
					}
					b.addr = addr
					if b.kind == bools {
						b.stamp = 1
						for i := range b.n {
							if v := *unsafex.At[byte](addr + i); v > 1 {
								t.Errorf("byte %d of new bools is %#x", i, v)
								return
							}
						}
					}
					b.fill()
					mine = append(mine, b)
				case 6:
					if len(mine) > 0 {
						select {
						case given <- mine[len(mine)-1]:
							mine = mine[:len(mine)-1]
						default:
						}
					}
				case 7:
					select {
					case b := <-given:
						free(b)
					default:
					}
				case 9:
					if n := len(mine); n > 0 {
						if b := &mine[r.IntN(n)]; b.kind == bools && b.check(t) {
							b.resize(t, h.heap, 64<<10+1+uintptr(r.IntN(48<<10)))
						}
					}
				case 8:
					if r.IntN(40) == 0 {
						h.purge.run(r.IntN(2) == 0)
					}
				default:
					if n := len(mine); n > 0 {
						i := r.IntN(n)
						free(mine[i])
						mine[i] = mine[n-1]
						mine = mine[:n-1]
					}
				}
			}
			for _, b := range mine {
				free(b)
			}
		})
	}
	group.Wait()
	close(given)
	for b := range given {
		b.free(h.heap)
	}
	if n := inUseOf(h.heap, nil); n != 0 && !t.Failed() {
		t.Errorf("%d bytes are in use when all blocks are free", n)
	}
	h.purge.run(true)
}

// TestWindowsStale: goroutines free and resize what they or others have freed before, some at the same moment.
// That may hit what now lies there and is of a kind that such calls may name, and is never worse than a MisuseError.
func TestWindowsStale(t *testing.T) {
	widen(t)
	h := releasedHeap(t, &fakemem.Fake{})
	kinds := []*kind{h.plain, h.newKind(nil, nil), h.newKind(&purposeState{options: PurposeOptions{Wipe: true}}, nil)}
	var stale staleAddrs
	var group sync.WaitGroup
	for w := range 4 {
		l := openLocal(t, h)
		group.Go(func() { mistakes(t, h.heap, rand.New(rand.NewPCG(uint64(w), 3)), kinds, l, &stale) })
	}
	group.Wait()
	h.purge.run(true)
}

// mistakes allocates blocks, and frees and resizes those in stale, which has them all, in use or not.
func mistakes(t *testing.T, h *heap, r *rand.Rand, kinds []*kind, l *Local, stale *staleAddrs) {
	for range windowSteps {
		if t.Failed() {
			return
		}
		var own *Local
		if r.IntN(3) == 0 {
			own = l
		}
		n, addr := windowSizes[r.IntN(len(windowSizes))], stale.any(r)
		switch {
		case addr == 0 || r.IntN(2) == 0:
			addr, err := h.allocate(request{kind: kinds[r.IntN(len(kinds))], n: n, align: 8, local: own})
			if err != nil {
				t.Error(err)
				return
			}
			if old := stale.put(r, addr); old != 0 {
				misused(t, func() { h.freeSlow(old, own, "Free") })
			}
		case r.IntN(4) == 0:
			misused(t, func() { h.resize("Realloc", addr, 10, n, nil) })
		case r.IntN(4) == 0:
			misused(t, func() { h.roomOf("Realloc", addr, nil) })
		default:
			misused(t, func() { h.freeSlow(addr, own, "Free") })
		}
	}
}

// staleAddrs are addresses of blocks that may be free.
type staleAddrs struct {
	mu    sync.Mutex
	addrs [96]uintptr
}

// any is one of them, or 0.
func (s *staleAddrs) any(r *rand.Rand) uintptr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addrs[r.IntN(len(s.addrs))]
}

// put puts addr in the place of one of them, which it returns.
func (s *staleAddrs) put(r *rand.Rand, addr uintptr) (old uintptr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := r.IntN(len(s.addrs))
	old, s.addrs[i] = s.addrs[i], addr
	return old
}

// misused runs f, which may panic with a MisuseError and with nothing else.
func misused(t *testing.T, f func()) {
	v := caught(f)
	if e, ok := v.(*MisuseError); v != nil && !ok || ok && strings.Contains(e.Detail, "nothing was ever allocated") {
		t.Error(v) // Blocks have begun at all addresses here.
	}
}

// TestWindowsOfLimits: a limit leaves room for all that goroutines ask for, while others flush.
func TestWindowsOfLimits(t *testing.T) {
	widen(t)
	for _, n := range []int{1000, 16 << 10, 100 << 10} {
		h := releasedHeap(t, &fakemem.Fake{})
		limit, atOnce := int64(20*roundUp(uintptr(n), granule)), 12
		if n <= sizeclass.Max {
			b := h.bin(h.plain, sizeclass.Of(uintptr(n)))
			limit, atOnce = 2*int64(b.granules)*granule, 2*int(b.blocks)-8
		}
		h.SetLimit(limit + 100)
		done := make(chan struct{})
		var flusher sync.WaitGroup
		flusher.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					h.flushPs()
				}
			}
		})
		handOver(h.heap, h.request(8, false), n, atOnce)
		close(done)
		flusher.Wait()
	}
}
