// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"runtime"
	"testing"
	"time"
)

// TestUpdateInPlace: Update's function may change the copy that it gets, and return it.
func TestUpdateInPlace(t *testing.T) {
	c, err := New(Options{Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	key := []byte("counter")
	if err := c.Set(key, []byte{1}); err != nil {
		t.Fatal(err)
	}
	calls := 0
	if err := c.Update(key, func(old []byte, _ bool) ([]byte, Op) {
		if calls++; calls == 10 {
			t.Error("called again and again")
			return nil, Keep
		}
		old[0]++
		return old, Store
	}); err != nil {
		t.Fatal(err)
	}
	if v, ok := c.Get(nil, key); !ok || !bytes.Equal(v, []byte{2}) {
		t.Errorf("%v, %v", v, ok)
	}
}

// TestMapCloseWhileFull closes a map while a Set waits for a free bucket of a chain.
func TestMapCloseWhileFull(t *testing.T) {
	m, err := NewMap[uint32, uint32](MapOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e := m.e
	key := uint32(0)
	next := func() []byte { // Keys of one home.
		for {
			key++
			k := binary.NativeEndian.AppendUint32(nil, key)
			if e.home(maphash.Bytes(e.seed, k), e.n.Load()) == 5 {
				return k
			}
		}
	}
	publish := func() error {
		k := next()
		w, err := e.write(maphash.Bytes(e.seed, k), k, make([]byte, 4), deadlines{}, 0, weighed{})
		if err != nil {
			t.Error(err)
			return err
		}
		_, err = e.publish(w, k, nil)
		return err
	}
	for range family*slots + slots { // Its chain is full, too.
		if err := publish(); err != nil {
			t.Fatal(err)
		}
	}
	k := next()
	w, err := e.write(maphash.Bytes(e.seed, k), k, make([]byte, 4), deadlines{}, 0, weighed{})
	if err != nil {
		t.Fatal(err)
	}
	for e.chains.take(mostChained) != 0 {
	}
	e.mu.Lock()
	closed, set := make(chan error, 1), make(chan error, 1)
	go func() { closed <- m.Close() }()
	for e.stripes[len(e.stripes)-1].mu.TryLock() {
		e.stripes[len(e.stripes)-1].mu.Unlock()
		runtime.Gosched()
	}
	time.Sleep(10 * time.Millisecond) // Close waits for mu now, as far as can be told.
	go func() {
		_, err := e.publish(w, k, nil)
		set <- err
	}()
	time.Sleep(10 * time.Millisecond)
	e.mu.Unlock()
	for _, done := range []chan error{closed, set} {
		select {
		case err := <-done:
			if err != nil && !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("Close and Set wait for each other")
		}
	}
}

// TestUpdateOfExpired: a Set in the place of an expired entry, while Update's function runs, is seen.
func TestUpdateOfExpired(t *testing.T) {
	now := time.Now()
	c, err := New(Options{Bytes: 1 << 20, TTL: time.Second, Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	key := []byte("key")
	if err := c.Set(key, []byte("a")); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	calls := 0
	if err := c.Update(key, func(old []byte, ok bool) ([]byte, Op) {
		if calls++; calls == 1 {
			if err := c.Set(key, []byte("b")); err != nil {
				t.Error(err)
			}
		}
		return append(old, 'c'), Store
	}); err != nil {
		t.Fatal(err)
	}
	if v, _ := c.Get(nil, key); string(v) != "bc" {
		t.Errorf("%q after %d calls: the Set is lost", v, calls)
	}
}

// TestEvictBesideReaders: a search for a victim ends although readers use all entries all the time.
func TestEvictBesideReaders(t *testing.T) {
	began := time.Now()
	clock := began.Add
	var c *Cache
	looks, reads := 0, false
	c, err := New(Options{Bytes: 1 << 20, TTL: time.Hour, Clock: func() time.Time {
		if looks++; reads && looks%100 == 0 {
			for i := range c.e.n.Load() {
				b := c.e.at(i)
				head := lockAt(b)
				for j := 1; j < bucketWords; j++ {
					if b[j] != 0 {
						b[j] |= slotUses
					}
				}
				unlock(b, head)
			}
			if looks > 100000 {
				reads = false
				t.Error("a hundred thousand looks, and no victim")
			}
		}
		return clock(0)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, size := range []int{1000, 20000} {
		for i := range 1500 {
			if err := c.Set(binary.LittleEndian.AppendUint32(nil, uint32(i)), make([]byte, size)); err != nil {
				t.Fatal(err)
			}
		}
		c.e.mu.Lock()
		looks = 99
		for reads = true; reads && looks < 90000 && c.e.evict(); {
			reads = looks < 60000
		}
		reads = false
		c.e.unlockAndTell()
		c.e.verify(t)
	}
}
