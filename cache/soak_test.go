// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/sanitize"
)

// sealed is a value for a key: a checksum of key and value, and random bytes.
func sealed(r *rand.Rand, buf, key []byte, n int) []byte {
	buf = append(buf[:0], 0, 0, 0, 0)
	for len(buf) < n+4 {
		buf = binary.LittleEndian.AppendUint64(buf, r.Uint64())
	}
	buf = buf[:n+4]
	binary.LittleEndian.PutUint32(buf, crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, buf[4:]))
	return buf
}

// seal is an error unless the value is one that was sealed for the key.
func seal(key, value []byte) error {
	if len(value) < 4 || binary.LittleEndian.Uint32(value) != crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value[4:]) {
		return fmt.Errorf("key %x has a wrong value of %d bytes", key, len(value))
	}
	return nil
}

// TestSoak uses a cache that is too small with all its calls at once, while it is resized, saved, loaded, cleared, and
// entries expire. make soak-cache runs it for ten minutes and then looks at the resident memory, too.
func TestSoak(t *testing.T) {
	const mib, workers = 1 << 20, 4
	full := int64(4 * mib)
	soak := os.Getenv("FREEHOLD_TEST_STRESS") != ""
	if soak {
		full = 32 * mib
	}
	var removed atomic.Int64
	c, err := New(Options{Bytes: full, TTL: 3 * time.Second, Jitter: 0.9, Idle: 2 * time.Second, Stale: 50 * time.Millisecond,
		NegativeTTL: 20 * time.Millisecond, Refresh: 30 * time.Millisecond,
		OnRemove: func(k, v []byte, _ Reason) {
			removed.Add(1)
			if err := seal(k, v); err != nil {
				t.Error(err)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	before, goroutines := resident(), runtime.NumGoroutine()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	until := time.Now().Add(testenv.StressTime(t, time.Second))
	keys := float64(full / 150)
	var wg sync.WaitGroup
	for g := range uint64(workers) {
		wg.Go(func() { soakWorker(t, c, seed, g, keys, until) })
	}
	path := filepath.Join(t.TempDir(), "saved")
	for i := int64(0); time.Now().Before(until) && !t.Failed(); i++ {
		budget := full - full/2*(i%2)
		if err := c.Resize(budget); err != nil {
			t.Error(err)
		}
		for k, v := range c.All() {
			if err := seal(k, v); err != nil {
				t.Error(err)
			}
		}
		if err := c.Save(path); err != nil {
			t.Error(err)
		}
		if i%5 == 4 {
			c.Clear()
		}
		if s, err := c.Load(path); err != nil || s.Damaged != 0 {
			t.Errorf("%+v, %v", s, err)
		}
		if s := c.Stats(); s.BytesHeld > budget {
			t.Errorf("%d bytes are held of %d", s.BytesHeld, budget)
		}
		if soak && !sanitize.Race { // The race detector has memory of its own.
			debug.FreeOSMemory()
			if now, most := resident(), before+full+full/50+64*mib; now > most { // 64 MiB for Go's own heap.
				t.Errorf("%d MiB are resident, %d before, with a budget of %d", now/mib, before/mib, full/mib)
			}
		}
	}
	wg.Wait()
	for runtime.NumGoroutine() > goroutines { // Nobody waits for refreshes, and a Set lets them be forgotten.
		runtime.Gosched()
	}
	c.e.verify(t)
	s := c.Stats()
	t.Logf("%+v, OnRemove was called %d times", s, removed.Load())
	if soak && (s.Expired == 0 || s.Evicted == 0 && !sanitize.Race || s.Hits == 0 || s.Loads == 0 || s.Replaced == 0) {
		t.Errorf("something never happened: %+v", s)
	}
	c.Close()
	if n := c.Stats().BytesHeld; n != 0 {
		t.Errorf("%d bytes held after Close", n)
	}
}

// soakWorker makes calls of all kinds, with keys from 0 on whose number is exponentially distributed.
func soakWorker(t *testing.T, c *Cache, seed, g uint64, keys float64, until time.Time) {
	r := rand.New(rand.NewPCG(seed, g))
	var key, buf, got []byte
	check := func(k, v []byte) {
		if err := seal(k, v); err != nil {
			t.Error(err)
		}
	}
	for i := 0; i%64 != 0 || time.Now().Before(until) && !t.Failed(); i++ {
		key = binary.LittleEndian.AppendUint32(key[:0], uint32(r.ExpFloat64()*keys/3))
		n := r.IntN(600)
		if i%2000 == 0 {
			n = r.IntN(250000) // An eighth of the lesser budget.
		}
		switch r.IntN(12) {
		case 0, 1:
			buf = sealed(r, buf, key, n)
			if err := c.SetTTL(key, buf, time.Duration(r.IntN(6000))*time.Millisecond); err != nil {
				t.Error(err)
			}
		case 2:
			c.Delete(key)
		case 3:
			if err := c.Update(key, func(old []byte, ok bool) ([]byte, Op) {
				if ok {
					check(key, old)
				}
				buf = sealed(r, buf, key, n)
				return buf, Op(r.IntN(3))
			}); err != nil {
				t.Error(err)
			}
		case 4:
			c.View(key, func(v []byte) { check(key, v) })
		case 5:
			other := binary.LittleEndian.AppendUint32(nil, uint32(r.ExpFloat64()*keys/3))
			both := [][]byte{key, other}
			c.GetMany(both, func(i int, v []byte) { check(both[i], v) })
		case 6, 7:
			v, err := c.GetOrLoad(t.Context(), key, func(_ context.Context, k []byte) ([]byte, error) {
				if k[0]%16 == 0 {
					return nil, ErrNotFound
				}
				return sealed(rand.New(rand.NewPCG(seed, uint64(k[0]))), nil, k, n), nil
			})
			if err == nil {
				check(key, v)
			} else if err != ErrNotFound {
				t.Error(err)
			}
		default:
			var ok bool
			if got, ok = c.Get(got[:0], key); ok {
				check(key, got)
			}
		}
	}
}

// resident is the resident memory of the process in bytes, 0 if the system does not say.
func resident() int64 {
	b, _ := os.ReadFile("/proc/self/statm")
	var size, pages int64
	fmt.Sscan(string(b), &size, &pages)
	return pages * int64(os.Getpagesize())
}
