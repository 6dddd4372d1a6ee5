// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"time"

	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/offheap"
)

// typed is what Values and Map have in common.
type typed[K comparable, V any] struct {
	handle
	keys keys[K]
}

// init checks the types and makes the engine.
func (c *typed[K, V]) init(o settings, onRemove func(K, V, Reason)) (err error) {
	t := reflect.TypeFor[V]()
	if info := typeinfo.Describe(t, reflect.TypeFor[offheap.UnsafeSelfContained]()); info.PointerPath != "" || info.SelfContained {
		return fmt.Errorf("cache: values of %s hold a pointer (%s); NewObjects takes them", t, info.PointerPath)
	}
	if c.keys, err = newKeys[K](); err != nil {
		return err
	}
	if onRemove != nil {
		keys := c.keys
		o.onRemove = func(r removal) { onRemove(keys.value(r.key), valueFrom[V](r.value), r.reason) }
	}
	c.handle, err = newHandle(o)
	return err
}

// valueFrom is the value with this memory.
func valueFrom[V any](b []byte) (v V) {
	copy(memoryOf(&v), b)
	return v
}

// Get returns the value of a key, and says whether there is one.
func (c *typed[K, V]) Get(key K) (v V, ok bool) {
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

// Set is [Cache.Set]. If a [Map] returns an error, the key's value is what it was.
func (c *typed[K, V]) Set(key K, v V) error { return c.setTTL(key, v, c.e.o.TTL) }

func (c *typed[K, V]) setTTL(key K, v V, ttl time.Duration) error {
	var buf [64]byte
	k, err := c.keys.bytes(buf[:0], &key)
	if err == nil {
		err = c.e.set(k, memoryOf(&v), c.e.deadlines(ttl))
	}
	runtime.KeepAlive(c.state)
	return err
}

// Delete is [Cache.Delete].
func (c *typed[K, V]) Delete(key K) bool {
	var buf [64]byte
	k, err := c.keys.bytes(buf[:0], &key)
	ok := err == nil && c.e.remove(k, nil)
	runtime.KeepAlive(c.state)
	return ok
}

// Update is [Cache.Update].
func (c *typed[K, V]) Update(key K, f func(old V, ok bool) (v V, op Op)) error {
	k, err := c.keys.bytes(nil, &key)
	if err != nil {
		return err
	}
	var v V
	err = c.e.update(k, func(old record, ok bool) (record, Op) {
		var op Op
		v, op = f(valueFrom[V](old.value), ok)
		return record{value: memoryOf(&v)}, op
	})
	runtime.KeepAlive(c.state)
	return err
}

// All is [Cache.All].
func (c *typed[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		c.e.all(func(r record) bool { return yield(c.keys.value(r.key), valueFrom[V](r.value)) })
		runtime.KeepAlive(c.state)
	}
}
