// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"hash/maphash"
	"time"

	"github.com/freehold-go/freehold/cache"
)

// now is the time in milliseconds of Unix time. It does not jump while the server runs.
func (s *server) now() int64 {
	if s.o.clock != nil {
		return s.o.clock().UnixMilli()
	}
	return s.wall + time.Since(s.start).Milliseconds()
}

// nextCas is a number that no item has got from the server.
func (s *server) nextCas() uint64 {
	for {
		if n := s.cas.Add(1); n != 0 { // 0 is for no cas.
			return n
		}
	}
}

// lock locks a key and returns its lock.
func (s *server) lock(key []byte) *keyLock {
	l := &s.locks[maphash.Bytes(s.seed, key)%uint64(len(s.locks))]
	l.Lock()
	return l
}

// load returns the item of a key. Its data lies in the connection's buffer for the older item.
func (c *conn) load(key []byte, now int64) (it item, ok bool) {
	c.old, ok = c.s.cache.Get(c.old[:0], key)
	if !ok {
		return it, false
	}
	it, ok = itemOf(c.old)
	return it, ok && (it.exp == 0 || it.exp > now)
}

// put stores an item, of which parts are the data. The caller holds the lock of the key.
func (c *conn) put(key []byte, it item, now int64, parts ...[]byte) error {
	c.item = it.appendHead(c.item[:0])
	for _, p := range parts {
		c.item = append(c.item, p...)
	}
	if int64(len(key)+len(c.item)) > c.s.o.MaxItem {
		return errTooLarge
	}
	ttl := time.Duration(0)
	if it.exp != 0 {
		if it.exp <= now { // It has expired already, and an older one must not stay.
			c.s.cache.Delete(key)
			return nil
		}
		ttl = time.Duration(it.exp-now) * time.Millisecond
	}
	err := c.s.cache.SetTTL(key, c.item, ttl)
	if errors.Is(err, cache.ErrSize) {
		return errTooLarge
	}
	return err
}

// A mode is what a storage command does.
type mode uint8

const (
	modeSet mode = iota
	modeAdd
	modeReplace
	modeAppend
	modePrepend
)

// A result is the answer to a storage command.
type result uint8

const (
	stored result = iota
	notStored
	exists
	notFound
)

// A change is a storage command.
type change struct {
	mode   mode
	item   item   // Without the time of its use.
	cas    uint64 // The cas that the older item must have, if must is set.
	must   bool
	stale  bool // An older cas is allowed, and makes the item stale.
	create bool // modeAppend and modePrepend store an item where there is none.
	newCas bool // item.cas is to be used.
}

// store carries out a storage command. It returns the item as it was stored, with the size of its data.
func (c *conn) store(key []byte, ch *change) (r result, cas uint64, size int, err error) {
	defer c.s.lock(key).Unlock()
	now := c.s.now()
	it := ch.item
	it.seen = uint32(now / 1000)
	var old item
	there := false
	if ch.mode != modeSet || ch.must {
		old, there = c.load(key, now)
	}
	joins := ch.mode == modeAppend || ch.mode == modePrepend
	switch {
	case !there && ch.must && (ch.mode == modeSet || ch.mode == modeReplace):
		c.counts[casMisses]++
		return notFound, 0, 0, nil
	case there && ch.mode == modeAdd, !there && ch.mode == modeReplace, !there && joins && !ch.create:
		return notStored, 0, 0, nil
	case there && ch.must && ch.cas == old.cas:
		c.counts[casHits]++
	case there && ch.must && ch.stale && ch.cas < old.cas && !joins:
		c.counts[casHits]++
		it.exp = old.exp
		it.state |= stateStale | old.state&stateWon
	case there && ch.must:
		c.counts[casBadval]++
		return exists, 0, 0, nil
	}
	if !ch.newCas {
		it.cas = c.s.nextCas()
	}
	before, after := []byte(nil), []byte(nil)
	if there && joins {
		it.exp, it.flags, it.state = old.exp, old.flags, old.state&(stateFetched|stateBinary)
		if ch.mode == modeAppend {
			before = old.data
		} else {
			after = old.data
		}
	}
	if err := c.put(key, it, now, before, it.data, after); err != nil {
		if joins && errors.Is(err, errTooLarge) {
			return notStored, 0, 0, nil
		}
		return notStored, 0, 0, err
	}
	c.counts[totalItems]++
	return stored, it.cas, len(before) + len(it.data) + len(after), nil
}

