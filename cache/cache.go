// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"iter"
	"runtime"
	"time"
)

// A Cache maps keys to values, both bytes. All methods may be called from any goroutine. A Cache that
// is dropped without Close returns its memory some time after a collection, unless OnRemove refers to it.
type Cache struct {
	_ noCopy
	handle
}

// noCopy makes go vet report copies of a struct that has a field of this type.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// A handle holds an engine, and returns its memory when nobody holds the handle.
type handle struct {
	*state
}

type state struct {
	e       *engine
	cleanup runtime.Cleanup
}

func newHandle(o settings) (handle, error) {
	e, err := newEngine(o)
	if err != nil {
		return handle{}, err
	}
	s := &state{e: e}
	s.cleanup = runtime.AddCleanup(s, (*engine).close, e)
	return handle{s}, nil
}

// New returns an empty cache. The error lists each field of the options that is wrong, or says that
// memory was refused.
func New(o Options) (*Cache, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := settings{Options: o}
	if o.OnRemove != nil {
		s.onRemove = func(r removal) { o.OnRemove(r.key, r.value, r.reason) }
	}
	h, err := newHandle(s)
	if err != nil {
		return nil, err
	}
	return &Cache{handle: h}, nil
}

// Get appends the value of a key to dst, and says whether there is one. It allocates only if dst has
// no room.
func (c *Cache) Get(dst, key []byte) ([]byte, bool) {
	dst, l := c.e.get(dst, key, false)
	c.e.counts.read(l.ok)
	runtime.KeepAlive(c.state)
	return dst, l.ok
}

// View calls f with the value of a key, without a copy, and says whether there is one. The value is
// valid during the call and must not be changed. f must not call the cache. While it runs, the memory
// around the value is not used for anything else, so it should return soon.
func (c *Cache) View(key []byte, f func(value []byte)) bool {
	ok := c.e.view(key, f)
	c.e.counts.read(ok)
	runtime.KeepAlive(c.state)
	return ok
}

// GetMany calls f with the number and the value of each of the keys that has one, in order. It takes
// a third of the time of as many Gets, because the machine fetches the entries of 16 keys at once. What View says of f
// and the value holds.
func (c *Cache) GetMany(keys [][]byte, f func(i int, value []byte)) {
	c.e.getMany(keys, f)
	runtime.KeepAlive(c.state)
}

// Set stores a value with the TTL of the options. If it returns an error, the key has no value: it is
// [ErrSize], [ErrClosed], or one of offheap's for memory that was refused.
func (c *Cache) Set(key, value []byte) error { return c.SetTTL(key, value, c.e.o.TTL) }

// SetTTL is Set with a TTL for this entry; 0 is for ever, and with one below 0 the entry has expired already.
func (c *Cache) SetTTL(key, value []byte, ttl time.Duration) error {
	err := c.e.set(key, value, c.e.deadlines(ttl))
	runtime.KeepAlive(c.state)
	return err
}

// Delete removes a key, and says whether it had a value. A load of the key that is under way does not
// store its result.
func (c *Cache) Delete(key []byte) bool {
	ok := c.e.remove(key, nil)
	runtime.KeepAlive(c.state)
	return ok
}

// Update calls f with the value of a key, and stores or removes it as f says, if nobody has changed it
// meanwhile; otherwise it calls f again. old is a copy, valid during the call, with no room behind it; f may change it.
func (c *Cache) Update(key []byte, f func(old []byte, ok bool) (value []byte, op Op)) error {
	err := c.e.update(key, func(old record, ok bool) (record, Op) {
		v, op := f(old.value, ok)
		return record{value: v}, op
	})
	runtime.KeepAlive(c.state)
	return err
}

// GetOrLoad returns the value of a key, and calls load if there is none. Goroutines that ask for the
// same key at once share one load; if the context of one ends, it returns, and the others wait on.
// The load's context has the values of the first caller's, and ends when all have left.
//
// If load returns [ErrNotFound], that is remembered for NegativeTTL. If it returns another error, an
// entry that expired less than Stale ago is returned. If it panics, all who wait panic. A value
// that cannot be stored is returned. A load that asks for its own key, with the context that it got,
// gets [ErrRecursive].
func (c *Cache) GetOrLoad(ctx context.Context, key []byte, load func(context.Context, []byte) ([]byte, error)) ([]byte, error) {
	had, l, refresh := c.e.readForLoad(key)
	r, err := c.e.getOrLoad(ctx, key, func(ctx context.Context, key []byte) (record, error) {
		v, err := load(ctx, key)
		return record{value: v}, err
	}, had, l, refresh)
	runtime.KeepAlive(c.state)
	return r.value, err
}

// All yields keys and values in no order. They are copies, valid until the next step. An entry that
// is there all the time is yielded once; one that comes or goes meanwhile may be.
func (c *Cache) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		c.e.all(func(r record) bool { return yield(r.key, r.value) })
		runtime.KeepAlive(c.state)
	}
}

// Len is the number of entries. Those that have expired count until a read or the sweep finds them.
func (h handle) Len() int { return int(h.e.count.Load()) }

// Clear removes all entries. OnRemove is not called. Loads that are under way do not store their results.
func (h handle) Clear() {
	h.e.clear()
	runtime.KeepAlive(h.state)
}

// Resize changes the budget. It must be at least 16 MiB, or a sixteenth of Options.Bytes where that is
// less, and 1 MiB. Entries are evicted until it holds.
func (c *Cache) Resize(bytes int64) error { return c.resize(bytes) }

func (h handle) resize(bytes int64) error {
	err := h.e.rebudget(bytes)
	runtime.KeepAlive(h.state)
	return err
}

// Stats returns the figures of the moment.
func (h handle) Stats() Stats {
	s := h.e.stats()
	runtime.KeepAlive(h.state)
	return s
}

// Close removes all entries and returns the memory. It waits until the functions of View have
// returned. Afterwards reads find nothing, and what stores returns [ErrClosed]. A second Close does
// nothing.
func (h handle) Close() error {
	h.cleanup.Stop()
	h.e.close()
	return nil
}

// Save writes all entries, with their deadlines, to a file. It appears under its name when it is complete and on
// the disk; an older file stays until then. Other goroutines may use the cache meanwhile: an entry that comes or goes
// may be in the file. If the cache is closed before the end, Save returns [ErrClosed], and the older file stays.
func (c *Cache) Save(path string) error {
	err := c.e.save(path, "")
	runtime.KeepAlive(c.state)
	return err
}

// Load stores the entries of a file that Save has written. Damaged parts are skipped and counted. The
// error is [ErrFile], [ErrKind], [ErrClosed], or that of the file system.
func (c *Cache) Load(path string) (LoadStats, error) {
	s, err := c.e.load(path, "", func(_, _ []byte) bool { return true })
	runtime.KeepAlive(c.state)
	return s, err
}
