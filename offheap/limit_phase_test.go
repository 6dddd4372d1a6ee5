// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/vmem"
)

const phaseLimit = 4 << 20

// A phase is the requests of one size. A program allocates blocks for it, and frees all but one block
// in keep; with keep 0 it frees all.
type phase struct {
	q       request
	n, keep int
	live    []uintptr
}

func (p *phase) fill(t testing.TB, h *heap) {
	t.Helper()
	for _, b := range allocUntilRefused(t, h, p.q, p.n) {
		p.live = append(p.live, addrOf(b))
	}
}

func (p *phase) drain(h *heap) {
	var kept []uintptr
	for i, addr := range p.live {
		if p.keep != 0 && i%p.keep == 0 {
			kept = append(kept, addr)
		} else {
			h.freeSlow(addr, nil, "Free")
		}
	}
	p.live = kept
}

// inUseOf is the bytes in use of p, or of all with nil.
func inUseOf(h *heap, p *purposeState) int64 {
	g := &h.budget
	if p != nil {
		g = &p.budget
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	n, _ := h.server().inUseOf(g)
	return n
}

// limited is a purpose with a limit.
func limited(name string, limit int64) *purposeState {
	p := &purposeState{name: name}
	p.limit.Store(limit)
	return p
}

// slackOf is the bytes of the slabs and groups that holders may have.
func slackOf(h *heap) (n int64) {
	for _, c := range *h.active.Load() {
		for _, b := range *h.bins.Load() {
			if s := c.slot(b); s != nil && s.size != 0 {
				n += int64(b.granules)*granule + groupBytes
			}
		}
	}
	return n
}

// phasesOf are three types with bools, whose slabs exist for good, and sizes of plain memory of which
// some blocks stay in use.
func phasesOf(h *heap, p *purposeState, l *Local) map[string][]*phase {
	var typed, plain []*phase
	for _, typ := range []reflect.Type{reflect.TypeFor[[4]flags](), reflect.TypeFor[[5]flags2](), reflect.TypeFor[[6]odd]()} {
		q := request{kind: h.newKind(p, &typeDesc{typ: typ}), align: 8, zero: true, local: l}
		typed = append(typed, &phase{q: q, n: int(typ.Size())})
	}
	q := request{kind: h.newKind(p, nil), align: 8, local: l}
	if p == nil {
		q.kind = h.plain
	}
	for _, n := range []int{256, 1024, 200} { // One block stays in each slab, and in each group.
		plain = append(plain, &phase{q: q, n: n, keep: min(64<<10/n, 64)})
	}
	return map[string][]*phase{"typed": typed, "plain": plain}
}

// eachPhases runs a test for each kind of phases, each owner of the limit, on a P and on a Local. With
// more Ps a goroutine may move to one that has free blocks of its own, for which no limit is asked.
func eachPhases(t *testing.T, f func(t *testing.T, h *heap, p *purposeState, phases []*phase)) {
	needOwnMemory(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, of := range []string{"heap", "purpose"} {
		for _, on := range []string{"P", "Local"} {
			for _, kind := range []string{"typed", "plain"} {
				t.Run(fmt.Sprintf("%s, %s, %s", of, on, kind), func(t *testing.T) {
					h := releasedHeap(t, &fakemem.Fake{})
					var l *Local
					if on == "Local" {
						l = openLocal(t, h)
					}
					var p *purposeState
					if of == "heap" {
						h.limit.Store(phaseLimit)
					} else {
						p = limited("phases", phaseLimit)
					}
					f(t, h.heap, p, phasesOf(h.heap, p, l)[kind])
				})
			}
		}
	}
}

func wantWithin(t *testing.T, h *heap, p *purposeState, when string) {
	t.Helper()
	if used, most := inUseOf(h, p), phaseLimit+slackOf(h); used > most {
		t.Errorf("%s: %d bytes are in use with a limit of %d, want at most %d", when, used, phaseLimit, most)
	}
}

// TestLimitOverPhases: a program fills the limit with blocks of one size after the other and frees
// most. Then it allocates all sizes again. The slabs exist by then, and the limit holds all the same.
func TestLimitOverPhases(t *testing.T) {
	eachPhases(t, func(t *testing.T, h *heap, p *purposeState, phases []*phase) {
		for round := range 2 {
			for _, ph := range phases {
				ph.fill(t, h)
				wantWithin(t, h, p, fmt.Sprintf("round %d, %d bytes", round, ph.n))
				ph.drain(h)
			}
		}
		for _, ph := range phases {
			ph.fill(t, h)
			wantWithin(t, h, p, fmt.Sprintf("all sizes, %d bytes", ph.n))
			if used := inUseOf(h, p); used < phaseLimit-1024 {
				t.Errorf("a request of %d bytes is refused with %d bytes in use of %d", ph.n, used, phaseLimit)
			}
		}
		last := phases[len(phases)-1]
		if n := wantRefusals(t, h, last.q, last.n, ErrLimit); n > 1 {
			t.Errorf("100 refusals in a row flushed the Ps %d times", n)
		}
		// What a free gives back serves the next request.
		for _, ph := range phases {
			for i, addr := range ph.live {
				if i%7 != 0 || inUseOf(h, p) > phaseLimit {
					continue
				}
				h.freeSlow(addr, nil, "Free")
				b, err := h.allocBytes("Alloc", ph.n, ph.q)
				if err != nil {
					t.Fatalf("%d bytes were freed and are refused: %v", ph.n, err)
				}
				ph.live[i] = addrOf(b)
			}
		}
		for _, ph := range phases[1:] {
			for _, addr := range ph.live {
				h.freeSlow(addr, nil, "Free")
			}
		}
		before := len(phases[0].live)
		if phases[0].fill(t, h); len(phases[0].live) < phaseLimit/2/phases[0].n || len(phases[0].live) < before {
			t.Errorf("%d blocks of %d bytes fit after all others were freed", len(phases[0].live), phases[0].n)
		}
		wantWithin(t, h, p, "at the end")
	})
}

// TestLimitOfFrees: at the limit a program frees one or two blocks in each of many groups, most of
// whose blocks are free, and allocates again each time. A free that checks a group out does not
// bring the group's free blocks past the limit.
func TestLimitOfFrees(t *testing.T) {
	eachPhases(t, func(t *testing.T, h *heap, p *purposeState, phases []*phase) {
		first, second := phases[0], phases[1]
		first.keep = 9
		first.fill(t, h)
		first.drain(h)
		second.fill(t, h)
		kept := first.live
		first.live = nil
		for i := 0; i+1 < len(kept); i += 2 {
			h.freeSlow(kept[i], nil, "Free")
			h.freeSlow(kept[i+1], nil, "Free")
			for range 40 {
				b, err := h.allocBytes("Alloc", first.n, first.q)
				if err != nil {
					break
				}
				first.live = append(first.live, addrOf(b))
			}
		}
		wantWithin(t, h, p, "after frees and allocations")
	})
}

// TestLimitOfPurposesTogether: goroutines with purposes of their own, some limited and on Locals,
// keep within their limits and within that of the heap.
func TestLimitOfPurposesTogether(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{})
	h.limit.Store(phaseLimit)
	const count = 4
	var purposes [count]*purposeState
	var locals [count]*Local
	var phases [count][]*phase
	for i := range purposes {
		purposes[i] = limited(fmt.Sprint(i), 0)
		if i%2 == 0 {
			purposes[i].limit.Store(phaseLimit / 4)
			locals[i] = openLocal(t, h)
		}
		phases[i] = phasesOf(h.heap, purposes[i], locals[i])["typed"]
	}
	for round := range 3 {
		var workers sync.WaitGroup
		for i := range purposes {
			workers.Go(func() {
				for _, ph := range phases[i] {
					for len(ph.live) < phaseLimit/ph.n {
						b, err := h.allocBytes("Alloc", ph.n, ph.q)
						if err != nil {
							if !errors.Is(err, ErrLimit) {
								t.Error(err)
							}
							break
						}
						ph.live = append(ph.live, addrOf(b))
					}
					if round < 2 {
						ph.drain(h.heap)
					}
				}
			})
		}
		workers.Wait()
		wantWithin(t, h.heap, nil, fmt.Sprintf("round %d", round))
		for _, p := range purposes {
			limit := p.limit.Load()
			if used, most := inUseOf(h.heap, p), limit+slackOf(h.heap)/count; limit != 0 && used > most {
				t.Errorf("round %d: purpose %s has %d bytes in use with a limit of %d, want at most %d", round, p.name, used, limit, most)
			}
		}
	}
}

// TestLimitSetLater: a limit that is set below the bytes of the slabs, or lowered, holds from then on.
func TestLimitSetLater(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{})
	phases := phasesOf(h.heap, nil, nil)["typed"]
	h.SetLimit(2 * phaseLimit)
	for _, ph := range phases {
		ph.fill(t, h.heap)
		ph.drain(h.heap)
	}
	for _, limits := range [][]int64{{phaseLimit}, {0, phaseLimit}, {8 * phaseLimit, phaseLimit}} {
		for _, n := range limits {
			h.SetLimit(n)
		}
		for _, ph := range phases {
			ph.fill(t, h.heap)
		}
		wantWithin(t, h.heap, nil, fmt.Sprintf("limits %d", limits))
		for _, ph := range phases {
			ph.drain(h.heap)
		}
	}
}

