// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"encoding/binary"
	"hash/maphash"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
)

// check looks at what must hold of an engine that nobody uses.
func (e *engine) verify(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	live := map[*segment]int64{}
	count := int64(0)
	n := e.n.Load()
	var all []uint64
	for p := range uint64(len(e.pageSegs)) {
		for i := range uint64(1) << e.shift {
			if p < uint64(len(e.pageSegs)) && e.pageSegs[p] != nil {
				all = append(all, p<<e.shift|i)
			}
		}
	}
	for _, i := range all {
		b := e.at(i)
		out := uint64(0)
		for s := 1; s < bucketWords; s++ {
			for d := uint64(1); d < family; d++ {
				if e.at(i ^ d)[s]&slotDistance>>locBits == d {
					out++
				}
			}
			slot := b[s]
			if slot == 0 {
				continue
			}
			count++
			x := e.entry(slot)
			h := e.hash(slot & locMask)
			home := e.home(h, n) ^ slot&slotDistance>>locBits
			if home != i || slot>>tagShift != h>>tagShift {
				t.Fatalf("bucket %d of %d has an entry of bucket %d, tags %x %x", i, n, home, slot>>tagShift, h>>tagShift)
			}
			live[e.segment(slot&locMask)] += int64(shapeOf(x).size)
		}
		if b[0]&headLocked != 0 || displaced(b[0]) != out {
			t.Fatalf("bucket %d: locked %d, %d displaced, its head says %d", i, b[0]&1, out, displaced(b[0]))
		}
	}
	if count != e.count.Load() {
		t.Fatalf("%d entries, counted %d", count, e.count.Load())
	}
	d := *e.dir.Load()
	held := int64(len(e.blocks) * e.blockSize)
	for i := range d {
		if s := d[i].Load(); s != nil {
			if s.live.Load() != live[s] && s.role != rolePage {
				t.Fatalf("segment %d, role %d: %d bytes live, counted %d", i, s.role, live[s], s.live.Load())
			}
			if s.block == nil {
				held += int64(len(s.mem))
			}
			if s.pins.Load() != 0 {
				t.Fatalf("segment %d is pinned", i)
			}
		}
	}
	if held != e.held || held > e.budget {
		t.Fatalf("%d bytes held, counted %d, budget %d", held, e.held, e.budget)
	}
	window := int64(0)
	for _, s := range e.window {
		window += int64(len(s.mem))
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
	w, err := c.e.write(maphash.Bytes(c.e.seed, key), key, []byte("value"), deadlines{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.Clear()
	if ok, err := c.e.publish(w, key, nil); !ok || err != nil {
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
	w, err := c.e.write(h, key, []byte("second"), deadlines{}, 0)
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
	if ok, err := c.e.publish(w, key, nil); !ok || err != nil {
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
