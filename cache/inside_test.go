// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"encoding/binary"
	"hash/maphash"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// check looks at what must hold of an engine that nobody uses.
func (e *engine) verify(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	live, entries := map[*segment]int64{}, map[*segment]int64{}
	count, weight := int64(0), int64(0)
	n := e.n.Load()
	var all []uint64
	held := int64(len(e.blocks) * e.blockSize)
	for p, page := range e.buckets {
		held += int64(8 * len(page))
		for i := range uint64(len(page)) / bucketWords {
			all = append(all, uint64(p)<<e.shift|i)
		}
	}
	chained := len(e.chains.free)
	for _, i := range all {
		b := e.at(i)
		if e.o.keep {
			for no, first := chainOf(b[0]), true; no != 0; first = false {
				c := e.chains.bucket(no)
				if *c == (bucket{c[0]}) || !first && empty(c) > 0 {
					t.Fatalf("bucket %d: a bucket of its chain has room: %v", i, *c)
				}
				chained++
				no = uint32(c[0])
			}
		}
		out := uint64(0)
		for s := 1; s < bucketWords; s++ {
			for d := uint64(1); d < family; d++ {
				if e.at(i ^ d)[s]&slotDistance>>locBits == d {
					out++
				}
			}
		}
		e.slotsOf(b, b[0], func(slot uint64) {
			count++
			x := e.entry(slot)
			h := e.hash(slot & locMask)
			home := e.home(h, n) ^ slot&slotDistance>>locBits
			if home != i || slot>>tagShift != h>>tagShift {
				t.Fatalf("bucket %d of %d has an entry of bucket %d, tags %x %x", i, n, home, slot>>tagShift, h>>tagShift)
			}
			weight += e.weightOf(x)
			live[e.segment(slot&locMask)] += int64(shapeOf(x).size)
			entries[e.segment(slot&locMask)]++
		})
		if b[0]&headLocked != 0 || displaced(b[0]) != out {
			t.Fatalf("bucket %d: locked %d, %d displaced, its head says %d", i, b[0]&1, out, displaced(b[0]))
		}
	}
	for _, page := range e.chainPages {
		held += int64(8 * len(page))
		chained -= len(page) / bucketWords
	}
	if chained != 0 {
		t.Fatalf("%d more buckets in chains or free than there are", chained)
	}
	if weight != e.weight.Load() || weight > 0 && weight > e.budget.Load() {
		t.Fatalf("the objects weigh %d, counted %d, budget %d", weight, e.weight.Load(), e.budget.Load())
	}
	if count != e.count.Load() {
		t.Fatalf("%d entries, counted %d", count, e.count.Load())
	}
	d := *e.dir.Load()
	for i := range d {
		if s := d[i].Load(); s != nil {
			if s.live.bytes() != live[s] || s.live.entries() != entries[s] {
				t.Fatalf("segment %d, role %d: %d entries of %d bytes live, counted %d of %d", i, s.role, entries[s], live[s], s.live.entries(), s.live.bytes())
			}
			if s.block == nil {
				held += int64(len(s.mem))
			}
			if s.pins.Load() != 0 {
				t.Fatalf("segment %d is pinned", i)
			}
		}
	}
	if held != e.held || held > e.most() {
		t.Fatalf("%d bytes held, counted %d, budget %d", held, e.held, e.budget.Load())
	}
	window := int64(0)
	for _, s := range e.window {
		window += e.charge(s)
	}
	if window != e.windowBytes {
		t.Fatalf("%d bytes in the window, counted %d", window, e.windowBytes)
	}
}

