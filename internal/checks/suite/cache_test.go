// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/freehold-go/freehold/cache"
)

// A cacheModel is what a cache must have, if OnRemove tells of all that leaves.
type cacheModel struct {
	c    *cache.Cache
	want map[string]string
	t    *testing.T
	key  string // Of the call that is under way, and its value before.
	old  string
	gone bool // It was evicted meanwhile.
}

func newCacheModel(t *testing.T, bytes int64) *cacheModel {
	m := &cacheModel{want: map[string]string{}, t: t}
	c, err := cache.New(cache.Options{Bytes: bytes, OnRemove: m.removed})
	if err != nil {
		t.Fatal(err)
	}
	m.c = c
	return m
}

func (m *cacheModel) removed(k, v []byte, why cache.Reason) {
	if why == cache.Evicted {
		if string(k) == m.key && string(v) == m.old {
			m.old, m.gone = "", true
			return // The call that is under way will store the new one.
		}
		if m.want[string(k)] != string(v) {
			m.t.Fatalf("%q was evicted with a value of %d bytes, the model's has %d", k, len(v), len(m.want[string(k)]))
		}
		delete(m.want, string(k))
	}
}

// step does one operation, which four numbers choose.
func (m *cacheModel) step(op, k, n, x byte) {
	key := []byte(fmt.Sprintf("%d", k))
	for range int(k) % 4 {
		key = append(key, key...)
	}
	size := int(n)
	switch x % 16 {
	case 0:
		size *= 40
	case 1:
		size *= 400 // Some are too large.
	case 2:
		size *= 1000
	}
	key = append(key, x%8)
	want, has := m.want[string(key)]
	m.key, m.old, m.gone = string(key), want, false
	defer func() { m.key = "" }()
	switch op % 8 {
	case 0, 1, 2:
		v := bytes.Repeat([]byte{n ^ k}, size)
		m.want[string(key)] = string(v) // An eviction of this call may be of this key.
		if err := m.c.Set(key, v); err != nil {
			delete(m.want, string(key))
		}
	case 3:
		if got := m.c.Delete(key); got != has {
			m.t.Fatalf("Delete(%q) is %v", key, got)
		}
		delete(m.want, string(key))
	case 4:
		err := m.c.Update(key, func(old []byte, ok bool) ([]byte, cache.Op) {
			if m.gone {
				has, want = false, ""
			}
			if ok != has || string(old) != want {
				m.t.Fatalf("Update of %q got %v and %d bytes, not %v and %d", key, ok, len(old), has, len(want))
			}
			if n%3 == 0 {
				delete(m.want, string(key))
				return nil, cache.Remove
			}
			v := append(bytes.Clone(old), n)
			m.want[string(key)] = string(v)
			return v, cache.Store
		})
		if err != nil {
			delete(m.want, string(key))
		}
	case 5:
		ok := m.c.View(key, func(v []byte) {
			if string(v) != want {
				m.t.Fatalf("View of %q: wrong value", key)
			}
		})
		if ok != has {
			m.t.Fatalf("View(%q) is %v", key, ok)
		}
	case 6:
		m.c.GetMany([][]byte{key, []byte("none"), key}, func(i int, v []byte) {
			if i == 1 || string(v) != want {
				m.t.Fatalf("GetMany: wrong value for key %d", i)
			}
		})
	default:
		got, ok := m.c.Get([]byte("x"), key)
		if ok != has || string(got) != "x"+want {
			m.t.Fatalf("Get(%q) is %v with %d bytes, not %v with %d", key, ok, len(got)-1, has, len(want))
		}
	}
}

func (m *cacheModel) end() {
	n := 0
	for k, v := range m.c.All() {
		if m.want[string(k)] != string(v) {
			m.t.Fatalf("All yields %q with a wrong value", k)
		}
		n++
	}
	if n != len(m.want) || n != m.c.Len() {
		m.t.Fatalf("All yields %d entries, Len is %d, the model has %d", n, m.c.Len(), len(m.want))
	}
	m.c.Close()
}

func TestCache(t *testing.T) {
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := newCacheModel(t, 1<<20)
		for range 5000 {
			var b [4]byte
			binary.LittleEndian.PutUint32(b[:], r.Uint32())
			m.step(b[0], b[1], b[2], b[3])
		}
		m.end()
	}
}

