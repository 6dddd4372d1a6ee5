// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"time"

	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// OptionsOf configure a cache with typed keys and values.
type OptionsOf[K comparable, V any] struct {
	Options // OnRemove of these must be nil.

	// OnRemove is called as Options.OnRemove says.
	OnRemove func(key K, value V, why Reason)

	// Weight is how many bytes an object of Objects counts for in Options.Bytes; nil is the size of the
	// object, without what it points to, and of the key's bytes. It is called once for each object that is
	// stored. A weight below 1 counts as 1. For Values it must be nil.
	Weight func(value V) int
}

// check lists what is wrong in the options.
func (o *OptionsOf[K, V]) check() error {
	err := o.Options.check()
	if o.Options.OnRemove != nil {
		err = errors.Join(err, errors.New("cache: Options.OnRemove is for bytes; set OptionsOf.OnRemove"))
	}
	return err
}

// Values is a [Cache] of values of one type without pointers, which lie off the Go heap and are copied
// in and out. Keys are strings, or values without pointers; they compare by ==, so padding does not
// count. A key with a NaN, which equals nothing, is refused with [ErrNaN], and the empty string with
// [ErrSize].
type Values[K comparable, V any] struct {
	_ noCopy
	typed[K, V]
	kind string // Empty if K or V has bools: then there are no files.
}

// NewValues returns an empty cache. The error says what is wrong in the options or the types.
func NewValues[K comparable, V any](o OptionsOf[K, V]) (*Values[K, V], error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Weight != nil {
		return nil, errors.New("cache: OptionsOf.Weight is for Objects; the weight of Values is their size")
	}
	c := new(Values[K, V])
	if err := c.init(settings{Options: o.Options}, o.OnRemove); err != nil {
		return nil, err
	}
	info := typeinfo.Describe(reflect.TypeFor[V](), reflect.TypeFor[offheap.UnsafeSelfContained]())
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
	return c, nil
}

// Resize is [Cache.Resize].
func (c *Values[K, V]) Resize(bytes int64) error { return c.resize(bytes) }

// SetTTL is [Cache.SetTTL].
func (c *Values[K, V]) SetTTL(key K, v V, ttl time.Duration) error { return c.setTTL(key, v, ttl) }

// GetOrLoad is [Cache.GetOrLoad].
func (c *Values[K, V]) GetOrLoad(ctx context.Context, key K, load func(context.Context, K) (V, error)) (v V, err error) {
	k, err := c.keys.bytes(nil, &key)
	if err != nil {
		return v, err
	}
	had, l, refresh := c.e.readForLoad(k)
	r, err := c.e.getOrLoad(ctx, k, func(ctx context.Context, _ []byte) (record, error) {
		v, err := load(ctx, key)
		return record{value: memoryOf(&v)}, err
	}, had, l, refresh)
	runtime.KeepAlive(c.state)
	return valueFrom[V](r.value), err
}

// Save is [Cache.Save]. The file says how keys and values lie in memory. Values with bools cannot be saved, because
// a damaged file could give them other values than true and false.
func (c *Values[K, V]) Save(path string) error {
	err := c.noFiles()
	if err == nil {
		err = c.e.save(path, c.kind)
	}
	runtime.KeepAlive(c.state)
	return err
}

// Load is [Cache.Load].
func (c *Values[K, V]) Load(path string) (LoadStats, error) {
	if err := c.noFiles(); err != nil {
		return LoadStats{}, err
	}
	s, err := c.e.load(path, c.kind, func(key, value []byte) bool { return len(value) == int(unsafex.Size[V]()) && c.keys.made(key) })
	runtime.KeepAlive(c.state)
	return s, err
}

// noFiles is an error if keys or values hold a bool.
func (c *Values[K, V]) noFiles() error {
	if c.kind != "" {
		return nil
	}
	return fmt.Errorf("%w: keys of %s or values of %s hold a bool; use a number", ErrKind, reflect.TypeFor[K](), reflect.TypeFor[V]())
}
