// SPDX-License-Identifier: Apache-2.0

package memlimit

import (
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"
)

const mib = 1 << 20

// pretended is a limiter over a pretended runtime: cur is the limit in force.
func pretended(cur *int64, need int64) *Limiter {
	return &Limiter{
		set: func(n int64) int64 {
			old := *cur
			if n >= 0 {
				*cur = n
			}
			return old
		},
		need: func() int64 { return need },
	}
}

// held returns a function that returns n: so many bytes lie outside the heap.
func held(n int64) func() int64 { return func() int64 { return n } }

// near reports whether got is want or the odd number under it.
func near(got, want int64) bool { return got == want || got == want-1 }

func TestMemoryLimitFollowsOffHeap(t *testing.T) {
	cur := int64(1000 * mib)
	l := pretended(&cur, 0)
	steps := []struct {
		offHeap, want int64
	}{
		{0, 1000 * mib},
		{300 * mib, 700 * mib},
		{305 * mib, 700 * mib}, // under 1/64: waits
		{330 * mib, 670 * mib},
		{2000 * mib, 100 * mib}, // the floor
		{10 * mib, 990 * mib},
		{0, 1000 * mib}, // all the way back, however small the step
	}
	for i, s := range steps {
		l.Sync(held(s.offHeap))
		if !near(cur, s.want) {
			t.Errorf("step %d: with %d MiB off heap the limit is %d, want about %d", i, s.offHeap/mib, cur, s.want)
		}
		if l.user != 1000*mib {
			t.Fatalf("step %d: the user's limit became %d", i, l.user)
		}
	}
}

func TestMemoryLimitWithoutLimit(t *testing.T) {
	cur := int64(math.MaxInt64)
	l := pretended(&cur, 0)
	l.Sync(held(500 * mib))
	if cur != math.MaxInt64 || l.applied {
		t.Fatalf("limit is %d although the user set none", cur)
	}
	cur = 1000 * mib
	l.Sync(held(500 * mib))
	if !near(cur, 500*mib) {
		t.Fatalf("limit set later: %d, want 500 MiB", cur)
	}
	cur = math.MaxInt64
	l.Sync(held(500 * mib))
	if cur != math.MaxInt64 {
		t.Fatalf("limit is %d after the user took it away", cur)
	}
}

func TestMemoryLimitFloor(t *testing.T) {
	for _, c := range []struct{ user, need, offHeap, want int64 }{
		{1000 * mib, 0, 990 * mib, 100 * mib},
		{1000 * mib, 400 * mib, 990 * mib, 400 * mib},
		{1000 * mib, 400 * mib, 500 * mib, 500 * mib},
		{1000 * mib, 4000 * mib, 500 * mib, 1000 * mib}, // never more than the user's
		{0, 10 * mib, 500 * mib, 0},
		{1, 0, 500 * mib, 0},
	} {
		cur := c.user
		l := pretended(&cur, c.need)
		l.Sync(held(c.offHeap))
		if !near(cur, c.want) {
			t.Errorf("user %d, need %d, off heap %d: limit %d, want about %d", c.user, c.need, c.offHeap, cur, c.want)
		}
	}
}

func TestMemoryLimitUserChangesIt(t *testing.T) {
	cur := int64(1000 * mib)
	l := pretended(&cur, 0)
	l.Sync(held(200 * mib))
	old := l.set(600 * mib) // as debug.SetMemoryLimit does: old is our lowered value
	l.Sync(held(200 * mib))
	if l.user != 600*mib || !near(cur, 400*mib) {
		t.Fatalf("user %d, limit %d; want 600 MiB and 400 MiB", l.user, cur)
	}
	l.Sync(held(300 * mib))
	l.set(old)
	l.Sync(held(200 * mib))
	if l.user != 1000*mib || !near(cur, 800*mib) {
		t.Fatalf("after putting the old limit back: user %d, limit %d; want 1000 MiB and 800 MiB", l.user, cur)
	}
	// A round number that one of our values could have been is the user's.
	l.set(800 * mib)
	l.Sync(held(200 * mib))
	if l.user != 800*mib {
		t.Fatalf("800 MiB set by the user was taken for ours: user %d", l.user)
	}
}

