package freehold

import (
	"math"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"testing"
)

const mib = 1 << 20

// pretended is a limiter over a pretended runtime: cur is the limit in force.
func pretended(cur *int64, need int64) *limiter {
	return &limiter{
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
		l.sync(s.offHeap)
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
	l.sync(500 * mib)
	if cur != math.MaxInt64 || l.applied {
		t.Fatalf("limit is %d although the user set none", cur)
	}
	cur = 1000 * mib
	l.sync(500 * mib)
	if !near(cur, 500*mib) {
		t.Fatalf("limit set later: %d, want 500 MiB", cur)
	}
	cur = math.MaxInt64
	l.sync(500 * mib)
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
		l.sync(c.offHeap)
		if !near(cur, c.want) {
			t.Errorf("user %d, need %d, off heap %d: limit %d, want about %d", c.user, c.need, c.offHeap, cur, c.want)
		}
	}
}

func TestMemoryLimitUserChangesIt(t *testing.T) {
	cur := int64(1000 * mib)
	l := pretended(&cur, 0)
	l.sync(200 * mib)
	old := l.set(600 * mib) // as debug.SetMemoryLimit does: old is our lowered value
	l.sync(200 * mib)
	if l.user != 600*mib || !near(cur, 400*mib) {
		t.Fatalf("user %d, limit %d; want 600 MiB and 400 MiB", l.user, cur)
	}
	l.sync(300 * mib)
	l.set(old)
	l.sync(200 * mib)
	if l.user != 1000*mib || !near(cur, 800*mib) {
		t.Fatalf("after putting the old limit back: user %d, limit %d; want 1000 MiB and 800 MiB", l.user, cur)
	}
	// A round number that one of our values could have been is the user's.
	l.set(800 * mib)
	l.sync(200 * mib)
	if l.user != 800*mib {
		t.Fatalf("800 MiB set by the user was taken for ours: user %d", l.user)
	}
}

func TestMemoryLimitSetBetweenLookAndChange(t *testing.T) {
	cur := int64(1000 * mib)
	l := pretended(&cur, 0)
	l.sync(100 * mib)
	set, raced := l.set, false
	var old int64
	l.set = func(n int64) int64 {
		if n >= 0 && !raced {
			raced = true
			old = set(500 * mib)
		}
		return set(n)
	}
	l.sync(200 * mib)
	if l.user != 500*mib || !near(cur, 300*mib) {
		t.Fatalf("user %d, limit %d; want 500 MiB and 300 MiB", l.user, cur)
	}
	set(old)
	l.sync(200 * mib)
	if l.user != 1000*mib {
		t.Fatalf("the value read in the race was put back, but the user's limit is %d", l.user)
	}
}

// TestMemoryLimitModel lets a user and freehold set limits at random, and holds the limiter against what the user knows.
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
			l.sync(offHeap)
			if l.user != user {
				t.Fatalf("the user's limit is %d, the limiter thinks %d", user, l.user)
			}
			if want := l.target(offHeap); abs(cur-want) > user/hysteresisShare {
				t.Fatalf("user %d, off heap %d: limit %d, want about %d", user, offHeap, cur, want)
			}
			if cur > user || cur < user/floorShare-1 {
				t.Fatalf("user %d: limit %d is out of bounds", user, cur)
			}
		}
	}
}

// TestSyncMemoryLimit runs the real thing in this process.
func TestSyncMemoryLimit(t *testing.T) {
	if Modes().Heap || Modes().NoMemLimit {
		t.Skip("the modes in force leave the limit alone")
	}
	before := debug.SetMemoryLimit(8192 * mib)
	defer debug.SetMemoryLimit(before)
	held := Totals{InUse: 1500 * mib, Retained: 500 * mib, Reserved: 1 << 40, Purged: 300 * mib}
	var mu sync.Mutex
	Register(unique(t), func() Totals {
		mu.Lock()
		defer mu.Unlock()
		return held
	})
	SyncMemoryLimit()
	if got := debug.SetMemoryLimit(-1); !near(got, 6192*mib) {
		t.Errorf("limit %d, want 6192 MiB", got)
	}
	if got := MemoryLimit(); got != 8192*mib {
		t.Errorf("MemoryLimit() = %d, want 8192 MiB", got)
	}
	if n := testing.AllocsPerRun(100, SyncMemoryLimit); n != 0 {
		t.Errorf("SyncMemoryLimit allocates %v times", n)
	}
	mu.Lock()
	held = Totals{}
	mu.Unlock()
	SyncMemoryLimit()
	if got := debug.SetMemoryLimit(-1); got != 8192*mib {
		t.Errorf("limit %d after everything was given back, want 8192 MiB", got)
	}
}

func TestSyncMemoryLimitConcurrently(t *testing.T) {
	if Modes().Heap || Modes().NoMemLimit {
		t.Skip("the modes in force leave the limit alone")
	}
	before := debug.SetMemoryLimit(8192 * mib)
	defer debug.SetMemoryLimit(before)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				SyncMemoryLimit()
				MemoryLimit()
			}
		})
	}
	wg.Wait()
	if got := MemoryLimit(); got != 8192*mib {
		t.Errorf("the user's limit became %d", got)
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
	debug.FreeOSMemory() // a collection, so that the runtime knows what is live
	after := need()
	if grown := after - before; grown < 70*mib || grown > 100*mib {
		t.Errorf("64 MiB more live heap raise the need by %d bytes, want about 80 MiB", grown)
	}
	clear(live)
}

func BenchmarkSyncMemoryLimitUnchanged(b *testing.B) {
	before := debug.SetMemoryLimit(8192 * mib)
	defer debug.SetMemoryLimit(before)
	held := int64(1024 * mib)
	Register(unique(b), func() Totals { return Totals{InUse: held} })
	for b.Loop() {
		SyncMemoryLimit()
	}
	held = 0
}

func BenchmarkSetMemoryLimit(b *testing.B) {
	before := debug.SetMemoryLimit(8192 * mib)
	defer debug.SetMemoryLimit(before)
	for i := int64(0); b.Loop(); i++ {
		debug.SetMemoryLimit(8192*mib - i&1)
	}
}
