// SPDX-License-Identifier: Apache-2.0

package memlimit

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

const (
	floorShare      = 10 // the floor is 1/10 of what Go and the memory off its heap share
	hysteresisShare = 64 // changes under 1/64 of that wait
)

// Process is the limiter of this process.
var Process = New(debug.SetMemoryLimit, newGoNeed())

// New returns a limiter over a runtime: set is [debug.SetMemoryLimit] or like it, need returns the
// bytes below which Go's heap cannot work.
func New(set func(int64) int64, need func() int64) *Limiter { return &Limiter{set: set, need: need} }

// A Budget is the memory that a tuner allows this program: Go's memory and off-heap memory
// together, in bytes. The zero Budget is none.
type Budget struct {
	// Soft is the bound that the two should keep, Hard the bound at which the kernel kills a
	// process. Hard is at least Soft.
	Soft, Hard int64
	// Min is the least limit for Go, as long as Hard allows it.
	Min int64
}

// none reports whether there is no budget.
func (b Budget) none() bool { return b == Budget{} }

// Limiter keeps Go's limit at the user's limit, or the budget if that is less, less the off-heap
// memory. Tests make their own, with a pretended runtime. Any number of goroutines may use one.
type Limiter struct {
	mu   sync.Mutex
	set  func(int64) int64 // debug.SetMemoryLimit
	need func() int64      // bytes under which Go's heap cannot work

	asked atomic.Int64 // calls of Sync since none was at work

	budget Budget

	user    int64 // the user's limit
	ours    int64 // what we set last; meaningful if applied
	applied bool  // ours is in force, as far as we know

	// past remembers the values that we set last, each with the user's limit behind it: the user's code
	// may have read one of them, and put it back later.
	past    [1024]struct{ ours, user int64 }
	pastLen int // ever written; the ring's next slot is pastLen % len(past)
}

func (l *Limiter) get() int64 { return l.set(-1) }

// User returns the limit as the user set it, math.MaxInt64 if there is none.
func (l *Limiter) User() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notice(l.get())
	return l.user
}

// SetBudget replaces the budget and sets the limit that follows from it. Unlike Sync it waits for a
// call that is under way.
func (l *Limiter) SetBudget(b Budget, offHeap func() int64) {
	bytes := offHeap()
	l.mu.Lock()
	l.budget = b
	l.sync(bytes)
	l.mu.Unlock()
	l.Sync(offHeap) // A call of Sync may have read a newer figure before we took the lock.
}

// Preview returns the limit that Sync would set for b and offHeap bytes, and changes nothing.
func (l *Limiter) Preview(b Budget, offHeap int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notice(l.get())
	return l.target(b, offHeap)
}

// Sync sets the limit that Go should have while as many bytes lie outside its heap as offHeap
// returns, which may be called several times, under no lock. Of concurrent calls one does the work,
// and reads the bytes anew if another call came after it read them; the others return at once. If
// offHeap panics or ends its goroutine, so does Sync, and the next call does the work. Sync allocates
// nothing.
func (l *Limiter) Sync(offHeap func() int64) {
	if l.asked.Add(1) > 1 {
		return
	}
	returned := false
	defer func() {
		if !returned { // No goroutine is at work any more.
			l.asked.Store(0)
		}
	}()
	for {
		asked := l.asked.Load()
		bytes := offHeap()
		l.mu.Lock()
		l.sync(bytes)
		l.mu.Unlock()
		if l.asked.CompareAndSwap(asked, 0) {
			returned = true
			return
		}
	}
}

// sync sets the limit for that many bytes. The caller holds the lock.
func (l *Limiter) sync(offHeap int64) {
	// Twice: the user may set a limit between our reading and our change, and the second round
	// takes it in.
	for range 2 {
		cur := l.get()
		l.notice(cur)
		want := l.target(l.budget, offHeap)
		if want == cur || want != l.user && abs(want-cur) < l.base(l.budget)/hysteresisShare {
			return
		}
		l.forgo()
		want = l.distinct(want)
		old := l.set(want)
		l.ours, l.applied = want, true
		if old == cur {
			return
		}
		// Our change has overwritten a limit that the user had just set. The next round sets the
		// right limit.
		l.user = l.restored(old)
	}
}

// notice finds out whose limit cur, the one in force, is.
func (l *Limiter) notice(cur int64) {
	if l.applied && cur == l.ours {
		return
	}
	l.forgo()
	l.user = l.restored(cur)
	if l.user != cur {
		l.ours, l.applied = cur, true
	}
}

// forgo remembers the value in force, if it is ours, because another one replaces it.
func (l *Limiter) forgo() {
	if l.applied && l.ours != l.user {
		l.past[l.pastLen%len(l.past)] = struct{ ours, user int64 }{l.ours, l.user}
		l.pastLen++
	}
	l.applied = false
}

// restored returns the user's limit that stood behind cur if cur is a value of ours put back, and
// cur if it is not.
func (l *Limiter) restored(cur int64) int64 {
	for i := l.pastLen - 1; i >= 0 && i >= l.pastLen-len(l.past); i-- {
		if p := l.past[i%len(l.past)]; p.ours == cur {
			return p.user
		}
	}
	return cur
}

// distinct returns want, or the next smaller odd value that never stood for another limit of the
// user's: such a value, put back, would restore the wrong limit. The floor and a budget lead to the
// same value for many limits.
func (l *Limiter) distinct(want int64) int64 {
	if want == l.user {
		return want
	}
	for want > 2 {
		if user := l.restored(want); user == want || user == l.user {
			break
		}
		want -= 2
	}
	return want
}

// base is what Go's memory and the bytes off its heap share: the user's limit, or the budget if
// that is less.
func (l *Limiter) base(b Budget) int64 {
	if b.none() {
		return l.user
	}
	return min(l.user, b.Soft)
}

// target is the limit that Go should have while offHeap bytes lie outside its heap.
func (l *Limiter) target(b Budget, offHeap int64) int64 {
	base := l.base(b)
	if base == math.MaxInt64 {
		return l.user
	}
	offHeap = max(offHeap, 0)
	want := base - offHeap
	least := base / floorShare
	if floor := max(least, b.Min); offHeap > 0 || !b.none() {
		if floor = max(floor, l.need()); want < floor {
			top := base
			if !b.none() {
				top = max(b.Hard-offHeap, least)
			}
			want = min(floor, top, l.user)
		}
	}
	if want == l.user || want <= 1 {
		return want
	}
	// Odd, so that a limit of the user's, nearly always a round number, is not mistaken for one of
	// ours.
	return (want - 1) | 1
}

// newGoNeed returns a function that computes Go's need of memory: the heap that the last collection
// found live and a quarter of it, and what the runtime itself takes (stacks, its tables). It
// allocates nothing after its first call.
func newGoNeed() func() int64 {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	return func() int64 {
		metrics.Read(samples)
		var v [6]int64
		for i, s := range samples {
			if s.Value.Kind() == metrics.KindUint64 {
				v[i] = int64(s.Value.Uint64())
			}
		}
		live := v[0]
		return live + live/4 + max(0, v[1]-v[2]-v[3]-v[4]-v[5])
	}
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}
