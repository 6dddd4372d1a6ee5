// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"hash/maphash"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestUpdateInPlace: Update's function may change the copy that it gets, and return it.
func TestUpdateInPlace(t *testing.T) {
	c, err := New(Options{Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	key := []byte("counter")
	if err := c.Set(key, []byte{1}); err != nil {
		t.Fatal(err)
	}
	calls := 0
	if err := c.Update(key, func(old []byte, _ bool) ([]byte, Op) {
		if calls++; calls == 10 {
			t.Error("called again and again")
			return nil, Keep
		}
		old[0]++
		return old, Store
	}); err != nil {
		t.Fatal(err)
	}
	if v, ok := c.Get(nil, key); !ok || !bytes.Equal(v, []byte{2}) {
		t.Errorf("%v, %v", v, ok)
	}
}

// TestMapCloseWhileFull closes a map while a Set waits for a free bucket of a chain.
func TestMapCloseWhileFull(t *testing.T) {
	m, err := NewMap[uint32, uint32](MapOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e := m.e
	key := uint32(0)
	next := func() []byte { // Keys of one home.
		for {
			key++
			k := binary.NativeEndian.AppendUint32(nil, key)
			if e.home(maphash.Bytes(e.seed, k), e.n.Load()) == 5 {
				return k
			}
		}
	}
	publish := func() error {
		k := next()
		w, _, err := e.write(maphash.Bytes(e.seed, k), k, make([]byte, 4), deadlines{}, 0, weighed{})
		if err != nil {
			t.Error(err)
			return err
		}
		_, _, err = e.publish(w, k, nil)
		return err
	}
	for range family*slots + slots { // Its chain is full, too.
		if err := publish(); err != nil {
			t.Fatal(err)
		}
	}
	k := next()
	w, _, err := e.write(maphash.Bytes(e.seed, k), k, make([]byte, 4), deadlines{}, 0, weighed{})
	if err != nil {
		t.Fatal(err)
	}
	for e.chains.take(mostChained) != 0 {
	}
	e.mu.Lock()
	closed, set := make(chan error, 1), make(chan error, 1)
	go func() { closed <- m.Close() }()
	for e.stripes[len(e.stripes)-1].mu.TryLock() {
		e.stripes[len(e.stripes)-1].mu.Unlock()
		runtime.Gosched()
	}
	time.Sleep(10 * time.Millisecond) // Close waits for mu now, as far as can be told.
	go func() {
		_, _, err := e.publish(w, k, nil)
		set <- err
	}()
	time.Sleep(10 * time.Millisecond)
	e.mu.Unlock()
	for _, done := range []chan error{closed, set} {
		select {
		case err := <-done:
			if err != nil && !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		case <-time.After(5 * time.Minute):
			t.Fatal("Close and Set wait for each other")
		}
	}
}

// TestUpdateOfExpired: a Set in the place of an expired entry, while Update's function runs, is seen.
func TestUpdateOfExpired(t *testing.T) {
	now := time.Now()
	c, err := New(Options{Bytes: 1 << 20, TTL: time.Second, Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	key := []byte("key")
	if err := c.Set(key, []byte("a")); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	calls := 0
	if err := c.Update(key, func(old []byte, ok bool) ([]byte, Op) {
		if calls++; calls == 1 {
			if err := c.Set(key, []byte("b")); err != nil {
				t.Error(err)
			}
		}
		return append(old, 'c'), Store
	}); err != nil {
		t.Fatal(err)
	}
	if v, _ := c.Get(nil, key); string(v) != "bc" {
		t.Errorf("%q after %d calls: the Set is lost", v, calls)
	}
}

// TestOnRemovePanics: a Set, of which OnRemove panics or ends the goroutine, leaves the cache as it should be.
func TestOnRemovePanics(t *testing.T) {
	for _, size := range []int{100, 100000} {
		panics := true
		c, err := New(Options{Bytes: 1 << 20, OnRemove: func(_, _ []byte, _ Reason) {
			if panics = !panics; panics {
				panic("OnRemove")
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20000 {
			if size == 100000 && i == 100 {
				break
			}
			func() {
				defer func() { _ = recover() }()
				_ = c.Set(binary.LittleEndian.AppendUint32(nil, uint32(i%9000)), make([]byte, size+i))
			}()
		}
		c.e.verify(t)
		c.Close()
	}
	panics := true
	c, err := NewObjects(OptionsOf[uint32, *int]{Options: Options{Bytes: 1 << 20}, Weight: func(*int) int { return 1000 }, OnRemove: func(uint32, *int, Reason) {
		if panics = !panics; panics {
			panic("OnRemove")
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20000 {
		func() {
			defer func() { _ = recover() }()
			_ = c.Set(uint32(i%1500), new(int))
		}()
	}
	c.e.verify(t)
	used := 0
	for _, of := range *c.pointers.of.Load() {
		for _, p := range of {
			if p != nil {
				used++
			}
		}
	}
	if used != c.Len() {
		t.Errorf("%d pointers for %d objects", used, c.Len())
	}
	c.Close()
}

// TestLoadIdle: entries of a file live on as the options of the cache say that loads it.
func TestLoadIdle(t *testing.T) {
	now := time.Now()
	clock := func() time.Time { return now }
	path := filepath.Join(t.TempDir(), "saved")
	key := []byte("key")
	for _, saved := range []time.Duration{0, time.Minute} {
		for _, idle := range []time.Duration{0, time.Hour} {
			a, err := New(Options{Bytes: 1 << 20, Clock: clock, Idle: saved})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(a.Set(key, []byte("value")), a.Save(path), a.Close()); err != nil {
				t.Fatal(err)
			}
			b, err := New(Options{Bytes: 1 << 20, Clock: clock, Idle: idle})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Load(path); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if _, ok := b.Get(nil, key); !ok {
					t.Errorf("saved with Idle %v, loaded with %v: it is gone", saved, idle)
				}
				now = now.Add(30 * time.Second)
			}
			now = now.Add(2 * time.Hour)
			if _, ok := b.Get(nil, key); ok != (idle == 0) {
				t.Errorf("saved with Idle %v, loaded with %v: %v after two hours", saved, idle, ok)
			}
			b.Close()
		}
	}
}

// TestSaveClosed: a Save of a closed cache leaves the old file.
func TestSaveClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "saved")
	c, err := New(Options{Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Set([]byte("key"), []byte("value")), c.Save(path), c.Close()); err != nil {
		t.Fatal(err)
	}
	if err := c.Save(path); !errors.Is(err, ErrClosed) {
		t.Errorf("Save: %v", err)
	}
	if s, err := c.Load(path); !errors.Is(err, ErrClosed) {
		t.Errorf("Load: %+v, %v", s, err)
	}
	if c, err = New(Options{Bytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if s, err := c.Load(path); err != nil || s.Entries != 1 {
		t.Errorf("the old file: %+v, %v", s, err)
	}
}

// TestSizeAfterResize: an eighth of the budget is that of the budget as it is now.
func TestSizeAfterResize(t *testing.T) {
	c, err := New(Options{Bytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	set := func(n int) error { return c.Set([]byte("large"), make([]byte, n)) }
	for _, bytes := range []int64{2 << 20, 32 << 20} {
		if err := c.Resize(bytes); err != nil {
			t.Fatal(err)
		}
		if err := set(int(bytes / 8)); err != nil {
			t.Errorf("a value of an eighth of %d: %v", bytes, err)
		}
		if err := set(int(bytes/8) + 1); !errors.Is(err, ErrSize) {
			t.Errorf("a value of more than an eighth of %d: %v", bytes, err)
		}
	}
}

// TestHugeKeys: types whose keys cannot be stored are refused, at once.
func TestHugeKeys(t *testing.T) {
	if _, err := NewMap[[1 << 30]struct{}, int](MapOptions{}); err == nil {
		t.Error("keys without bytes: no error")
	}
	if _, err := NewMap[[mostKey + 1]byte, int](MapOptions{}); err == nil {
		t.Error("keys of many bytes: no error")
	}
}

// TestSweepAfterDrop: OnRemove is not told of objects that were collected with their cache.
func TestSweepAfterDrop(t *testing.T) {
	now := time.Now()
	told := 0
	var pointers pointersRef[int]
	h := func() handle {
		c, err := NewObjects(OptionsOf[int, *int]{Options: Options{Bytes: 1 << 20, TTL: time.Second, Clock: func() time.Time { return now }}, OnRemove: func(_ int, v *int, _ Reason) {
			if told++; v == nil {
				t.Error("told of an entry without its object")
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if err := c.Set(1+i, new(int)); err != nil {
				t.Fatal(err)
			}
		}
		now = now.Add(time.Minute)
		if c.Get(1); told != 1 {
			t.Errorf("told of %d", told)
		}
		pointers = c.e.o.objects.(pointersRef[int])
		return c.handle // Whose engine is not closed yet.
	}()
	defer h.Close()
	for pointers.p.Value() != nil {
		runtime.GC()
	}
	if h.e.sweepPiece(); told != 1 || h.Len() != 0 {
		t.Errorf("told of %d, %d entries", told, h.Len())
	}
}

// TestSweepBesideWriter: the sweep does not read an entry that is still being written, in a segment that is full.
func TestSweepBesideWriter(t *testing.T) {
	now := time.Now()
	c, err := New(Options{Bytes: 1 << 20, Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, off, _, err := c.e.place(0, 100, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		if err := c.SetTTL(binary.LittleEndian.AppendUint32(nil, uint32(i)), make([]byte, 100), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Minute)
	if s.role != roleWindow {
		t.Fatal("the segment is open")
	}
	left := 1
	began := make(chan int)
	go func() {
		close(began)
		s.mem[off] = 1 // What the race detector would tell about.
		s.live.sub(100)
		s.pins.Add(-1)
	}()
	c.e.mu.Lock()
	c.e.sweeper.off = 0
	if c.e.sweepSegment(s, &left); left == 0 {
		t.Error("the sweep has read an entry that is not written yet")
	}
	c.e.unlockAndTell()
	<-began
	for s.pins.Load() != 0 {
		runtime.Gosched()
	}
}

// TestScribbledLast: whatever a late write to a slice of View makes of the last entry of a full segment, nothing panics.
func TestScribbledLast(t *testing.T) {
	c, err := New(Options{Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Set([]byte("f"), nil); err != nil { // It opens a segment.
		t.Fatal(err)
	}
	s := c.e.stripes[0].seg
	last := shapeFor(1, 0, 1, 0).size
	for s.used < s.room()-last {
		n := min(s.room()-last-s.used, c.e.mostSmall)
		if n < s.room()-last-s.used {
			n -= 100
		}
		k := binary.LittleEndian.AppendUint32(nil, uint32(s.used))
		if err := c.Set(k, make([]byte, n-shapeFor(4, n, 1, 0).value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Set([]byte("l"), nil); err != nil {
		t.Fatal(err)
	}
	if s.used != s.room() || c.e.stripes[0].seg != s {
		t.Fatalf("%d of %d bytes are used", s.used, s.room())
	}
	old := s.mem[s.used-last]
	for flags := range 256 {
		s.mem[s.used-last] = byte(flags)
		c.Get(nil, []byte("l"))
		f := found{}
		if c.e.lock(&f, maphash.Bytes(c.e.seed, []byte("l")), true); f.first != nil {
			setDeadlines(s.mem[s.used-last:], deadlinesOf(s.mem[s.used-last:]))
			setValue(s.mem[s.used-last:], nil)
		}
		f.unlock()
	}
	s.mem[s.used-last] = old
}

// TestEvictBesideReaders: a search for a victim ends although readers use all entries all the time.
func TestEvictBesideReaders(t *testing.T) {
	began := time.Now()
	clock := began.Add
	var c *Cache
	looks, reads := 0, false
	c, err := New(Options{Bytes: 1 << 20, TTL: time.Hour, Clock: func() time.Time {
		if looks++; reads && looks%100 == 0 {
			for i := range c.e.n.Load() {
				b := c.e.at(i)
				head := lockAt(b)
				for j := 1; j < bucketWords; j++ {
					if b[j] != 0 {
						b[j] |= slotUses
					}
				}
				unlock(b, head)
			}
			if looks > 100000 {
				reads = false
				t.Error("a hundred thousand looks, and no victim")
			}
		}
		return clock(0)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.e.sweeper.stop() // It asks for the time, too.
	for _, size := range []int{1000, 20000} {
		for i := range 1500 {
			if err := c.Set(binary.LittleEndian.AppendUint32(nil, uint32(i)), make([]byte, size)); err != nil {
				t.Fatal(err)
			}
		}
		c.e.mu.Lock()
		looks = 99
		for reads = true; reads && looks < 90000 && c.e.evict(); {
			reads = looks < 60000
		}
		reads = false
		c.e.unlockAndTell()
		c.e.verify(t)
	}
}

// TestNegativeTTL: an entry with a TTL that is over is not returned.
func TestNegativeTTL(t *testing.T) {
	c, err := New(Options{Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, ttl := range []time.Duration{-1, -time.Hour, math.MinInt64} {
		if err := c.SetTTL([]byte("key"), nil, ttl); err != nil {
			t.Fatal(err)
		}
		if _, ok := c.Get(nil, []byte("key")); ok {
			t.Errorf("TTL %v: it is there", ttl)
		}
	}
}

// TestLoadForeignSizes: records whose sizes are not those of the types, in a file that is whole, are refused, and so are keys
// that no Set stores.
func TestLoadForeignSizes(t *testing.T) {
	c, err := NewValues(OptionsOf[float64, uint64]{Options: Options{Bytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	e, err := newEngine(settings{Options: Options{Bytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	float := func(f float64) []byte { return binary.NativeEndian.AppendUint64(nil, math.Float64bits(f)) }
	for _, r := range []record{
		{key: float(1), value: make([]byte, 8)}, // The only good one.
		{key: float(2), value: make([]byte, 7)}, {key: float(3), value: make([]byte, 9)}, {key: float(4)},
		{key: float(5)[:7], value: make([]byte, 8)}, {key: append(float(6), 0), value: make([]byte, 8)},
		{key: float(math.NaN()), value: make([]byte, 8)}, {key: float(math.Copysign(0, -1)), value: make([]byte, 8)},
	} {
		if err := e.set(r.key, r.value, deadlines{}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "crafted")
	if err := e.save(path, c.kind); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Load(path); err != nil || s.Entries != 1 || s.Refused != 7 || c.Len() != 1 {
		t.Errorf("%+v, %v, %d entries", s, err, c.Len())
	}
}

// TestOnRemoveEndsLoad: a load has its result for those who wait, although OnRemove ends its goroutine.
func TestOnRemoveEndsLoad(t *testing.T) {
	now := time.Now()
	c, err := New(Options{Bytes: 1 << 20, TTL: time.Second, Stale: time.Hour, Clock: func() time.Time { return now }, OnRemove: func(_, _ []byte, _ Reason) { runtime.Goexit() }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	key := []byte("key")
	if err := c.Set(key, []byte("old")); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	v, err := c.GetOrLoad(ctx, key, func(context.Context, []byte) ([]byte, error) { return []byte("new"), nil })
	if err != nil || string(v) != "new" {
		t.Errorf("%q, %v", v, err)
	}
}

// TestObjectsCloseBesideSet: Close waits for a Set that has begun, and leaves no pointer.
func TestObjectsCloseBesideSet(t *testing.T) {
	c, err := NewObjects(OptionsOf[int, *int]{Options: Options{Bytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	key := []byte("12345678")
	w, _, err := c.e.write(maphash.Bytes(c.e.seed, key), key, []byte{1}, deadlines{}, 0, weighed{object: new(int), weight: 1})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan int)
	go func() {
		c.Close()
		close(done)
	}()
	for c.e.n.Load() != 0 {
		runtime.Gosched()
	}
	if ok, _, err := c.e.publish(w, key, nil); ok || !errors.Is(err, ErrClosed) {
		t.Error(ok, err)
	}
	<-done
	if n := len(*c.pointers.of.Load()); n != 0 {
		t.Errorf("pointers of %d segments", n)
	}
}

// TestLoadSparse: the head of a block that says it has gigabytes makes Load take none, though the file seems to have them.
func TestLoadSparse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sparse")
	c, err := New(Options{Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := errors.Join(c.Set([]byte("key"), []byte("value")), c.Save(path)); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	const size = 100 << 20
	var head [blockHead]byte
	binary.LittleEndian.PutUint32(head[0:], blockMagic)
	binary.LittleEndian.PutUint32(head[4:], size)
	binary.LittleEndian.PutUint32(head[12:], crc32.Checksum(head[:12], castagnoli))
	at := int64(len(fileMagic) + 9)
	rest, err := io.ReadAll(io.NewSectionReader(f, at, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	_, err1 := f.WriteAt(head[:], at)
	_, err2 := f.WriteAt(rest, at+blockHead+size)
	if err := errors.Join(err1, err2, f.Close()); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := c.Load(path)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; err != nil || n > size/4 || s != (LoadStats{Entries: 1, Refused: 1}) {
		t.Errorf("%+v, %v, %d bytes were allocated", s, err, n)
	}
}

// TestClearWinsOverLoad: a load that was under way at a Clear does not store its result.
func TestClearWinsOverLoad(t *testing.T) {
	c, err := New(Options{Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	key := []byte("key")
	v, err := c.GetOrLoad(t.Context(), key, func(context.Context, []byte) ([]byte, error) {
		c.Clear()
		return []byte("old"), nil
	})
	if _, ok := c.Get(nil, key); ok || err != nil || string(v) != "old" {
		t.Errorf("%q, %v; it is there afterwards: %v", v, err, ok)
	}
}

// lookingContext says whether a lock is held when it is asked for a value.
type lookingContext struct {
	context.Context
	mu     *sync.Mutex
	locked bool
}

func (c *lookingContext) Value(key any) any {
	if c.mu.TryLock() {
		c.mu.Unlock()
	} else {
		c.locked = true
	}
	return c.Context.Value(key)
}

// TestContextUnderNoLock: the methods of a caller's context, which may call the cache, run under no lock.
func TestContextUnderNoLock(t *testing.T) {
	c, err := New(Options{Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := &lookingContext{Context: t.Context(), mu: &c.e.flights.mu}
	if _, err := c.GetOrLoad(ctx, []byte("key"), func(context.Context, []byte) ([]byte, error) { return nil, nil }); err != nil || ctx.locked {
		t.Errorf("%v; asked under the lock: %v", err, ctx.locked)
	}
}

// TestCloseBesideReader: the race detector knows that the table is freed after the last look of a reader at it.
func TestCloseBesideReader(t *testing.T) {
	for range 40 {
		c, err := New(Options{Bytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		e := c.e
		e.lockAll() // From here on as close.
		for _, page := range e.buckets {
			e.lockPage(page)
		}
		done := make(chan bool, 1)
		go func() { done <- c.View([]byte("key"), func([]byte) {}) }()
		time.Sleep(time.Millisecond) // It looks at the lock again and again.
		e.n.Store(0)
		quiesce()
		e.freeAll()
		e.unlockAll()
		if <-done {
			t.Error("found")
		}
	}
}
