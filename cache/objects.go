// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"hash/maphash"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// Objects is a cache of pointers to values on the Go heap, which it hands out as they are: a hit decodes and
// allocates nothing. Keys are those of [Values]. The collector sees one pointer for each entry.
//
// Options.Bytes bounds the weights of the objects, see [OptionsOf]. The keys and the table, which lie off the Go
// heap, come in addition: about 35 bytes for each entry and the key, and 8 bytes on the Go heap.
//
// An object that has left the cache lives as long as the program uses it. Several callers may have the same object, so
// they must not change it without a lock of their own.
type Objects[K comparable, V any] struct {
	_ noCopy
	handle
	keys   keys[K]
	slab   *slab[V]
	weight func(*V) int
}

// NewObjects returns an empty cache. The error says what is wrong in the options or in K.
func NewObjects[K comparable, V any](o OptionsOf[K, *V]) (*Objects[K, V], error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c := &Objects[K, V]{slab: new(slab[V]), weight: o.Weight}
	var err error
	if c.keys, err = newKeys[K](); err != nil {
		return nil, err
	}
	c.slab.chunks.Store(new([]*chunk[V]))
	s := settings{Options: o.Options, objects: slabRef[V]{weak.Make(c.slab)}}
	if f := o.OnRemove; f != nil {
		keys := c.keys
		s.onRemove = func(r removal) { f(keys.value(r.key), r.object.(*V), r.reason) }
	}
	c.handle, err = newHandle(s)
	return c, err
}

// record is what the engine stores for an object.
func (c *Objects[K, V]) record(key []byte, v *V) record {
	if c.weight != nil {
		return record{object: v, weight: int64(c.weight(v))}
	}
	return record{object: v, weight: int64(unsafex.Size[V]()) + int64(len(key))}
}

// Get returns the object of a key, and says whether there is one.
func (c *Objects[K, V]) Get(key K) (v *V, ok bool) {
	var buf [64]byte
	k, err := c.keys.bytes(buf[:0], &key)
	if err != nil {
		return nil, false
	}
	var f found
	b, l := c.e.hold(&f, maphash.Bytes(c.e.seed, k), k, false, false)
	if l.ok {
		index, _ := objectOf(valueOf(b))
		v = c.slab.load(index)
		f.unlock()
	}
	c.e.counts.read(l.ok)
	runtime.KeepAlive(c.state)
	return v, l.ok
}

// Set is [Cache.Set]. A weight above an eighth of the budget is [ErrSize].
func (c *Objects[K, V]) Set(key K, v *V) error { return c.SetTTL(key, v, c.e.o.TTL) }

// SetTTL is [Cache.SetTTL].
func (c *Objects[K, V]) SetTTL(key K, v *V, ttl time.Duration) error {
	k, err := c.keys.bytes(nil, &key)
	if err == nil {
		r := c.record(k, v)
		r.until = c.e.deadlines(ttl)
		err = c.e.put(k, r, 0, nil)
	}
	runtime.KeepAlive(c.state)
	return err
}

// Delete is [Cache.Delete].
func (c *Objects[K, V]) Delete(key K) bool {
	k, err := c.keys.bytes(nil, &key)
	ok := err == nil && c.e.delete(k)
	runtime.KeepAlive(c.state)
	return ok
}

// Update is [Cache.Update]. To change an object that others may have, store a changed copy.
func (c *Objects[K, V]) Update(key K, f func(old *V, ok bool) (v *V, op Op)) error {
	k, err := c.keys.bytes(nil, &key)
	if err != nil {
		return err
	}
	err = c.e.update(k, func(old record, ok bool) (r record, op Op) {
		v, _ := old.object.(*V)
		if v, op = f(v, ok); op == Store {
			r = c.record(k, v)
		}
		return r, op
	})
	runtime.KeepAlive(c.state)
	return err
}