// TestMemoryLimitPutBackLater: the user's code reads a value of ours, and puts it back when it is no
// longer in force.
func TestMemoryLimitPutBackLater(t *testing.T) {
	cur := int64(1000 * mib)
	l := pretended(&cur, 0)
	l.Sync(held(300 * mib))
	read := l.set(-1)
	for i := range int64(100) {
		l.Sync(held((100 + i%5*100) * mib))
	}
	l.set(read)
	l.Sync(held(0))
	if l.user != 1000*mib || !near(cur, 1000*mib) {
		t.Errorf("user %d, limit %d; want 1000 MiB twice", l.user, cur)
	}
}

// TestMemoryLimitPutBackAtFloor: the user's code sets another limit for a while. Both limits lead to
// the same floor.
func TestMemoryLimitPutBackAtFloor(t *testing.T) {
	cur := int64(2000 * mib)
	l := pretended(&cur, 300*mib)
	l.Sync(held(3000 * mib))
	old := l.set(1000 * mib)
	l.Sync(held(3000 * mib))
	if l.User() != 1000*mib || abs(cur-300*mib) > 4 {
		t.Errorf("user %d, limit %d; want 1000 MiB and 300 MiB", l.user, cur)
	}
	l.set(old)
	l.Sync(held(0))
	if l.User() != 2000*mib || cur != 2000*mib {
		t.Errorf("after putting the old limit back: user %d, limit %d; want 2000 MiB twice", l.user, cur)
	}
}

func TestMemoryLimitSetBetweenLookAndChange(t *testing.T) {
	cur := int64(1000 * mib)
	l := pretended(&cur, 0)
	l.Sync(held(100 * mib))
	set, raced := l.set, false
	var old int64
	l.set = func(n int64) int64 {
		if n >= 0 && !raced {
			raced = true
			old = set(500 * mib)
		}
		return set(n)
	}
	l.Sync(held(200 * mib))
	if l.user != 500*mib || !near(cur, 300*mib) {
		t.Fatalf("user %d, limit %d; want 500 MiB and 300 MiB", l.user, cur)
	}
	set(old)
	l.Sync(held(200 * mib))
	if l.user != 1000*mib {
		t.Fatalf("the value read in the race was put back, but the user's limit is %d", l.user)
	}
}

// TestMemoryLimitTurns lets a user, who also puts back values read earlier, a tuner and freehold set
// limits in turns.
func TestMemoryLimitTurns(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		limit := func() int64 {
			if rng.IntN(4) == 0 {
				return math.MaxInt64
			}
			return int64(rng.IntN(4000)+1) * mib
		}
		user := limit()
		cur := user
		l := pretended(&cur, int64(rng.IntN(300))*mib)
		type reading struct{ limit, user int64 }
		var readings []reading
		var b Budget
		for step := range 200 {
			offHeap := int64(0)
			switch rng.IntN(8) {
			case 0:
				user = limit()
				l.set(user)
			case 1:
				readings = append(readings, reading{l.set(-1), user})
			case 2:
				if len(readings) > 0 {
					r := readings[rng.IntN(len(readings))]
					l.set(r.limit)
					user = r.user
				}
			case 3:
				if b = (Budget{}); rng.IntN(3) > 0 {
					b.Soft = int64(rng.IntN(3000)+1) * mib
					b.Hard = b.Soft + int64(rng.IntN(500))*mib
					b.Min = int64(rng.IntN(100)) * mib
				}
			default:
				offHeap = max(0, rng.Int64N(4000*mib)-800*mib)
			}
			if rng.IntN(2) == 0 {
				l.SetBudget(b, held(offHeap))
			} else {
				b = l.budget
				l.Sync(held(offHeap))
			}
			if l.User() != user {
				t.Fatalf("seed %d, step %d: the user's limit is %d, the limiter thinks %d", seed, step, user, l.user)
			}
			if want := l.target(b, offHeap); cur != want && (want == user || abs(cur-want) > l.base(b)/hysteresisShare+2*200) {
				t.Fatalf("seed %d, step %d: limit %d, want about %d", seed, step, cur, want)
			}
		}
		if l.SetBudget(Budget{}, held(0)); cur != user {
			t.Fatalf("seed %d: the limit is %d at the end, want the user's, %d", seed, cur, user)
		}
	}
}

