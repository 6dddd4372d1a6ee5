// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"time"

	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/offheap"
)

// OptionsOf configure a cache with typed keys and values.
type OptionsOf[K comparable, V any] struct {
	Options // OnRemove of these must be nil.

	// OnRemove is called as Options.OnRemove says.
	OnRemove func(key K, value V, why Reason)
}

// Values is a [Cache] of values of one type without pointers, which lie off the Go heap and are copied
// in and out. Keys are strings, or values without pointers; they compare by ==, so padding does not
// count. A key with a NaN, which equals nothing, is refused with [ErrNaN], and the empty string with
// [ErrSize].
type Values[K comparable, V any] struct {
	_ noCopy
	handle
	keys keys[K]
	kind string // Empty if K or V has bools: then there are no files.
}

// NewValues returns an empty cache. The error says what is wrong in the options or the types.
func NewValues[K comparable, V any](o OptionsOf[K, V]) (*Values[K, V], error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Options.OnRemove != nil {
		return nil, fmt.Errorf("cache: Options.OnRemove is for bytes; set OptionsOf.OnRemove")
	}
	t := reflect.TypeFor[V]()
	info := typeinfo.Describe(t, reflect.TypeFor[offheap.UnsafeSelfContained]())
	if info.PointerPath != "" || info.SelfContained {
		return nil, fmt.Errorf("cache: values of %s hold a pointer (%s); NewObjects takes them", t, info.PointerPath)
	}
	c := new(Values[K, V])
	var err error
	if c.keys, err = newKeys[K](); err != nil {
		return nil, err
	}
	if kinfo := typeinfo.Describe(reflect.TypeFor[K](), reflect.TypeFor[offheap.UnsafeSelfContained]()); !info.Bools && !kinfo.Bools {
		none := func(reflect.Type) reflect.Type { return nil }
		c.kind = typeinfo.LayoutOf(reflect.TypeFor[struct {
			order uint16
			value V
		}](), none).Text()
		if c.kind += "keys: string\n"; !c.keys.text {
			c.kind = c.kind[:len(c.kind)-len("string\n")] + typeinfo.LayoutOf(reflect.TypeFor[K](), none).Text()
		}
		if one := uint16(1); memoryOf(&one)[0] != 1 {
			c.kind += "big-endian\n"
		}
	}
	s := settings{Options: o.Options}
	if f := o.OnRemove; f != nil {
		keys := c.keys
		s.onRemove = func(key, value []byte, why Reason) { f(keys.value(key), valueFrom[V](value), why) }
	}
	c.handle, err = newHandle(s)
	return c, err
}

// valueFrom is the value with this memory.
func valueFrom[V any](b []byte) (v V) {
	copy(memoryOf(&v), b)
	return v
}

// Get returns the value of a key, and says whether there is one.
func (c *Values[K, V]) Get(key K) (v V, ok bool) {
	var buf [64]byte
	k, err := c.keys.bytes(buf[:0], &key)
	if err != nil {
		return v, false
	}
	_, l := c.e.get(memoryOf(&v)[:0], k, false)
	c.e.counts.read(l.ok)
	runtime.KeepAlive(c.state)
	return v, l.ok
}

// Set is [Cache.Set].
func (c *Values[K, V]) Set(key K, v V) error { return c.SetTTL(key, v, c.e.o.TTL) }

// SetTTL is [Cache.SetTTL].
func (c *Values[K, V]) SetTTL(key K, v V, ttl time.Duration) error {
	var buf [64]byte
	k, err := c.keys.bytes(buf[:0], &key)
	if err == nil {
		err = c.e.set(k, memoryOf(&v), c.e.deadlines(ttl))
	}
	runtime.KeepAlive(c.state)
	return err
}

// Delete is [Cache.Delete].
func (c *Values[K, V]) Delete(key K) bool {
	var buf [64]byte
	k, err := c.keys.bytes(buf[:0], &key)
	ok := err == nil && c.e.delete(k)
	runtime.KeepAlive(c.state)
	return ok
}

// Update is [Cache.Update].
func (c *Values[K, V]) Update(key K, f func(old V, ok bool) (v V, op Op)) error {
	k, err := c.keys.bytes(nil, &key)
	if err != nil {
		return err
	}
	var v V
	err = c.e.update(k, func(old []byte, ok bool) ([]byte, Op) {
		var op Op
		v, op = f(valueFrom[V](old), ok)
		return memoryOf(&v), op
	}, func() deadlines { return c.e.deadlines(c.e.o.TTL) })
	runtime.KeepAlive(c.state)
	return err
}

// GetOrLoad is [Cache.GetOrLoad].
func (c *Values[K, V]) GetOrLoad(ctx context.Context, key K, load func(context.Context, K) (V, error)) (v V, err error) {
	k, err := c.keys.bytes(nil, &key)
	if err != nil {
		return v, err
	}
	b, err := c.e.getOrLoad(ctx, k, func(ctx context.Context, _ []byte) ([]byte, error) {
		v, err := load(ctx, key)
		if err != nil {
			return nil, err
		}
		return memoryOf(&v), nil
	})
	runtime.KeepAlive(c.state)
	if err != nil {
		return v, err
	}
	return valueFrom[V](b), nil
}

// All is [Cache.All].
func (c *Values[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		c.e.all(func(r record) bool { return yield(c.keys.value(r.key), valueFrom[V](r.value)) })
		runtime.KeepAlive(c.state)
	}
}

// Save is [Cache.Save]. The file says how keys and values lie in memory. Values with bools cannot be saved, because
// a damaged file could give them other values than true and false.
func (c *Values[K, V]) Save(path string) error {
	if c.kind == "" {
		return fmt.Errorf("%w: keys of %s or values of %s hold a bool; use a number", ErrKind, reflect.TypeFor[K](), reflect.TypeFor[V]())
	}
	err := c.e.save(path, c.kind)
	runtime.KeepAlive(c.state)
	return err
}

// Load is [Cache.Load].
func (c *Values[K, V]) Load(path string) (LoadStats, error) {
	if c.kind == "" {
		return LoadStats{}, fmt.Errorf("%w: keys of %s or values of %s hold a bool; use a number", ErrKind, reflect.TypeFor[K](), reflect.TypeFor[V]())
	}
	s, err := c.e.load(path, c.kind)
	runtime.KeepAlive(c.state)
	return s, err
}
