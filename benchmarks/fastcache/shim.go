// Package fastcache has the calls of github.com/VictoriaMetrics/fastcache on a cache.Cache, so that
// fastcache's own tests run on it.
//
//	make test-fastcache FASTCACHE=DIR
//
// It is not meant for programs; docs/moving-over.md says what to call in place of each.
package fastcache

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/cache"
)

// The tests make caches of this size.
const (
	bucketsCount = 512
	chunkSize    = 64 << 10
	leastBytes   = bucketsCount * chunkSize
)

// Cache has the methods of fastcache's.
type Cache struct {
	c        *cache.Cache
	maxBytes int
	buckets  [1]struct{} // The tests print it.

	sets, bigGets, bigSets atomic.Uint64
	mu                     sync.Mutex
	before                 cache.Stats // At the last Reset, which sets counts to 0.
}

// Stats has the fields of fastcache's.
type Stats struct {
	GetCalls, SetCalls, Misses, Collisions, Corruptions uint64
	EntriesCount, BytesSize, MaxBytesSize               uint64
	BigStats
}

// BigStats has the fields of fastcache's.
type BigStats struct {
	GetBigCalls, SetBigCalls, TooBigKeyErrors, InvalidMetavalueErrors, InvalidValueLenErrors, InvalidValueHashErrors uint64
}

// Reset sets all to 0.
func (s *Stats) Reset() { *s = Stats{} }

// New panics if memory is refused.
func New(maxBytes int) *Cache {
	maxBytes = max(maxBytes, leastBytes)
	c, err := cache.New(cache.Options{Bytes: int64(maxBytes)})
	if err != nil {
		panic(err)
	}
	return &Cache{c: c, maxBytes: maxBytes}
}

// Set drops what the cache refuses, as fastcache does.
func (c *Cache) Set(k, v []byte) {
	c.sets.Add(1)
	_ = c.c.Set(k, v)
}

// Get appends the value to dst.
func (c *Cache) Get(dst, k []byte) []byte {
	dst, _ = c.c.Get(dst, k)
	return dst
}

// HasGet also says whether there is a value.
func (c *Cache) HasGet(dst, k []byte) ([]byte, bool) { return c.c.Get(dst, k) }

// Has says whether there is a value.
func (c *Cache) Has(k []byte) bool { return c.c.View(k, func([]byte) {}) }

// Del removes a key.
func (c *Cache) Del(k []byte) { c.c.Delete(k) }

// SetBig is Set: large values need no call of their own.
func (c *Cache) SetBig(k, v []byte) {
	c.bigSets.Add(1)
	c.Set(k, v)
}

// GetBig is Get.
func (c *Cache) GetBig(dst, k []byte) []byte {
	c.bigGets.Add(1)
	return c.Get(dst, k)
}

// Reset removes all entries and sets the counts to 0.
func (c *Cache) Reset() {
	c.c.Clear()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = c.c.Stats()
	for _, n := range []*atomic.Uint64{&c.sets, &c.bigGets, &c.bigSets} {
		n.Store(0)
	}
}

// UpdateStats adds the figures to s.
func (c *Cache) UpdateStats(s *Stats) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.c.Stats()
	misses := uint64(now.Misses - c.before.Misses)
	s.GetCalls += uint64(now.Hits-c.before.Hits) + misses
	s.Misses += misses
	s.SetCalls += c.sets.Load()
	s.GetBigCalls += c.bigGets.Load()
	s.SetBigCalls += c.bigSets.Load()
	s.EntriesCount += uint64(now.Entries)
	s.BytesSize += uint64(now.BytesHeld)
	s.MaxBytesSize += uint64(now.Bytes)
}

// SaveToFile makes a folder with the entries and the budget, which fastcache compares.
func (c *Cache) SaveToFile(path string) error { return c.SaveToFileConcurrent(path, 1) }

// SaveToFileConcurrent is SaveToFile.
func (c *Cache) SaveToFileConcurrent(path string, _ int) error {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(path, "budget"), binary.LittleEndian.AppendUint64(nil, uint64(c.maxBytes)), 0o666); err != nil {
		return err
	}
	return c.c.Save(filepath.Join(path, "entries"))
}

// LoadFromFile makes a cache of the saved budget.
func LoadFromFile(path string) (*Cache, error) { return LoadFromFileMaxBytes(path, 0) }

// LoadFromFileMaxBytes refuses a folder of another budget, unless maxBytes is 0.
func LoadFromFileMaxBytes(path string, maxBytes int) (*Cache, error) {
	b, err := os.ReadFile(filepath.Join(path, "budget"))
	if err != nil {
		return nil, err
	}
	saved := int(binary.LittleEndian.Uint64(b))
	if maxBytes != 0 && max(maxBytes, leastBytes) != saved {
		return nil, fmt.Errorf("fastcache: %s has a cache of %d bytes, not of %d", path, saved, maxBytes)
	}
	c := New(saved)
	stats, err := c.c.Load(filepath.Join(path, "entries"))
	if err == nil && stats.Damaged > 0 {
		err = fmt.Errorf("fastcache: %s: %+v", path, stats)
	}
	if err != nil {
		c.c.Close()
		return nil, err
	}
	return c, nil
}

// LoadFromFileOrNew makes an empty cache if there is none to load.
func LoadFromFileOrNew(path string, maxBytes int) *Cache {
	if c, err := LoadFromFileMaxBytes(path, maxBytes); err == nil {
		return c
	}
	return New(maxBytes)
}