// TestInside looks at the table, the segments and the counts after random operations.
func TestInside(t *testing.T) {
	c, err := New(Options{Bytes: 2 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := rand.New(rand.NewPCG(1, 1))
	var key []byte
	for i := range 60000 {
		key = binary.LittleEndian.AppendUint32(key[:0], uint32(r.ExpFloat64()*3000))
		switch r.IntN(8) {
		case 0, 1, 2, 3:
			n := r.IntN(200)
			if n == 0 {
				n = r.IntN(200000)
			}
			if err := c.Set(key, make([]byte, n)); err != nil {
				t.Fatal(err)
			}
		case 4:
			c.Delete(key)
		default:
			c.Get(nil, key)
		}
		if i%20000 == 0 {
			c.e.verify(t)
		}
	}
	if err := c.Resize(1 << 20); err != nil {
		t.Fatal(err)
	}
	c.e.verify(t)
}

// TestClearBesideWriter clears a cache while an entry was written that is not in the table yet.
func TestClearBesideWriter(t *testing.T) {
	c, err := New(Options{Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	key := []byte("key")
	w, _, err := c.e.write(maphash.Bytes(c.e.seed, key), key, []byte("value"), deadlines{}, 0, weighed{})
	if err != nil {
		t.Fatal(err)
	}
	c.Clear()
	if ok, _, err := c.e.publish(w, key, nil); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if s := c.Stats(); s.BytesViewed != 0 || s.Entries != 1 {
		t.Fatalf("%+v", s)
	}
	for i := range 3000 {
		if err := c.Set(binary.LittleEndian.AppendUint32(nil, uint32(i)), make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		if v, ok := c.Get(nil, key); !ok || string(v) != "value" {
			t.Fatalf("after %d entries: %q, %v", i, v, ok)
		}
	}
	c.e.verify(t)
}

// TestClearWhileWriterEnds lets a writer put its entry in a bucket that Clear has cleared already, before Clear is done.
func TestClearWhileWriterEnds(t *testing.T) {
	c, err := New(Options{Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	key := []byte("key")
	h := maphash.Bytes(c.e.seed, key)
	for c.e.home(h, c.e.n.Load())>>c.e.shift == 3 { // It must not be in the last page.
		key = append(key, 'x')
		h = maphash.Bytes(c.e.seed, key)
	}
	if err := c.Set(key, []byte("first")); err != nil {
		t.Fatal(err)
	}
	w, _, err := c.e.write(h, key, []byte("second"), deadlines{}, 0, weighed{})
	if err != nil {
		t.Fatal(err)
	}
	last := c.e.at(c.e.n.Load() - 1)
	head := lockAt(last) // Clear comes here at last.
	done := make(chan int)
	go func() {
		c.Clear()
		close(done)
	}()
	for c.Len() != 0 {
		runtime.Gosched()
	}
	if ok, _, err := c.e.publish(w, key, nil); !ok || err != nil {
		t.Fatal(ok, err)
	}
	unlock(last, head)
	<-done
	c.e.verify(t)
	for i := range 3000 {
		if err := c.Set(binary.LittleEndian.AppendUint32(nil, uint32(i)), make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		if v, ok := c.Get(nil, key); !ok || string(v) != "second" {
			t.Fatalf("after %d entries: %q, %v", i, v, ok)
		}
	}
}

// TestOnRemoveUnderNoLock: no lock is held while OnRemove runs.
func TestOnRemoveUnderNoLock(t *testing.T) {
	var c *Cache
	calls, locked := 0, 0
	c, err := New(Options{Bytes: 1 << 20, OnRemove: func(_, _ []byte, _ Reason) {
		calls++
		for i := range c.e.stripes {
			if !c.e.stripes[i].mu.TryLock() {
				locked++
				return
			}
			c.e.stripes[i].mu.Unlock()
		}
		if !c.e.mu.TryLock() {
			locked++
			return
		}
		c.e.mu.Unlock()
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range 20000 {
		n := 100
		if i%1000 == 0 {
			n = 100000
		}
		if err := c.Set(binary.LittleEndian.AppendUint32(nil, uint32(i%15000)), make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
	if calls < 1000 || locked != 0 {
		t.Errorf("%d calls, %d of them under a lock", calls, locked)
	}
}

// TestCompactedReason: what had expired in a segment that is compacted is not told as evicted.
func TestCompactedReason(t *testing.T) {
	now := time.Now()
	told := map[Reason]int{}
	c, err := New(Options{Bytes: 1 << 20, Clock: func() time.Time { return now }, OnRemove: func(_, _ []byte, why Reason) { told[why]++ }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range 20 {
		if err := c.SetTTL([]byte{byte(i)}, make([]byte, 500), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Minute)
	c.e.lockAll()
	for len(c.e.window) > 0 {
		s := c.e.window[0]
		c.e.window = c.e.window[1:]
		c.e.left(s)
		c.e.compact(s)
	}
	c.e.unlockAll()
	if told[Expired] != 20 || len(told) != 1 {
		t.Errorf("told %v", told)
	}
}

// TestTableBytes: pages that the table does not have yet are not counted.
func TestTableBytes(t *testing.T) {
	c, err := New(Options{Bytes: 2 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range 12000 {
		if err := c.Set(binary.LittleEndian.AppendUint32(nil, uint32(i)), nil); err != nil {
			t.Fatal(err)
		}
		if got, most := c.Stats().BytesTable, int64(c.e.n.Load())*bucketBytes+1<<c.e.segShift; got > most {
			t.Fatalf("%d entries: BytesTable is %d, and all buckets have %d", i, got, most)
		}
	}
}

// TestScribbled: a program that has kept slices of View and writes to them changes any byte of any
// entry. Nothing panics or hangs. After Clear all is as it should be.
func TestScribbled(t *testing.T) {
	var ms atomic.Int64
	began := time.Now()
	clock := func() time.Time { return began.Add(time.Duration(ms.Load()) * time.Millisecond) }
	seeds, steps := uint64(4), 2000
	if testing.Short() {
		seeds, steps = 2, 300
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 3))
		c, err := New(Options{Bytes: 1 << 20, Clock: clock, Idle: time.Hour, OnRemove: func(_, _ []byte, _ Reason) {}})
		if err != nil {
			t.Fatal(err)
		}
		if seed%2 == 0 {
			c.e.o.onRemove = nil
		}
		var key []byte
		use := func(n int) {
			for range n {
				key = binary.LittleEndian.AppendUint32(key[:0], uint32(r.IntN(3000)))
				size := r.IntN(600)
				if r.IntN(60) == 0 {
					size = r.IntN(100000)
				}
				switch r.IntN(9) {
				case 0, 1, 2, 3:
					_ = c.SetTTL(key, make([]byte, size), time.Duration(size%3)*time.Second)
				case 4:
					c.Delete(key)
				case 5:
					_ = c.Update(key, func(old []byte, _ bool) ([]byte, Op) { return append(old, 1), Store })
				case 6:
					c.GetMany([][]byte{key, key}, func(int, []byte) {})
				case 7:
					ms.Add(10)
					c.e.sweepPiece()
				default:
					c.Get(nil, key)
				}
			}
		}
		use(5000)
		for _, fill := range []int{-1, 0xff, 0, 0x3f, 1} {
			c.e.mu.Lock() // For the sweeper, which reads.
			d := *c.e.dir.Load()
			for i := range d {
				s := d[i].Load()
				for j := 0; s != nil && j < len(s.mem); j++ {
					switch {
					case fill >= 0:
						s.mem[j] = byte(fill)
					case r.IntN(20) == 0: // Most stays as it is.
						s.mem[j] = byte(r.Uint32())
					}
				}
			}
			c.e.mu.Unlock()
			use(steps)
		}
		for range c.All() {
		}
		if err := c.Save(filepath.Join(t.TempDir(), "saved")); err != nil {
			t.Fatal(err)
		}
		if err := c.Resize(1 << 20); err != nil {
			t.Fatal(err)
		}
		c.Clear()
		c.e.verify(t)
		use(steps)
		c.e.verify(t)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLateWriteToView: a slice that View gave is cut at the value's end, and a write to it afterwards does
// not reach the table.
func TestLateWriteToView(t *testing.T) {
	c, err := New(Options{Bytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var kept [][]byte
	keep := func(v []byte) {
		if cap(v) != len(v) {
			t.Fatalf("a slice of %d bytes with a capacity of %d", len(v), cap(v))
		}
		kept = append(kept, v)
	}
	var key []byte
	set := func(from, n, size int) {
		for i := range n {
			key = binary.LittleEndian.AppendUint32(key[:0], uint32(from+i))
			if err := c.Set(key, make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			c.View(key, keep)
			c.GetMany([][]byte{key}, func(_ int, v []byte) { keep(v) })
		}
	}
	set(0, 3000, 1000)
	c.Clear()
	set(0, 20000, 1) // The segments are used again, and the table grows.
	for _, v := range kept {
		for i := range v {
			v[i] = 0xff
		}
	}
	set(0, 3000, 100)
	c.Clear()
	c.e.verify(t)
}

// TestResizeLeast: a cache works with the least budget that Resize takes.
func TestResizeLeast(t *testing.T) {
	c, err := New(Options{Bytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	set := func(from, n int) {
		for i := range n {
			if err := c.Set(binary.LittleEndian.AppendUint32(nil, uint32(from+i)), make([]byte, 200)); err != nil {
				t.Fatal(err)
			}
		}
	}
	n := 60000
	if testing.Short() {
		n = 25000
	}
	set(0, n)
	if err := c.Resize(4<<20 - 1); err == nil {
		t.Fatal("no error")
	}
	if err := c.Resize(4 << 20); err != nil {
		t.Fatal(err)
	}
	c.e.verify(t)
	set(n, n)
	c.e.verify(t)
	if n := c.Len(); n < 8000 {
		t.Errorf("%d entries of 200 bytes in 4 MiB", n)
	}
}

// TestParallel lets goroutines use a cache that is too small for them, each value with the number of
// its key, and resizes it meanwhile.
func TestParallel(t *testing.T) {
	c, err := New(Options{Bytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	value := func(buf []byte, k uint32, n int) []byte {
		buf = binary.LittleEndian.AppendUint32(buf[:0], k)
		for len(buf) < n {
			buf = append(buf, byte(k))
		}
		return buf
	}
	good := func(v []byte, k uint32) {
		if len(v) < 4 || binary.LittleEndian.Uint32(v) != k {
			t.Errorf("key %d has a wrong value of %d bytes", k, len(v))
			return
		}
		for _, b := range v[4:] {
			if b != byte(k) {
				t.Errorf("key %d has a torn value of %d bytes", k, len(v))
				return
			}
		}
	}
	steps := 30000
	if testing.Short() {
		steps = 5000
	}
	var wg sync.WaitGroup
	for g := range uint64(6) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(g, 2))
			var key, buf, got []byte
			for i := range steps {
				k := uint32(r.ExpFloat64() * 4000)
				key = binary.LittleEndian.AppendUint32(key[:0], k)
				n := 4 + r.IntN(300)
				if i%500 == 0 {
					n = 20000 + r.IntN(100000)
				}
				switch r.IntN(8) {
				case 0, 1:
					buf = value(buf, k, n)
					_ = c.Set(key, buf)
				case 2:
					c.Delete(key)
				case 3:
					_ = c.Update(key, func(old []byte, ok bool) ([]byte, Op) {
						if ok {
							good(old, k)
						}
						buf = value(buf, k, n)
						return buf, Store
					})
				case 4:
					c.View(key, func(v []byte) { good(v, k) })
				case 5:
					c.GetMany([][]byte{key, key}, func(_ int, v []byte) { good(v, k) })
				default:
					var ok bool
					if got, ok = c.Get(got[:0], key); ok {
						good(got, k)
					}
				}
			}
		})
	}
	for i := range int64(20) {
		if err := c.Resize((2 + i%3) << 20); err != nil {
			t.Error(err)
		}
		for k, v := range c.All() {
			good(v, binary.LittleEndian.Uint32(k))
		}
	}
	wg.Wait()
	c.e.verify(t)
	c.Close()
	if n := c.Stats().BytesHeld; n != 0 {
		t.Errorf("%d bytes held after Close", n)
	}
}

// sweepAll does one round of the sweep.
func (e *engine) sweepAll() {
	for e.sweepPiece() {
	} // The last round's end.
	for !e.sweepPiece() {
	}
}

// TestSweep: one round finds all that has expired and nobody asks for, in full, open and large segments.
func TestSweep(t *testing.T) {
	now := time.Now()
	told := map[Reason]int{}
	c, err := New(Options{Bytes: 2 << 20, Clock: func() time.Time { return now }, OnRemove: func(_, _ []byte, why Reason) { told[why]++ }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range 3000 {
		ttl, n := time.Hour, 100
		if i%3 == 0 {
			ttl = time.Second
		}
		if i == 1500 {
			n = 100000
		}
		if err := c.SetTTL(binary.LittleEndian.AppendUint32(nil, uint32(i)), make([]byte, n), ttl); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Minute)
	lost := c.e.counts.removed[Evicted].Load() // While the table grew.
	c.e.sweepAll()
	left := 0
	for range c.All() {
		left++
	}
	if told[Expired] < 950 || int64(told[Evicted]) != lost || c.Len() != left || left+told[Expired]+told[Evicted] != 3000 {
		t.Errorf("told %v, %d entries are left, of which %d may be used", told, c.Len(), left)
	}
	c.e.verify(t)
}

// TestExpiredFirst: the memory of what has expired is used again before a live entry is evicted.
func TestExpiredFirst(t *testing.T) {
	now := time.Now()
	c, err := New(Options{Bytes: 4 << 20, Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	i := uint32(0)
	set := func(ttl time.Duration) {
		if err := c.SetTTL(binary.LittleEndian.AppendUint32(nil, i), make([]byte, 100), ttl); err != nil {
			t.Fatal(err)
		}
		i++
	}
	for c.Stats().Evicted == 0 { // Until it is full.
		set(time.Second + time.Duration(i%2)*time.Hour)
	}
	evicted, expired := c.Stats().Evicted, c.Len()/2
	now = now.Add(time.Minute)
	c.e.sweepAll()
	for range expired * 8 / 10 {
		set(time.Hour)
	}
	// A few leave because their part of the table is full. For lack of memory it would be more than a hundred at a time.
	if s := c.Stats(); s.Evicted > evicted+int64(expired)/50 {
		t.Errorf("%d entries were evicted, although %d others had expired", s.Evicted-evicted, expired)
	}
}

// TestEvictionAge: it follows how long entries stay.
func TestEvictionAge(t *testing.T) {
	now := time.Now()
	c, err := New(Options{Bytes: 1 << 20, Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if age := c.Stats().EvictionAge; age != 0 {
		t.Errorf("%v before the first eviction", age)
	}
	for _, pace := range []time.Duration{time.Second, time.Minute} {
		for i := range 40000 {
			if err := c.Set(binary.LittleEndian.AppendUint32(nil, uint32(i)), make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
			now = now.Add(pace)
		}
		// New keys that are never asked for leave by the window, a tenth of some 8,000 entries.
		if age := c.Stats().EvictionAge; age < 200*pace || age > 10000*pace {
			t.Errorf("with an entry in %v: %v", pace, age)
		}
	}
}

// TestCollisions: keys that were made to share a bucket are found or were evicted, and no search is without end. Nobody
// outside can make them: each cache has a seed of its own.
func TestCollisions(t *testing.T) {
	a, err := New(Options{Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := New(Options{Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	same := 0
	var keys [][]byte
	for i := range uint32(200000) {
		key := binary.LittleEndian.AppendUint32(nil, i)
		h := maphash.Bytes(a.e.seed, key)
		if h == maphash.Bytes(b.e.seed, key) {
			same++
		}
		if a.e.home(h, a.e.n.Load()) == 5 && len(keys) < 200 {
			keys = append(keys, key)
		}
	}
	if same > 10 || len(keys) < 100 {
		t.Fatalf("%d of 200000 keys have the same hash in two caches; %d have one bucket", same, len(keys))
	}
	for round := range 3 {
		for _, key := range keys {
			if err := a.Set(key, append(key, byte(round))); err != nil {
				t.Fatal(err)
			}
			if v, ok := a.Get(nil, key); !ok || string(v) != string(append(key, byte(round))) {
				t.Fatalf("%x: %x, %v", key, v, ok)
			}
		}
		a.e.verify(t)
	}
	if n := a.Len(); n < slots || n > family*slots {
		t.Errorf("%d of %d entries of one bucket are there", n, len(keys))
	}
}
