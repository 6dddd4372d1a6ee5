package freehold

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// SyncMemoryLimit lowers Go's soft memory limit (GOMEMLIMIT, debug.SetMemoryLimit) by the bytes that the registered packages hold,
// and raises it again as they give memory back. Packages that allocate call it from the background and after they have grown by
// much; a program need not call it. Without a limit, in heap mode and with the mode nomemlimit it does nothing.
//
// The limit that the user sets at any time, before or between calls, is the one that counts: a value that differs from the one
// set here last is taken for a new limit of the user's, unless it restores one that was read while an earlier limit held, as in
// `old := debug.SetMemoryLimit(n); defer debug.SetMemoryLimit(old)`.
//
// The limit never falls below a floor: a tenth of the user's limit, or, if that is more, what Go needs for what is live on its heap
// now and a quarter on top. Below that the collector would run without end and free nothing, because it cannot free what is off the
// heap. A change of less than 1/64 of the user's limit is left undone, so that the limit is not set again at each tick.
//
// It costs about 0.6 µs, most of it for reading what is live. Setting the limit adds 0.1 µs: the runtime takes the heap's lock and
// recomputes the pace of collector, sweeper and scavenger, and does not stop the world (Go 1.25 and 1.26). Not for a fast path, and
// not under a lock that a registered read function takes. Of concurrent calls one does the work; the others return at once.
func SyncMemoryLimit() {
	if process.frozen()&(modeHeap|modeNoMemLimit) != 0 {
		return
	}
	limit.sync(resident())
}

// MemoryLimit returns Go's soft memory limit in bytes as the user set it, before off-heap memory was taken from it: what
// debug.SetMemoryLimit(-1) would return without freehold. It is math.MaxInt64 where there is none.
func MemoryLimit() int64 {
	limit.mu.Lock()
	defer limit.mu.Unlock()
	limit.notice(limit.get())
	return limit.user
}

const (
	floorShare      = 10 // the floor is 1/10 of the user's limit
	hysteresisShare = 64 // changes under 1/64 of the user's limit wait
)

// limit is the limit of this process.
var limit = limiter{set: debug.SetMemoryLimit, need: newGoNeed()}

// limiter keeps Go's limit at the user's limit less what is off the heap. Tests make their own, with a pretended runtime.
type limiter struct {
	mu   sync.Mutex
	set  func(int64) int64 // debug.SetMemoryLimit
	need func() int64      // bytes under which Go's heap cannot work

	user    int64 // the user's limit
	ours    int64 // what we set last; meaningful if applied
	applied bool  // ours is in force, as far as we know

	// past remembers, for each limit that the user replaced, what we had made of it: the value that the user's code read then and
	// may put back later.
	past    [8]struct{ ours, user int64 }
	pastLen int // ever written; the ring's next slot is pastLen % len(past)
}

func (l *limiter) get() int64 { return l.set(-1) }

func (l *limiter) sync(offHeap int64) {
	if !l.mu.TryLock() {
		return
	}
	defer l.mu.Unlock()
	// Twice: the user may set a limit between our look and our change, and the second round takes it in.
	for range 2 {
		cur := l.get()
		l.notice(cur)
		if l.user == math.MaxInt64 {
			return
		}
		want := l.target(offHeap)
		if want == cur || want != l.user && abs(want-cur) < l.user/hysteresisShare {
			return
		}
		old := l.set(want)
		l.ours, l.applied = want, true
		if old == cur {
			return
		}
		l.replaced(cur, old)
	}
}

// notice finds out whose limit cur, the one in force, is.
func (l *limiter) notice(cur int64) {
	if l.applied && cur == l.ours {
		return
	}
	if l.applied {
		l.remember(l.ours)
		l.applied = false
	}
	l.user = l.restored(cur)
	if l.user != cur {
		l.ours, l.applied = cur, true
	}
}

// replaced takes in that our change has overwritten a limit that the user had just set in place of cur. The next round puts
// things right.
func (l *limiter) replaced(cur, user int64) {
	l.remember(cur)
	l.user = l.restored(user)
}

// remember keeps the value that the user's code got back when it set a limit of its own.
func (l *limiter) remember(ours int64) {
	l.past[l.pastLen%len(l.past)] = struct{ ours, user int64 }{ours, l.user}
	l.pastLen++
}

// restored returns the user's limit that stood behind cur if cur is a value of ours put back, and cur if it is not.
func (l *limiter) restored(cur int64) int64 {
	for i := l.pastLen - 1; i >= 0 && i >= l.pastLen-len(l.past); i-- {
		if p := l.past[i%len(l.past)]; p.ours == cur {
			return p.user
		}
	}
	return cur
}

// target is the limit that Go should have while offHeap bytes lie outside its heap.
func (l *limiter) target(offHeap int64) int64 {
	if offHeap <= 0 {
		return l.user
	}
	want := l.user - offHeap
	if floor := max(l.user/floorShare, l.need()); want < floor {
		want = min(floor, l.user)
	}
	if want == l.user || want <= 1 {
		return want
	}
	// Odd, so that a limit of the user's, nearly always a round number, is not mistaken for one of ours.
	return (want - 1) | 1
}

// newGoNeed returns a function that tells what Go needs: the heap that the last collection found live and a quarter of it, and what
// the runtime itself takes (stacks, its tables). It allocates nothing after its first call.
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