// TestQuota: a quota gives away what it has and no more, and anything while there is no need for it.
func TestQuota(t *testing.T) {
	var q quota
	if !q.take(1 << 40) {
		t.Error("a quota refuses without a limit")
	}
	q.follow(100, 100, 100)
	if !q.take(1 << 40) {
		t.Error("a quota refuses though the spans hold no more than the limit")
	}
	if q.follow(1, 101, 100); q.take(1) || !q.take(0) {
		t.Error("above the limit a quota begins with more or less than 0 bytes")
	}
	if q.set(10); !q.take(7) || q.take(4) || !q.take(3) || q.take(1) {
		t.Error("a quota of 10 bytes does not give 7 and 3 and no more")
	}
	q.set(10)
	if q.follow(4, 105, 100); q.take(7) || !q.take(6) {
		t.Error("a span of 4 bytes does not take them from a quota of 10")
	}
	q.set(10)
	if q.reset(105, 100); q.take(1) {
		t.Error("a quota keeps bytes over a reset")
	}
	if q.follow(-5, 100, 100); !q.take(1 << 40) {
		t.Error("a quota refuses after the spans hold no more than the limit again")
	}
}

// TestQuotaStaysClosed: a reset, as SetLimit makes one, opens no quota for a moment.
func TestQuotaStaysClosed(t *testing.T) {
	var q quota
	q.reset(105, 100)
	var over atomic.Bool
	var resets sync.WaitGroup
	resets.Go(func() {
		for !over.Load() {
			q.reset(105, 100)
		}
	})
	for range 200_000 {
		if q.take(1) {
			t.Error("a quota without room gives a byte while a limit is set to what it is")
			break
		}
	}
	over.Store(true)
	resets.Wait()
}