// GetOrLoad is [Cache.GetOrLoad]. All who wait for a load get the same object.
func (c *Objects[K, V]) GetOrLoad(ctx context.Context, key K, load func(context.Context, K) (*V, error)) (*V, error) {
	var buf [64]byte
	k, err := c.keys.bytes(buf[:0], &key)
	if err != nil {
		return nil, err
	}
	r, l, refresh := c.e.readForLoad(k)
	if refresh || !l.ok || l.stale || l.absent {
		r, err = c.load(ctx, key, load, r, l, refresh)
	}
	runtime.KeepAlive(c.state)
	v, _ := r.object.(*V)
	return v, err
}

func (c *Objects[K, V]) load(ctx context.Context, key K, load func(context.Context, K) (*V, error), r record, l lookup, refresh bool) (record, error) {
	k, err := c.keys.bytes(nil, &key)
	if err != nil {
		return record{}, err
	}
	return c.e.getOrLoad(ctx, k, func(ctx context.Context, k []byte) (record, error) {
		v, err := load(ctx, key)
		if err != nil {
			return record{}, err
		}
		return c.record(k, v), nil
	}, r, l, refresh)
}

// All is [Cache.All].
func (c *Objects[K, V]) All() iter.Seq2[K, *V] {
	return func(yield func(K, *V) bool) {
		c.e.all(func(r record) bool { return yield(c.keys.value(r.key), r.object.(*V)) })
		runtime.KeepAlive(c.state)
	}
}

// Resize is [Cache.Resize]; the least budget is 1 MiB.
func (c *Objects[K, V]) Resize(bytes int64) error { return c.resize(bytes) }

// Close is [Cache.Close]. The objects stay with the callers who have them.
func (c *Objects[K, V]) Close() error {
	err := c.handle.Close()
	c.slab.close()
	return err
}

// A slab has the pointers of Objects, by indexes from 1 on. An index belongs to one entry; the pointer is read and
// removed under the lock of the entry's bucket, so no reader sees that of another entry. Memory of removed ones is used
// again.
type slab[V any] struct {
	chunks atomic.Pointer[[]*chunk[V]]

	mu     sync.Mutex // The last lock that a goroutine takes.
	free   []uint32
	used   uint32 // Indexes so far, those that are free included.
	closed bool
}

const chunkObjects = 512

type chunk[V any] [chunkObjects]*V

// at is the place of a pointer, nil if there is none.
func (s *slab[V]) at(index uint32) **V {
	chunks := *s.chunks.Load()
	if i := int(index / chunkObjects); i < len(chunks) {
		return &chunks[i][index%chunkObjects]
	}
	return nil
}

func (s *slab[V]) load(index uint32) *V {
	if p := s.at(index); p != nil {
		return *p
	}
	return nil
}

func (s *slab[V]) add(v *V) (index uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed { // The engine will refuse the entry.
		return 0
	}
	if last := len(s.free) - 1; last >= 0 {
		index = s.free[last]
		s.free = s.free[:last]
	} else {
		s.used++
		index = s.used
		if old := *s.chunks.Load(); int(index/chunkObjects) >= len(old) {
			chunks := append(old, new(chunk[V])) // Readers of the old slice do not look behind its end.
			s.chunks.Store(&chunks)
		}
	}
	*s.at(index) = v
	return index
}

func (s *slab[V]) remove(index uint32) {
	p := s.at(index)
	if index == 0 || p == nil {
		return
	}
	*p = nil
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, index)
}

// close lets go of all pointers.
func (s *slab[V]) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chunks.Store(new([]*chunk[V]))
	s.free, s.closed = nil, true
}

// slabRef is what the engine has of a slab. It is weak: the engine lives on until the cache is found to be unreachable, which
// it never would be if it could be reached from an object.
type slabRef[V any] struct{ slab weak.Pointer[slab[V]] }

func (r slabRef[V]) add(object any) (index uint32) {
	if s := r.slab.Value(); s != nil {
		index = s.add(object.(*V))
	}
	return index
}

// load returns nil, not a *V, if the slab has gone.
func (r slabRef[V]) load(index uint32) any {
	if s := r.slab.Value(); s != nil {
		return s.load(index)
	}
	return nil
}

func (r slabRef[V]) remove(index uint32) {
	if s := r.slab.Value(); s != nil {
		s.remove(index)
	}
}