func FuzzCache(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijkl"))
	f.Fuzz(func(t *testing.T, ops []byte) {
		m := newCacheModel(t, 1<<20)
		for ; len(ops) >= 4; ops = ops[4:] {
			m.step(ops[0], ops[1], ops[2], ops[3])
		}
		m.end()
	})
}

// A typedModel compares a Map, and Objects that have room for all, with a Go map.
type typedModel struct {
	m    *cache.Map[string, uint64]
	o    *cache.Objects[string, string]
	want map[string]uint64
	t    *testing.T
}

func newTypedModel(t *testing.T) *typedModel {
	m, err := cache.NewMap[string, uint64](cache.MapOptions{Limit: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	o, err := cache.NewObjects(cache.OptionsOf[string, *string]{Options: cache.Options{Bytes: 1 << 20, TTL: time.Hour}, Weight: func(*string) int { return 8 }})
	if err != nil {
		t.Fatal(err)
	}
	return &typedModel{m, o, map[string]uint64{}, t}
}

// step does one operation, which four numbers choose, on both.
func (m *typedModel) step(op, k, n, x byte) {
	key := fmt.Sprint(x%4, " ", k)
	if x%64 == 0 {
		key = string(bytes.Repeat([]byte(key), 20000/len(key)))
	}
	want, has := m.want[key]
	text := fmt.Sprint(uint64(n) << (x % 56))
	number := uint64(n) << (x % 56)
	switch op % 5 {
	case 0, 1:
		if err := errors.Join(m.m.Set(key, number), m.o.Set(key, &text)); err != nil {
			m.t.Fatal(err)
		}
		m.want[key] = number
	case 2:
		if got := m.m.Delete(key); got != has {
			m.t.Fatalf("Map.Delete(%.20q) is %v", key, got)
		}
		m.o.Delete(key)
		delete(m.want, key)
	case 3:
		operation := [...]cache.Op{cache.Keep, cache.Store, cache.Remove}[n%3]
		err := m.m.Update(key, func(old uint64, ok bool) (uint64, cache.Op) {
			if old != want || ok != has {
				m.t.Fatalf("Map.Update(%.20q) got %d, %v, not %d, %v", key, old, ok, want, has)
			}
			return number, operation
		})
		err = errors.Join(err, m.o.Update(key, func(*string, bool) (*string, cache.Op) { return &text, operation }))
		if err != nil {
			m.t.Fatal(err)
		}
		switch operation {
		case cache.Store:
			m.want[key] = number
		case cache.Remove:
			delete(m.want, key)
		}
	default:
		if got, ok := m.m.Get(key); got != want || ok != has {
			m.t.Fatalf("Map.Get(%.20q) is %d, %v, not %d, %v", key, got, ok, want, has)
		}
		// A full bucket evicts, so an object may be missing.
		if got, ok := m.o.Get(key); ok && (!has || *got != fmt.Sprint(want)) {
			m.t.Fatalf("Objects.Get(%.20q) is %q, not %d, %v", key, *got, want, has)
		}
	}
}

func (m *typedModel) end() {
	n := 0
	for k, v := range m.m.All() {
		if want, ok := m.want[k]; !ok || v != want {
			m.t.Fatalf("Map.All yields %.20q with %d, not %d", k, v, want)
		}
		n++
	}
	if n != len(m.want) || n != m.m.Len() {
		m.t.Fatalf("Map.All yields %d entries, Len is %d, the model has %d", n, m.m.Len(), len(m.want))
	}
	for k, v := range m.o.All() {
		if want, ok := m.want[k]; !ok || *v != fmt.Sprint(want) {
			m.t.Fatalf("Objects.All yields %.20q with %q, not %d", k, *v, want)
		}
	}
	m.m.Close()
	m.o.Close()
}

func TestCacheTypes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	m := newTypedModel(t)
	for range 8000 {
		var b [4]byte
		binary.LittleEndian.PutUint32(b[:], r.Uint32())
		m.step(b[0], b[1], b[2], b[3])
	}
	m.end()
}

func FuzzCacheTypes(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijkl"))
	f.Fuzz(func(t *testing.T, ops []byte) {
		m := newTypedModel(t)
		for ; len(ops) >= 4; ops = ops[4:] {
			m.step(ops[0], ops[1], ops[2], ops[3])
		}
		m.end()
	})
}