// TestQuotaClosesBesideSums: while a large block is made that the limit has just room for, no goroutine takes
// free blocks, which the sum did not have. After a refusal the quota is open again.
func TestQuotaClosesBesideSums(t *testing.T) {
	needOwnMemory(t)
	const limit = 16 << 20
	for _, of := range []string{"heap", "purpose"} {
		h := releasedHeap(t, &fakemem.Fake{}).heap
		q := request{kind: h.plain, align: 8}
		quota := &h.quota
		if of == "heap" {
			h.setLimit(&h.budget, limit)
		} else {
			p := limited(of, limit)
			q.kind, quota = h.newKind(p, nil), &p.quota
		}
		small, err := h.allocBytes("Alloc", 64<<10, q) // One of eight in its slab.
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.allocBytes("Alloc", limit, q); !errors.Is(err, ErrLimit) {
			t.Errorf("limit of the %s: %v beyond it", of, err)
		}
		if !quota.take(1 << 30) {
			t.Errorf("limit of the %s: the quota is closed after a refusal", of)
		}
		asked := false
		h.mem = committing{h.mem, func() {
			asked = true
			if quota.take(1) {
				t.Errorf("limit of the %s: free blocks are taken while a large block is made that leaves no room for them", of)
			}
		}}
		large, err := h.allocBytes("Alloc", limit-128<<10, q)
		if err != nil || !asked {
			t.Fatalf("limit of the %s: %v, and memory was committed: %v", of, err, asked)
		}
		h.freeSlow(addrOf(large), nil, "Free")
		h.freeSlow(addrOf(small), nil, "Free")
		if !quota.take(1 << 30) {
			t.Errorf("limit of the %s: the quota is closed although the spans hold less", of)
		}
	}
}

// committing calls a function while memory is committed.
type committing struct {
	vmem.Memory
	f func()
}

func (m committing) Commit(addr, size uintptr) error {
	m.f()
	return m.Memory.Commit(addr, size)
}