// TestMemoryGrowsDuringSync: memory that is taken while the limit is being set counts, although no
// later call comes.
func TestMemoryGrowsDuringSync(t *testing.T) {
	for _, budget := range []bool{false, true} {
		cur, bytes := int64(1000*mib), int64(100*mib)
		l := pretended(&cur, 0)
		read := func() int64 { return bytes }
		set := l.set
		l.set = func(n int64) int64 {
			if n >= 0 && bytes < 500*mib {
				bytes = 500 * mib
				if !budget {
					l.Sync(read) // as another goroutine would: ours holds the lock
				}
			}
			return set(n)
		}
		if budget {
			l.SetBudget(Budget{Soft: 2000 * mib, Hard: 2000 * mib}, read)
		} else {
			l.Sync(read)
		}
		if l.User() != 1000*mib || !near(cur, 500*mib) {
			t.Errorf("budget %v: user %d, limit %d; want 1000 MiB and 500 MiB", budget, l.user, cur)
		}
	}
}

// TestSyncFollowsAfterPanic: a function for the bytes that panics or ends its goroutine changes nothing, and the next
// call follows the bytes again.
func TestSyncFollowsAfterPanic(t *testing.T) {
	b := Budget{Soft: 800 * mib, Hard: 800 * mib}
	for name, call := range map[string]func(l *Limiter, offHeap func() int64){
		"Sync":      (*Limiter).Sync,
		"SetBudget": func(l *Limiter, offHeap func() int64) { l.SetBudget(b, offHeap) },
		"SetBudget's Sync": func(l *Limiter, offHeap func() int64) {
			first := true
			l.SetBudget(b, func() int64 {
				if first {
					first = false
					return 0
				}
				return offHeap()
			})
		},
	} {
		for end, offHeap := range map[string]func() int64{
			"panic":  func() int64 { panic("no figure") },
			"Goexit": func() int64 { runtime.Goexit(); return 0 },
		} {
			cur := int64(1000 * mib)
			l := pretended(&cur, 0)
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }()
				call(l, offHeap)
			}()
			<-done
			if l.Sync(held(300 * mib)); !near(cur, l.base(l.budget)-300*mib) {
				t.Errorf("%s, %s: the limit is %d with 300 MiB off heap, want about %d", name, end, cur, l.base(l.budget)-300*mib)
			}
			if l.SetBudget(Budget{}, held(500*mib)); !near(cur, 500*mib) {
				t.Errorf("%s, %s: the limit is %d with 500 MiB off heap, want about 500 MiB", name, end, cur)
			}
		}
	}
}

// TestSyncAllocatesNothing: callers hold locks.
func TestSyncAllocatesNothing(t *testing.T) {
	cur, bytes := int64(1000*mib), int64(0)
	l := pretended(&cur, 0)
	read := func() int64 { bytes = (bytes + 100*mib) % (500 * mib); return bytes }
	if n := testing.AllocsPerRun(100, func() { l.Sync(read) }); n != 0 {
		t.Errorf("a call of Sync allocates %v times", n)
	}
}

// TestMemoryLimitModel lets a user and freehold set limits at random, and holds the limiter against
// what the user knows.
func TestMemoryLimitModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		cur := int64(rng.IntN(4000)+1) * mib
		user := cur
		l := pretended(&cur, int64(rng.IntN(50))*mib)
		for range 100 {
			offHeap := int64(rng.IntN(5000)) * mib
			if rng.IntN(4) == 0 {
				user = int64(rng.IntN(4000)+1) * mib
				l.set(user)
			}
			l.Sync(held(offHeap))
			if l.user != user {
				t.Fatalf("the user's limit is %d, the limiter thinks %d", user, l.user)
			}
			if want := l.target(Budget{}, offHeap); abs(cur-want) > user/hysteresisShare {
				t.Fatalf("user %d, off heap %d: limit %d, want about %d", user, offHeap, cur, want)
			}
			if cur > user || cur < user/floorShare-2*100 { // A value that stood for another limit is avoided by 2.
				t.Fatalf("user %d: limit %d is out of bounds", user, cur)
			}
		}
	}
}

func TestGoNeed(t *testing.T) {
	need := newGoNeed()
	debug.FreeOSMemory() // what an earlier test left is not live
	before := need()
	if before <= 0 {
		t.Fatalf("Go needs %d bytes", before)
	}
	live := make([]byte, 64*mib)
	debug.FreeOSMemory() // a collection, so that the runtime knows the live heap
	after := need()
	if grown := after - before; grown < 70*mib || grown > 100*mib {
		t.Errorf("64 MiB more live heap raise the need by %d bytes, want about 80 MiB", grown)
	}
	clear(live)
}

