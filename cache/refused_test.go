// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

var errRefused = errors.New("refused")

// TestMemoryRefused refuses memory once, or from there on, at each of the calls that ask for it. A Set
// may fail; its key has no value then. All others are true, and nothing is left after Close.
func TestMemoryRefused(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 3
	}
	for _, forever := range []bool{false, true} {
		for n, struck := 1, true; struck; n += step {
			calls := 0
			struck = false
			o := settings{Options: Options{Bytes: 2 << 20, Name: "refused"}, refuse: func() error {
				calls++
				if calls == n || forever && calls > n {
					struck = true
					return errRefused
				}
				return nil
			}}
			h, err := newHandle(o)
			if err != nil {
				if !errors.Is(err, errRefused) {
					t.Fatalf("call %d: New: %v", n, err)
				}
				continue
			}
			refused(t, &Cache{handle: h}, n, forever)
			if !struck && n < 10 {
				t.Fatalf("there are %d calls only", n-1)
			}
		}
	}
	for _, p := range offheap.ReadStats().Purposes {
		if p.Name == "cache refused" && p.InUse != 0 {
			t.Errorf("%d bytes are left", p.InUse)
		}
	}
}

func refused(t *testing.T, c *Cache, n int, forever bool) {
	defer c.Close()
	failed := 0
	var key []byte
	for i := range uint32(8000) {
		key = binary.LittleEndian.AppendUint32(key[:0], i)
		value := bytes.Repeat(key, 20)
		if i%500 == 0 {
			value = bytes.Repeat(key, 10000)
		}
		evicted := c.e.counts.removed[Evicted].Load()
		err := c.Set(key, value)
		got, ok := c.Get(nil, key)
		switch {
		case err == nil && !ok && c.e.counts.removed[Evicted].Load() > evicted: // The table had no room for it when it grew.
		case err != nil && (!errors.Is(err, errRefused) && !errors.Is(err, offheap.ErrLimit) || ok):
			t.Fatalf("call %d, key %d: %v; it has a value: %v", n, i, err, ok)
		case err != nil:
			failed++
		case !ok || !bytes.Equal(got, value):
			t.Fatalf("call %d, key %d: set, and it has %d bytes, %v", n, i, len(got), ok)
		}
		if old := i / 2; old%500 != 0 {
			binary.LittleEndian.PutUint32(key, old)
			if got, ok := c.Get(nil, key); ok && !bytes.Equal(got, bytes.Repeat(key, 20)) {
				t.Fatalf("call %d: key %d has a wrong value", n, old)
			}
		}
	}
	if failed > 1 && !forever {
		t.Fatalf("call %d was refused once, and %d Sets failed", n, failed)
	}
	if err := c.Resize(1 << 20); err != nil && !errors.Is(err, errRefused) {
		t.Fatalf("call %d: Resize: %v", n, err)
	}
	c.e.verify(t)
}
