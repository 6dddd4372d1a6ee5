// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freehold-go/freehold/cache"
	"github.com/freehold-go/freehold/offheap"
)

func newCache(t testing.TB, o cache.Options) *cache.Cache {
	t.Helper()
	if o.Bytes == 0 {
		o.Bytes = 1 << 20
	}
	c, err := cache.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// A clock is a time that a test sets.
type clock struct {
	mu       sync.Mutex
	start, t time.Time
}

func newClock() *clock { now := time.Now(); return &clock{start: now, t: now} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func has(c *cache.Cache, key string) string {
	v, ok := c.Get(nil, []byte(key))
	if !ok {
		return "none"
	}
	return string(v)
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, not %q", what, got, want)
	}
}

func TestOptionsListsEachField(t *testing.T) {
	_, err := cache.New(cache.Options{Bytes: 1000, TTL: -1, Idle: time.Microsecond, Stale: -1, NegativeTTL: -1, Refresh: -1, Jitter: math.NaN()})
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{"Bytes", "TTL", "Idle", "Stale", "NegativeTTL", "Refresh", "Jitter"} {
		if !strings.Contains(err.Error(), "Options."+field+" ") {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}

// TestSizes is the table's first line: the error has size and limit, and the older value is gone.
func TestSizes(t *testing.T) {
	c := newCache(t, cache.Options{})
	for _, k := range []int{1, 2, 255, 256, 257, 64 << 10} {
		for _, n := range []int{0, 1, 255, 256, 65535, 65536, 1 << 17} {
			key, value := bytes.Repeat([]byte("k"), k), bytes.Repeat([]byte("v"), n)
			if err := c.Set(key, value); err != nil {
				t.Fatalf("key of %d, value of %d bytes: %v", k, n, err)
			}
			if got, ok := c.Get(nil, key); !ok || !bytes.Equal(got, value) {
				t.Fatalf("key of %d, value of %d bytes: not found", k, n)
			}
		}
	}
	key := []byte("k")
	if err := c.Set(key, make([]byte, 1<<17+1)); !errors.Is(err, cache.ErrSize) || !strings.Contains(err.Error(), "131073") || !strings.Contains(err.Error(), "131072") {
		t.Errorf("too large a value: %v", err)
	}
	expect(t, "after an error", has(c, "k"), "none")
	if err := c.Set(nil, key); !errors.Is(err, cache.ErrSize) {
		t.Errorf("no key: %v", err)
	}
	if err := c.Set(make([]byte, 64<<10+1), key); !errors.Is(err, cache.ErrSize) {
		t.Errorf("too long a key: %v", err)
	}
	if _, ok := c.Get(nil, nil); ok || c.Delete(nil) {
		t.Error("an empty key has a value")
	}
}

func TestExpiry(t *testing.T) {
	clock := newClock()
	var left []string
	c := newCache(t, cache.Options{TTL: time.Minute, Clock: clock.now, OnRemove: func(k, v []byte, why cache.Reason) {
		left = append(left, fmt.Sprintf("%s=%s %v", k, v, why))
	}})
	c.Set([]byte("a"), []byte("1"))
	c.SetTTL([]byte("b"), []byte("2"), time.Second)
	c.SetTTL([]byte("c"), []byte("3"), 0)
	clock.add(time.Second)
	expect(t, "after its TTL", has(c, "b"), "none")
	expect(t, "before the other's", has(c, "a"), "1")
	clock.add(-time.Hour) // Time stands still.
	expect(t, "a clock that goes back", has(c, "b"), "none")
	clock.add(time.Hour + time.Minute)
	expect(t, "after a minute", has(c, "a"), "none")
	expect(t, "without TTL", has(c, "c"), "3")
	expect(t, "OnRemove", strings.Join(left, ", "), "b=2 expired, a=1 expired")
	if c.Len() != 1 {
		t.Errorf("%d entries", c.Len())
	}
}

// TestLongTTL: a century of milliseconds needs more than 32 bits.
func TestLongTTL(t *testing.T) {
	clock := newClock()
	const year = 365 * 24 * time.Hour
	c := newCache(t, cache.Options{Clock: clock.now})
	c.SetTTL([]byte("a"), []byte("1"), 100*year)
	clock.add(99 * year)
	expect(t, "after 99 years", has(c, "a"), "1")
	clock.add(year)
	expect(t, "after 100 years", has(c, "a"), "none")
}

func TestIdle(t *testing.T) {
	clock := newClock()
	c := newCache(t, cache.Options{TTL: 10 * time.Minute, Idle: time.Minute, Clock: clock.now})
	c.Set([]byte("a"), []byte("1"))
	for range 12 {
		clock.add(45 * time.Second)
		expect(t, "in use", has(c, "a"), "1")
	}
	clock.add(59 * time.Second)
	expect(t, "in use", has(c, "a"), "1")
	clock.add(time.Minute)
	expect(t, "after its TTL", has(c, "a"), "none")
	c.Set([]byte("a"), []byte("1"))
	clock.add(time.Minute)
	expect(t, "idle for a minute", has(c, "a"), "none")
}

// TestJitter: entries that are set together expire one after the other, none after its TTL.
func TestJitter(t *testing.T) {
	clock := newClock()
	c := newCache(t, cache.Options{TTL: 100 * time.Second, Jitter: 0.5, Clock: clock.now})
	for i := range 1000 {
		c.Set([]byte{byte(i), byte(i >> 8)}, nil)
	}
	there := func() (n int) {
		for range c.All() {
			n++
		}
		return n
	}
	last := 1000
	for _, after := range []time.Duration{49, 60, 75, 90, 100} {
		clock.add(after*time.Second - clock.now().Sub(clock.start))
		n := there()
		switch {
		case after == 49 && n != 1000, after == 100 && n != 0, after > 49 && after < 100 && (n >= last || n == 0):
			t.Errorf("%d entries are there after %d seconds, %d before", n, after, last)
		}
		last = n
	}
}

// TestLoadNotStored: a result that cannot be stored is returned.
func TestLoadNotStored(t *testing.T) {
	c := newCache(t, cache.Options{})
	large := make([]byte, 1<<18)
	v, err := c.GetOrLoad(t.Context(), []byte("k"), func(context.Context, []byte) ([]byte, error) { return large, nil })
	if len(v) != len(large) || err != nil {
		t.Errorf("%d bytes, %v", len(v), err)
	}
	expect(t, "afterwards", has(c, "k"), "none")
}

// TestStats: each figure counts what it says.
func TestStats(t *testing.T) {
	clock := newClock()
	c := newCache(t, cache.Options{Name: "counted", Clock: clock.now})
	c.Set([]byte("a"), []byte("1"))
	c.Set([]byte("a"), []byte("22"))
	c.Set([]byte("b"), []byte("3"))
	c.SetTTL([]byte("c"), []byte("4"), time.Second)
	c.Delete([]byte("b"))
	clock.add(time.Minute)
	has(c, "c")
	has(c, "a")
	c.View([]byte("a"), func([]byte) {})
	c.GetMany([][]byte{[]byte("a"), []byte("none")}, func(int, []byte) {})
	for _, err := range []error{nil, cache.ErrNotFound, errors.New("down")} {
		c.GetOrLoad(t.Context(), []byte("d"), func(context.Context, []byte) ([]byte, error) { return []byte("5"), err })
		c.Delete([]byte("d"))
	}
	s := c.Stats()
	got := fmt.Sprint(s.Name, s.Entries, s.Hits, s.Misses, s.Evicted, s.Expired, s.Deleted, s.Replaced, s.Loads, s.LoadsFailed, s.Bytes)
	expect(t, "Stats", got, fmt.Sprint("counted", 1, 3, 5, 0, 1, 2, 1, 3, 1, 1<<20))
	if s.HitRatio() != 3.0/8 || (cache.Stats{}).HitRatio() != 0 {
		t.Errorf("HitRatio %v", s.HitRatio())
	}
	if s.BytesEntries < 3 || s.BytesEntries > 20 || s.BytesTable == 0 || s.BytesHeld > s.Bytes {
		t.Errorf("%+v", s)
	}
	for i := range 20000 {
		c.Set([]byte(fmt.Sprint(i)), make([]byte, 100))
	}
	if s := c.Stats(); s.Evicted == 0 || s.Entries+s.Evicted != 20001 {
		t.Errorf("%+v", s)
	}
}

func TestOnRemove(t *testing.T) {
	var left []string
	c := newCache(t, cache.Options{OnRemove: func(k, v []byte, why cache.Reason) {
		left = append(left, fmt.Sprintf("%s=%s %v", k, v, why))
	}})
	set := func(k, v string) {
		if err := c.Set([]byte(k), []byte(v)); err != nil {
			t.Fatal(err)
		}
	}
	set("a", "1")
	set("a", "2")
	c.Delete([]byte("a"))
	set("b", "3")
	c.Update([]byte("b"), func(old []byte, ok bool) ([]byte, cache.Op) { return append(old, '4'), cache.Store })
	c.Update([]byte("b"), func(old []byte, ok bool) ([]byte, cache.Op) { return nil, cache.Keep })
	c.Update([]byte("b"), func(old []byte, ok bool) ([]byte, cache.Op) { return nil, cache.Remove })
	expect(t, "OnRemove", strings.Join(left, ", "), "a=1 replaced, a=2 deleted, b=3 replaced, b=34 deleted")
	if s := c.Stats(); s.Replaced != 2 || s.Deleted != 2 || s.Evicted != 0 || s.Expired != 0 {
		t.Errorf("%+v", s)
	}
}

func TestClosed(t *testing.T) {
	c := newCache(t, cache.Options{})
	c.Set([]byte("a"), []byte("1"))
	c.Close()
	c.Close()
	expect(t, "closed", has(c, "a"), "none")
	if c.View([]byte("a"), func([]byte) {}) || c.Delete([]byte("a")) || c.Len() != 0 {
		t.Error("closed: found")
	}
	for what, err := range map[string]error{
		"Set":    c.Set([]byte("a"), nil),
		"Update": c.Update([]byte("a"), func([]byte, bool) ([]byte, cache.Op) { return nil, cache.Store }),
		"Resize": c.Resize(2 << 20),
	} {
		if !errors.Is(err, cache.ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for range c.All() {
		t.Error("All yields")
	}
	c.Clear()
}

// TestDropped shows that a cache without Close returns its memory.
func TestDropped(t *testing.T) {
	held := func() (n int64) {
		for _, p := range offheap.ReadStats().Purposes {
			if p.Name == "cache dropped" {
				n += p.InUse
			}
		}
		return n
	}
	func() {
		c, err := cache.New(cache.Options{Bytes: 8 << 20, Name: "dropped", TTL: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		c.Set([]byte("a"), []byte("1"))
		if held() == 0 {
			t.Fatal("nothing is held")
		}
	}()
	for i := 0; held() != 0; i++ {
		if i == 1000 {
			t.Fatalf("%d bytes are held", held())
		}
		runtime.GC()
	}
}

func TestClear(t *testing.T) {
	c := newCache(t, cache.Options{Bytes: 4 << 20})
	for round := range 3 {
		for i := range 20000 {
			if err := c.Set([]byte(fmt.Sprint(i)), make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
		}
		c.Clear()
		if n := c.Len(); n != 0 {
			t.Fatalf("round %d: %d entries", round, n)
		}
		expect(t, "cleared", has(c, "7"), "none")
	}
}

// TestLoadOnce: goroutines that ask together, or while the load ends, share one.
func TestLoadOnce(t *testing.T) {
	c := newCache(t, cache.Options{})
	for round := range 200 {
		key := []byte(fmt.Sprint(round))
		var calls atomic.Int64
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				v, err := c.GetOrLoad(t.Context(), key, func(context.Context, []byte) ([]byte, error) {
					calls.Add(1)
					return []byte("v"), nil
				})
				if err != nil || string(v) != "v" {
					t.Errorf("%q, %v", v, err)
				}
			})
		}
		wg.Wait()
		if n := calls.Load(); n != 1 {
			t.Errorf("%d loads", n)
		}
		expect(t, "stored", has(c, string(key)), "v")
	}
}

func TestLoadCancelled(t *testing.T) {
	c := newCache(t, cache.Options{})
	began, finish := make(chan int), make(chan int)
	load := func(ctx context.Context, _ []byte) ([]byte, error) {
		began <- 0
		<-finish
		return []byte("v"), ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := c.GetOrLoad(ctx, []byte("k"), load)
		first <- err
	}()
	<-began
	second := make(chan string)
	waits := make(chan int)
	go func() {
		close(waits)
		v, err := c.GetOrLoad(t.Context(), []byte("k"), func(context.Context, []byte) ([]byte, error) { return []byte("own"), nil })
		second <- fmt.Sprint(string(v), err)
	}()
	<-waits
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the one who left: %v", err)
	}
	close(finish)
	if got := <-second; got != "v<nil>" && got != "own<nil>" { // It joined, or came when the first had left.
		t.Errorf("the one who stayed: %s", got)
	}
}

func TestLoadPanic(t *testing.T) {
	c := newCache(t, cache.Options{})
	func() {
		defer func() {
			p, ok := recover().(*cache.PanicError)
			if !ok || fmt.Sprint(p.Value) != "boom" || !strings.Contains(p.Error(), "TestLoadPanic") {
				t.Errorf("panic: %v", p)
			}
		}()
		c.GetOrLoad(t.Context(), []byte("k"), func(context.Context, []byte) ([]byte, error) { panic("boom") })
	}()
	if _, err := c.GetOrLoad(t.Context(), []byte("k"), func(context.Context, []byte) ([]byte, error) {
		runtime.Goexit()
		return nil, nil
	}); err == nil {
		t.Error("Goexit: no error")
	}
	v, err := c.GetOrLoad(t.Context(), []byte("k"), func(context.Context, []byte) ([]byte, error) { return []byte("v"), nil })
	if string(v) != "v" || err != nil {
		t.Errorf("afterwards: %q, %v", v, err)
	}
}

func TestLoadRecursive(t *testing.T) {
	c := newCache(t, cache.Options{})
	var load func(ctx context.Context, key []byte) ([]byte, error)
	load = func(ctx context.Context, key []byte) ([]byte, error) {
		next := map[string]string{"a": "b", "b": "c", "c": "a"}[string(key)]
		return c.GetOrLoad(ctx, []byte(next), load)
	}
	if _, err := c.GetOrLoad(t.Context(), []byte("a"), load); !errors.Is(err, cache.ErrRecursive) {
		t.Errorf("%v", err)
	}
}

func TestDeleteAndSetWinOverLoad(t *testing.T) {
	c := newCache(t, cache.Options{})
	for _, want := range []string{"none", "set"} {
		v, err := c.GetOrLoad(t.Context(), []byte("k"), func(context.Context, []byte) ([]byte, error) {
			if want == "set" {
				c.Set([]byte("k"), []byte("set"))
			} else {
				c.Delete([]byte("k"))
			}
			return []byte("loaded"), nil
		})
		if string(v) != "loaded" || err != nil {
			t.Errorf("%q, %v", v, err)
		}
		expect(t, "afterwards", has(c, "k"), want)
	}
}

// TestUpdateWinsOverLoad: a load that begins and misses while Update's function runs does not replace what it stores.
func TestUpdateWinsOverLoad(t *testing.T) {
	c := newCache(t, cache.Options{})
	for _, op := range []cache.Op{cache.Store, cache.Remove} {
		began, finish, done := make(chan int), make(chan int), make(chan int)
		err := c.Update([]byte("k"), func(old []byte, ok bool) ([]byte, cache.Op) {
			go func() {
				defer close(done)
				v, err := c.GetOrLoad(t.Context(), []byte("k"), func(context.Context, []byte) ([]byte, error) {
					close(began)
					<-finish
					return []byte("loaded"), nil
				})
				if string(v) != "loaded" || err != nil {
					t.Errorf("%q, %v", v, err)
				}
			}()
			<-began
			return []byte("updated"), op
		})
		if err != nil {
			t.Fatal(err)
		}
		close(finish)
		<-done
		want := "none"
		if op == cache.Store {
			want = "updated"
		}
		expect(t, fmt.Sprint("after Op ", op), has(c, "k"), want)
		c.Delete([]byte("k"))
	}
}

func TestNegativeAndStale(t *testing.T) {
	clock := newClock()
	c := newCache(t, cache.Options{TTL: time.Minute, NegativeTTL: time.Second, Stale: time.Hour, Clock: clock.now})
	calls := 0
	result := cache.ErrNotFound
	load := func(context.Context, []byte) ([]byte, error) {
		calls++
		return []byte("v"), result
	}
	for range 3 {
		if _, err := c.GetOrLoad(t.Context(), []byte("k"), load); !errors.Is(err, cache.ErrNotFound) {
			t.Error(err)
		}
	}
	if calls != 1 || has(c, "k") != "none" {
		t.Errorf("%d loads; Get finds %s", calls, has(c, "k"))
	}
	clock.add(time.Second)
	result = nil
	c.GetOrLoad(t.Context(), []byte("k"), load)
	clock.add(2 * time.Minute)
	expect(t, "expired", has(c, "k"), "none")
	result = errors.New("down")
	if v, err := c.GetOrLoad(t.Context(), []byte("k"), load); string(v) != "v" || err != nil {
		t.Errorf("stale: %q, %v", v, err)
	}
	clock.add(time.Hour)
	if v, err := c.GetOrLoad(t.Context(), []byte("k"), load); v != nil || err != result {
		t.Errorf("too old: %q, %v", v, err)
	}
}

func TestRefresh(t *testing.T) {
	clock := newClock()
	c := newCache(t, cache.Options{TTL: time.Minute, Refresh: 10 * time.Second, Clock: clock.now})
	loaded := make(chan int, 1)
	load := func(context.Context, []byte) ([]byte, error) {
		loaded <- 0
		return []byte(clock.now().Format("15:04:05")), nil
	}
	c.GetOrLoad(t.Context(), []byte("k"), load)
	<-loaded
	first := has(c, "k")
	clock.add(55 * time.Second)
	v, err := c.GetOrLoad(t.Context(), []byte("k"), load)
	if string(v) != first || err != nil {
		t.Errorf("%q, %v", v, err)
	}
	<-loaded
	for has(c, "k") == first {
		runtime.Gosched()
	}
}

func TestSaveAndLoad(t *testing.T) {
	clock := newClock()
	path := filepath.Join(t.TempDir(), "saved")
	c := newCache(t, cache.Options{Bytes: 8 << 20, Clock: clock.now})
	for i := range 5000 {
		ttl := time.Duration(0)
		switch i % 3 {
		case 1:
			ttl = time.Minute
		case 2:
			ttl = time.Hour
		}
		c.SetTTL([]byte(fmt.Sprint("key ", i)), bytes.Repeat([]byte{byte(i)}, i%500), ttl)
	}
	if err := c.Save(path); err != nil {
		t.Fatal(err)
	}
	clock.add(2 * time.Minute)
	d := newCache(t, cache.Options{Bytes: 8 << 20, Clock: clock.now})
	s, err := d.Load(path)
	if err != nil || s.Damaged != 0 || s.Refused != 0 || s.Entries+s.Expired != 5000 || s.Expired != 1667 {
		t.Fatalf("%+v, %v", s, err)
	}
	for k, v := range d.All() {
		var i int
		fmt.Sscanf(string(k), "key %d", &i)
		if i%3 == 1 || !bytes.Equal(v, bytes.Repeat([]byte{byte(i)}, i%500)) {
			t.Fatalf("%q has %d bytes", k, len(v))
		}
	}
	clock.add(time.Hour)
	expect(t, "its deadline was saved", has(d, "key 2"), "none")
	if err := c.Save(filepath.Join(path, "x")); err == nil {
		t.Error("saved in a folder that is none")
	}
	if _, err := d.Load(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestDamagedFile cuts a file at each length and flips each byte: what is loaded is true.
func TestDamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "saved")
	c := newCache(t, cache.Options{})
	for i := range 40 {
		c.Set([]byte(fmt.Sprint(i)), bytes.Repeat([]byte(fmt.Sprint(i, ",")), 1+i*i))
	}
	if err := c.Save(path); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := newCache(t, cache.Options{})
	try := func(b []byte, what string, at int) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		d.Clear()
		s, err := d.Load(path)
		if err == nil && s.Damaged == 0 || err != nil && !errors.Is(err, cache.ErrFile) && !errors.Is(err, cache.ErrKind) {
			t.Fatalf("%s at %d: %+v, %v", what, at, s, err)
		}
		for k, v := range d.All() {
			var i int
			fmt.Sscan(string(k), &i)
			if !bytes.Equal(v, bytes.Repeat([]byte(fmt.Sprint(i, ",")), 1+i*i)) {
				t.Fatalf("%s at %d: key %s has a wrong value", what, at, k)
			}
		}
	}
	step := len(whole)/300 + 1
	for at := 0; at < len(whole); at += step {
		try(whole[:at], "cut", at)
		b := bytes.Clone(whole)
		b[at] ^= 1 << (at % 8)
		try(b, "flipped", at)
	}
}

type point struct {
	X float64
	N uint8
	Y int32
}

func TestValues(t *testing.T) {
	c, err := cache.NewValues[point, [3]int64](cache.OptionsOf[point, [3]int64]{Options: cache.Options{Bytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range 1000 {
		if err := c.Set(point{float64(i), 1, 2}, [3]int64{int64(i), 1, 2}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		if v, ok := c.Get(point{float64(i), 1, 2}); !ok || v != [3]int64{int64(i), 1, 2} {
			t.Fatalf("%d: %v, %v", i, v, ok)
		}
	}
	if v, ok := c.Get(point{math.Copysign(0, -1), 1, 2}); !ok || v[0] != 0 {
		t.Error("-0 is not 0")
	}
	if err := c.Set(point{X: math.NaN()}, [3]int64{}); !errors.Is(err, cache.ErrNaN) {
		t.Error(err)
	}
	c.Update(point{5, 1, 2}, func(old [3]int64, ok bool) ([3]int64, cache.Op) {
		old[0]++
		return old, cache.Store
	})
	if v, _ := c.Get(point{5, 1, 2}); v[0] != 6 {
		t.Error("Update:", v)
	}
	if v, err := c.GetOrLoad(t.Context(), point{-1, 0, 0}, func(_ context.Context, k point) ([3]int64, error) {
		return [3]int64{int64(k.X)}, nil
	}); v[0] != -1 || err != nil {
		t.Error(v, err)
	}
	sum := int64(0)
	for k, v := range c.All() {
		if k.X >= 0 && k.X != 5 && int64(k.X) != v[0] {
			t.Errorf("%v: %v", k, v)
		}
		sum += v[0]
	}
	if sum != 999*1000/2+1-1 {
		t.Error("sum", sum)
	}
	path := filepath.Join(t.TempDir(), "saved")
	if err := c.Save(path); err != nil {
		t.Fatal(err)
	}
	c.Clear()
	if s, err := c.Load(path); err != nil || s.Entries != 1001 {
		t.Error(s, err)
	}
	other, err := cache.NewValues[point, [3]int32](cache.OptionsOf[point, [3]int32]{Options: cache.Options{Bytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Load(path); !errors.Is(err, cache.ErrKind) {
		t.Error(err)
	}
	if allocs := testing.AllocsPerRun(100, func() { c.Get(point{7, 1, 2}) }); allocs != 0 {
		t.Errorf("Get allocates %v times", allocs)
	}
}

// TestSetAllocates: keys and values may lie on the stack of Set's caller.
func TestSetAllocates(t *testing.T) {
	o := cache.Options{Bytes: 1 << 20}
	c, err := cache.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	v, err := cache.NewValues[int, [9]int](cache.OptionsOf[int, [9]int]{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if n := testing.AllocsPerRun(100, func() {
		var key, value [16]byte
		c.Set(key[:], value[:])
		v.Set(1, [9]int{})
	}); n != 0 {
		t.Errorf("Set allocates %v times", n)
	}
}

func TestValuesRefuse(t *testing.T) {
	o := cache.Options{Bytes: 1 << 20}
	if _, err := cache.NewValues[string, *int](cache.OptionsOf[string, *int]{Options: o}); err == nil {
		t.Error("values with pointers")
	}
	if _, err := cache.NewValues[*int, int](cache.OptionsOf[*int, int]{Options: o}); err == nil {
		t.Error("keys with pointers")
	}
	if _, err := cache.NewValues[struct{}, int](cache.OptionsOf[struct{}, int]{Options: o}); err == nil {
		t.Error("keys without bytes")
	}
	o.OnRemove = func(_, _ []byte, _ cache.Reason) {}
	if _, err := cache.NewValues[int, int](cache.OptionsOf[int, int]{Options: o}); err == nil {
		t.Error("OnRemove for bytes")
	}
	b, err := cache.NewValues[string, bool](cache.OptionsOf[string, bool]{Options: cache.Options{Bytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	b.Set("a", true)
	if v, ok := b.Get("a"); !v || !ok {
		t.Error("a bool")
	}
	if err := b.Save(filepath.Join(t.TempDir(), "x")); !errors.Is(err, cache.ErrKind) {
		t.Error(err)
	}
}

// TestViewHeld shows that eviction works around a view that is held, and that Close waits for it.
func TestViewHeld(t *testing.T) {
	c := newCache(t, cache.Options{Bytes: 1 << 20})
	value := bytes.Repeat([]byte("v"), 1000)
	c.Set([]byte("held"), value)
	in, out, done := make(chan int), make(chan int), make(chan int)
	go func() {
		c.View([]byte("held"), func(v []byte) {
			close(in)
			<-out
			if !bytes.Equal(v, value) {
				t.Error("the value changed under a view")
			}
		})
		close(done)
	}()
	<-in
	for i := range 20000 {
		if err := c.Set([]byte(fmt.Sprint(i)), make([]byte, 200)); err != nil {
			t.Fatal(err)
		}
	}
	c.Clear()
	for i := range 20000 {
		if err := c.Set([]byte(fmt.Sprint(i)), make([]byte, 200)); err != nil {
			t.Fatal(err)
		}
	}
	if c.Stats().BytesViewed == 0 {
		t.Error("Stats does not say that a view is held")
	}
	close(out)
	<-done
	c.Close()
}