// An arithmetic is an incr or a decr.
type arithmetic struct {
	delta  uint64
	down   bool
	must   bool // The item must have this cas.
	cas    uint64
	newCas bool // The item gets setCas.
	setCas uint64
	create bool // Store initial where there is no item.
	first  uint64
	expNew int64 // Its expiry.
	setExp bool
	exp    int64
}

// add carries out an incr or a decr. It returns the item, with the new number as data and the older expiry.
func (c *conn) add(key []byte, a *arithmetic) (it item, r result, err error) {
	defer c.s.lock(key).Unlock()
	now := c.s.now()
	hits, misses := incrHits, incrMisses
	if a.down {
		hits, misses = decrHits, decrMisses
	}
	it, ok := c.load(key, now)
	switch {
	case !ok && !a.create:
		c.counts[misses]++
		return it, notFound, nil
	case !ok:
		it = item{exp: a.expNew, seen: uint32(now / 1000), data: appendUint(c.number[:0], a.first)}
	case a.must && a.cas != it.cas:
		return it, exists, nil
	default:
		n, numeric := number(it.data)
		if !numeric {
			return it, notStored, errNotNumber
		}
		c.counts[hits]++
		switch {
		case !a.down:
			n += a.delta
		case a.delta > n:
			n = 0
		default:
			n -= a.delta
		}
		digits := appendUint(c.number[:0], n)
		for len(digits) < len(it.data) { // As memcached: a number keeps its width.
			digits = append(digits, ' ')
		}
		it.data = digits
	}
	it.cas = a.setCas
	if !a.newCas {
		it.cas = c.s.nextCas()
	}
	changed := it
	if a.setExp {
		changed.exp = a.exp
	}
	return it, stored, c.put(key, changed, now, it.data)
}

// touch gives an item a new expiry, and calls f with it, if there is one.
func (c *conn) touch(key []byte, exp int32, f func(item)) (bool, error) {
	defer c.s.lock(key).Unlock()
	now := c.s.now()
	it, ok := c.load(key, now)
	if !ok {
		c.counts[touchMisses]++
		return false, nil
	}
	c.counts[touchHits]++
	if f != nil {
		f(it)
		it.used(now)
	}
	it.exp = expiry(exp, now)
	return true, c.put(key, it, now, it.data)
}

// use notes that a get has found an item.
func (c *conn) use(key []byte) {
	defer c.s.lock(key).Unlock()
	now := c.s.now()
	if it, ok := c.load(key, now); ok && it.needsUse(now) {
		it.used(now)
		_ = c.put(key, it, now, it.data) // If memory was refused, the item is gone, as if it was evicted.
	}
}

// remove deletes an item, and says whether there was one.
func (c *conn) remove(key []byte) bool {
	defer c.s.lock(key).Unlock()
	return c.s.cache.Delete(key)
}

// flush deletes all items. No command sees some of them gone and others not between its read and its
// write.
func (s *server) flush() {
	for i := range s.locks {
		s.locks[i].Lock()
	}
	s.cache.Clear()
	for i := range s.locks {
		s.locks[i].Unlock()
	}
}

// flushAfter deletes all items after a time. A later call replaces an earlier one that has not come to
// pass.
func (s *server) flushAfter(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flushing != nil {
		s.flushing.Stop()
		s.flushing = nil
	}
	if d <= 0 {
		s.flush()
	} else if !s.stopping.Load() {
		s.flushing = time.AfterFunc(d, s.flush)
	}
}