func BenchmarkSetMemoryLimit(b *testing.B) {
	before := debug.SetMemoryLimit(8192 * mib)
	defer debug.SetMemoryLimit(before)
	for i := int64(0); b.Loop(); i++ {
		debug.SetMemoryLimit(8192*mib - i&1)
	}
}

func TestBudget(t *testing.T) {
	for _, c := range []struct {
		name                string
		user, need, offHeap int64
		b                   Budget
		want                int64
	}{
		{"no user's limit", math.MaxInt64, 0, 300 * mib, Budget{Soft: 900 * mib, Hard: 990 * mib}, 600 * mib},
		{"nothing off the heap", math.MaxInt64, 0, 0, Budget{Soft: 900 * mib, Hard: 990 * mib}, 900 * mib},
		{"the user's is less", 500 * mib, 0, 300 * mib, Budget{Soft: 900 * mib, Hard: 990 * mib}, 200 * mib},
		{"the user's is more", 2000 * mib, 0, 300 * mib, Budget{Soft: 900 * mib, Hard: 990 * mib}, 600 * mib},
		{"a need within hard", math.MaxInt64, 150 * mib, 800 * mib, Budget{Soft: 900 * mib, Hard: 990 * mib}, 150 * mib},
		{"a need above hard", math.MaxInt64, 250 * mib, 800 * mib, Budget{Soft: 900 * mib, Hard: 990 * mib}, 190 * mib},
		{"a need above the user's", 100 * mib, 250 * mib, 80 * mib, Budget{Soft: 900 * mib, Hard: 990 * mib}, 100 * mib},
		{"a least limit", math.MaxInt64, 0, 800 * mib, Budget{Soft: 900 * mib, Hard: 990 * mib, Min: 170 * mib}, 170 * mib},
		{"no room at all", math.MaxInt64, 250 * mib, 5000 * mib, Budget{Soft: 900 * mib, Hard: 990 * mib}, 90 * mib},
	} {
		cur := c.user
		l := pretended(&cur, c.need)
		if got := l.Preview(c.b, c.offHeap); !near(got, c.want) || cur != c.user {
			t.Errorf("%s: preview %d, want about %d; the limit is %d", c.name, got, c.want, cur)
		}
		l.SetBudget(c.b, held(0))
		l.Sync(held(c.offHeap))
		if !near(cur, c.want) || l.User() != c.user {
			t.Errorf("%s: limit %d, want about %d; the user's is told as %d", c.name, cur, c.want, l.User())
		}
		l.SetBudget(Budget{}, held(0))
		if cur != c.user {
			t.Errorf("%s: without the budget the limit is %d, want %d", c.name, cur, c.user)
		}
	}
}

// TestBudgetLeavesTheUserFree sets limits while a budget is in force.
func TestBudgetLeavesTheUserFree(t *testing.T) {
	cur := int64(math.MaxInt64)
	l := pretended(&cur, 0)
	l.SetBudget(Budget{Soft: 900 * mib, Hard: 990 * mib}, held(100*mib))
	old := l.set(600 * mib)
	l.Sync(held(100 * mib))
	if l.User() != 600*mib || !near(cur, 500*mib) {
		t.Fatalf("user %d, limit %d; want 600 MiB and 500 MiB", l.User(), cur)
	}
	l.set(old) // a value of ours, which stood for no limit
	l.Sync(held(100 * mib))
	if l.User() != math.MaxInt64 || !near(cur, 800*mib) {
		t.Fatalf("user %d, limit %d; want none and 800 MiB", l.User(), cur)
	}
	l.SetBudget(Budget{Soft: 905 * mib, Hard: 990 * mib}, held(100*mib))
	if !near(cur, 800*mib) {
		t.Fatalf("limit %d after a change of less than 1/64, want 800 MiB", cur)
	}
}

// TestSetBudgetWaits removes a budget while another goroutine holds the lock. The limit must be the
// user's again when SetBudget returns, because no later call may come to restore it.
func TestSetBudgetWaits(t *testing.T) {
	cur := int64(math.MaxInt64)
	l := pretended(&cur, 0)
	l.SetBudget(Budget{Soft: 900 * mib, Hard: 990 * mib}, held(100*mib))
	l.mu.Lock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.SetBudget(Budget{}, held(0))
	}()
	runtime.Gosched()
	l.mu.Unlock()
	<-done
	if cur != math.MaxInt64 {
		t.Errorf("the limit is %d, want none", cur)
	}
}
