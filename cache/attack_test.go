// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
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
