// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// check looks at what must hold of an engine that nobody uses.
func (e *engine) verify(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	live := map[*segment]int64{}
	count := int64(0)
	n := e.n.Load()
	var all []uint64
	for p := range uint64(len(e.pageSegs)) {
		for i := range uint64(1) << e.shift {
			if p < uint64(len(e.pageSegs)) && e.pageSegs[p] != nil {
				all = append(all, p<<e.shift|i)
			}
		}
	}
	for _, i := range all {
		b := e.at(i)
		out := uint64(0)
		for s := 1; s < bucketWords; s++ {
			for d := uint64(1); d < family; d++ {
				if e.at(i ^ d)[s]&slotDistance>>locBits == d {
					out++
				}
			}
			slot := b[s]
			if slot == 0 {
				continue
			}
			count++
			x := e.entry(slot)
			h := e.hash(slot & locMask)
			home := e.home(h, n) ^ slot&slotDistance>>locBits
			if home != i || slot>>tagShift != h>>tagShift {
				t.Fatalf("bucket %d of %d has an entry of bucket %d, tags %x %x", i, n, home, slot>>tagShift, h>>tagShift)
			}
			live[e.segment(slot&locMask)] += int64(shapeOf(x).size)
		}
		if b[0]&headLocked != 0 || displaced(b[0]) != out {
			t.Fatalf("bucket %d: locked %d, %d displaced, its head says %d", i, b[0]&1, out, displaced(b[0]))
		}
	}
	if count != e.count.Load() {
		t.Fatalf("%d entries, counted %d", count, e.count.Load())
	}
	d := *e.dir.Load()
	held := int64(len(e.blocks) * e.blockSize)
	for i := range d {
		if s := d[i].Load(); s != nil {
			if s.live.Load() != live[s] && s.role != rolePage {
				t.Fatalf("segment %d, role %d: %d bytes live, counted %d", i, s.role, live[s], s.live.Load())
			}
			if s.block == nil {
				held += int64(len(s.mem))
			}
			if s.pins.Load() != 0 {
				t.Fatalf("segment %d is pinned", i)
			}
		}
	}
	if held != e.held || held > e.budget {
		t.Fatalf("%d bytes held, counted %d, budget %d", held, e.held, e.budget)
	}
}

// A model is what a cache must have, if OnRemove tells of all that leaves.
type model struct {
	c    *Cache
	want map[string]string
	t    *testing.T
	key  string // Of the call that is under way, and its value before.
	old  string
	gone bool // It was evicted meanwhile.
}

func newModel(t *testing.T, bytes int64) *model {
	m := &model{want: map[string]string{}, t: t}
	c, err := New(Options{Bytes: bytes, OnRemove: m.removed})
	if err != nil {
		t.Fatal(err)
	}
	m.c = c
	return m
}

func (m *model) removed(k, v []byte, why Reason) {
	if why == Evicted {
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
func (m *model) step(op, k, n, x byte) {
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
		err := m.c.Update(key, func(old []byte, ok bool) ([]byte, Op) {
			if m.gone {
				has, want = false, ""
			}
			if ok != has || string(old) != want {
				m.t.Fatalf("Update of %q got %v and %d bytes, not %v and %d", key, ok, len(old), has, len(want))
			}
			if n%3 == 0 {
				delete(m.want, string(key))
				return nil, Remove
			}
			v := append(bytes.Clone(old), n)
			m.want[string(key)] = string(v)
			return v, Store
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

func (m *model) end() {
	m.c.e.verify(m.t)
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

func TestModel(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := newModel(t, 1<<20)
		for range 20000 {
			var b [4]byte
			binary.LittleEndian.PutUint32(b[:], r.Uint32())
			m.step(b[0], b[1], b[2], b[3])
		}
		m.end()
	}
}

func FuzzModel(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijkl"))
	f.Fuzz(func(t *testing.T, ops []byte) {
		m := newModel(t, 1<<20)
		for ; len(ops) >= 4; ops = ops[4:] {
			m.step(ops[0], ops[1], ops[2], ops[3])
		}
		m.end()
	})
}

// TestParallel lets goroutines use a cache that is too small for them, each value with the number of
// its key, and resizes it meanwhile.
func TestParallel(t *testing.T) {
	c, err := New(Options{Bytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	value := func(buf []byte, k uint32, n int) []byte {
		buf = binary.LittleEndian.AppendUint32(buf[:0], k)
		for len(buf) < n {
			buf = append(buf, byte(k))
		}
		return buf
	}
	good := func(v []byte, k uint32) {
		if len(v) < 4 || binary.LittleEndian.Uint32(v) != k {
			t.Errorf("key %d has a wrong value of %d bytes", k, len(v))
			return
		}
		for _, b := range v[4:] {
			if b != byte(k) {
				t.Errorf("key %d has a torn value of %d bytes", k, len(v))
				return
			}
		}
	}
	steps := 30000
	if testing.Short() {
		steps = 5000
	}
	var wg sync.WaitGroup
	for g := range uint64(6) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(g, 2))
			var key, buf, got []byte
			for i := range steps {
				k := uint32(r.ExpFloat64() * 4000)
				key = binary.LittleEndian.AppendUint32(key[:0], k)
				n := 4 + r.IntN(300)
				if i%500 == 0 {
					n = 20000 + r.IntN(100000)
				}
				switch r.IntN(8) {
				case 0, 1:
					buf = value(buf, k, n)
					_ = c.Set(key, buf)
				case 2:
					c.Delete(key)
				case 3:
					_ = c.Update(key, func(old []byte, ok bool) ([]byte, Op) {
						if ok {
							good(old, k)
						}
						buf = value(buf, k, n)
						return buf, Store
					})
				case 4:
					c.View(key, func(v []byte) { good(v, k) })
				case 5:
					c.GetMany([][]byte{key, key}, func(_ int, v []byte) { good(v, k) })
				default:
					var ok bool
					if got, ok = c.Get(got[:0], key); ok {
						good(got, k)
					}
				}
			}
		})
	}
	for i := range int64(20) {
		if err := c.Resize((2 + i%3) << 20); err != nil {
			t.Error(err)
		}
		for k, v := range c.All() {
			good(v, binary.LittleEndian.Uint32(k))
		}
	}
	wg.Wait()
	c.e.verify(t)
	c.Close()
	if n := c.Stats().BytesHeld; n != 0 {
		t.Errorf("%d bytes held after Close", n)
	}
}
