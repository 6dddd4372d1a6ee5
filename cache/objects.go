// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"hash/maphash"
	"iter"
	"runtime"
	"sync/atomic"
	"time"
	"weak"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// Objects is a cache of pointers to values on the Go heap, which it hands out as they are: a hit decodes and
// allocates nothing. Keys are those of [Values]. The collector sees one pointer for each entry.
//
// Options.Bytes bounds the weights of the objects, see [OptionsOf]. The keys and the table, which lie off the Go
// heap, come in addition: 5 to 7 bytes and the key for each entry, rounded up to a multiple of 32, and 18 for the table.
// On the Go heap an entry has 8 bytes for each 32 of those.
//
// An object that has left the cache lives as long as the program uses it. Several callers may have the same object, so
// they must not change it without a lock of their own.
type Objects[K comparable, V any] struct {
	_ noCopy
	handle
	keys     keys[K]
	pointers *pointers[V]
	weight   func(*V) int
}

// NewObjects returns an empty cache. The error says what is wrong in the options or in K.
func NewObjects[K comparable, V any](o OptionsOf[K, *V]) (*Objects[K, V], error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c := &Objects[K, V]{pointers: new(pointers[V]), weight: o.Weight}
	var err error
	if c.keys, err = newKeys[K](); err != nil {
		return nil, err
	}
	c.pointers.of.Store(new([][]*V))
	s := settings{Options: o.Options, objects: pointersRef[V]{weak.Make(c.pointers)}}
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
		return record{weighed: weighed{v, int64(c.weight(v))}}
	}
	return record{weighed: weighed{v, int64(unsafex.Size[V]()) + int64(len(key))}}
}

// Get returns the object of a key, and says whether there is one.
func (c *Objects[K, V]) Get(key K) (v *V, ok bool) {
	var buf [64]byte
	k, err := c.keys.bytes(buf[:0], &key)
	if err != nil {
		return nil, false
	}
	h := maphash.Bytes(c.e.seed, k)
	b, head, slot, miss := c.e.quick(h, k)
	switch {
	case b != nil:
		v, ok = *c.pointers.at(c.e.placeOf(slot)), true
		unlock(b, head)
	case !miss:
		v, ok = c.getSlow(h, k)
	}
	c.e.counts.read(ok)
	runtime.KeepAlive(c.state)
	return v, ok
}

// getSlow is Get for what quick did not find.
func (c *Objects[K, V]) getSlow(h uint64, key []byte) (v *V, ok bool) {
	var f found
	_, l := c.e.hold(&f, h, key, false, false)
	if l.ok {
		v = *c.pointers.at(c.e.placeOf(*f.at()))
		f.unlock()
	}
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
	ok := err == nil && c.e.remove(k, nil)
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
	c.pointers.of.Store(new([][]*V))
	return err
}

// pointers are those of Objects, by the numbers of the segments of their entries and the places there: one for each
// pointerUnit bytes of a segment. So a reader knows where the pointer is before it has read the entry. A pointer is read
// and removed under the lock of its entry's bucket.
type pointers[V any] struct{ of atomic.Pointer[[][]*V] }

func (p *pointers[V]) at(segment, i uint64) **V { return &(*p.of.Load())[segment][i] }

// pointersRef is what the engine has of pointers. It is weak: the engine lives on until the cache is found to be
// unreachable, which it never would be if it could be reached from an object.
type pointersRef[V any] struct{ p weak.Pointer[pointers[V]] }

func (r pointersRef[V]) resize(segment uint64, n int) {
	p := r.p.Value()
	if p == nil {
		return
	}
	of := *p.of.Load()
	if segment >= uint64(len(of)) {
		of = append(make([][]*V, 0, 2*segment), of...)[:2*segment] // Readers have the old one.
		p.of.Store(&of)
	}
	of[segment] = make([]*V, n)
}

// load returns nil, not a *V, if the pointers have gone.
func (r pointersRef[V]) load(segment, i uint64) any {
	if p := r.p.Value(); p != nil {
		return *p.at(segment, i)
	}
	return nil
}

func (r pointersRef[V]) store(segment, i uint64, object any) {
	if p := r.p.Value(); p != nil {
		*p.at(segment, i), _ = object.(*V)
	}
}
