// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/freehold-go/freehold/offheap"
	"github.com/freehold-go/freehold/pool"
)

// Off the Go heap: no pointers, and links to others.
type order struct {
	id, price     uint64
	next          pool.Handle[order]
	level, amount uint32
}

// On it: pointers.
type linked struct {
	name string
	to   *linked
	h    pool.Handle[linked]
}

var account = offheap.NewPurpose("the suite's pools")

// slabModel drives a Slab by bytes, and compares it with a map after each operation.
type slabModel[T comparable] struct {
	t     testing.TB
	s     *pool.Slab[T]
	value func(n uint64) T
	alive map[pool.Handle[T]]uint64
	ptrs  map[pool.Handle[T]]*T
	dead  []pool.Handle[T]
	made  []pool.Handle[T] // In the order of their making.
	n     uint64
}

func newSlabModel[T comparable](t testing.TB, s *pool.Slab[T], value func(uint64) T) *slabModel[T] {
	return &slabModel[T]{t: t, s: s, value: value, alive: map[pool.Handle[T]]uint64{}, ptrs: map[pool.Handle[T]]*T{}}
}

func (m *slabModel[T]) run(ops []byte) {
	for len(ops) >= 2 {
		op, arg := ops[0], int(ops[1])
		ops = ops[2:]
		switch op % 8 {
		case 0, 1, 2:
			for range arg%40 + 1 {
				m.create()
			}
		case 3, 4:
			for range arg%40 + 1 {
				m.remove(arg)
			}
		case 5:
			m.removeInLoop(arg)
		case 6:
			if arg < 20 {
				m.s.Clear()
				for h := range m.alive {
					m.buried(h)
				}
			}
		case 7:
			m.dig(uint64(arg))
		}
		m.compare()
	}
}

func (m *slabModel[T]) create() {
	h, p := m.s.New()
	var none T
	if *p != none {
		m.t.Fatalf("New returns the value %v, not zero", *p)
	}
	if _, ok := m.alive[h]; ok || slices.Contains(m.dead, h) {
		m.t.Fatalf("New returns the handle %#x a second time", h.Uint64())
	}
	m.n++
	*p = m.value(m.n)
	m.alive[h], m.ptrs[h] = m.n, p
	m.made = append(m.made, h)
}

func (m *slabModel[T]) buried(h pool.Handle[T]) {
	delete(m.alive, h)
	delete(m.ptrs, h)
	m.made = slices.DeleteFunc(m.made, func(o pool.Handle[T]) bool { return o == h })
	if len(m.dead) < 2000 {
		m.dead = append(m.dead, h)
	}
}

func (m *slabModel[T]) remove(arg int) {
	if len(m.made) == 0 {
		return
	}
	h := m.made[arg*7%len(m.made)]
	if !m.s.Delete(h) {
		m.t.Fatalf("Delete of the living %#x says false", h.Uint64())
	}
	m.buried(h)
	if m.s.Delete(h) {
		m.t.Fatalf("a second Delete of %#x says true", h.Uint64())
	}
}

// removeInLoop deletes this value and others while All runs. A deleted value must not be shown later.
func (m *slabModel[T]) removeInLoop(arg int) {
	for h := range m.s.All() {
		if _, ok := m.alive[h]; !ok {
			m.t.Fatalf("All shows %#x, which is dead", h.Uint64())
		}
		if int(h.Index()+uint32(arg))%3 == 0 {
			m.s.Delete(h)
			m.buried(h)
		}
		if arg%5 == 0 {
			m.remove(arg)
		}
	}
}

// dig looks for handles that were made up.
func (m *slabModel[T]) dig(n uint64) {
	for _, h := range []pool.Handle[T]{{}, pool.HandleFromUint64[T](n), pool.HandleFromUint64[T](n << 32), pool.HandleFromUint64[T](n<<33 | n), pool.HandleFromUint64[T](math.MaxUint64 - n)} {
		if _, ok := m.alive[h]; !ok && m.s.Get(h) != nil {
			m.t.Fatalf("the handle %#x, which New did not return, leads to a value", h.Uint64())
		}
	}
}

func (m *slabModel[T]) compare() {
	if m.s.Len() != len(m.alive) {
		m.t.Fatalf("Len is %d, want %d", m.s.Len(), len(m.alive))
	}
	for h, n := range m.alive {
		p := m.s.Get(h)
		if p == nil || p != m.ptrs[h] || *p != m.value(n) {
			m.t.Fatalf("Get(%#x) = %v, want the value %d at %p", h.Uint64(), p, n, m.ptrs[h])
		}
	}
	for _, h := range m.dead {
		if m.s.Get(h) != nil {
			m.t.Fatalf("the stale handle %#x leads to a value", h.Uint64())
		}
	}
	shown, last := 0, -1
	for h, p := range m.s.All() {
		if p != m.ptrs[h] || int(h.Index()) <= last {
			m.t.Fatalf("All shows %#x at %p after slot %d, want %p", h.Uint64(), p, last, m.ptrs[h])
		}
		shown, last = shown+1, int(h.Index())
	}
	if shown != len(m.alive) {
		m.t.Fatalf("All shows %d values of %d", shown, len(m.alive))
	}
}

// reload writes the Slab and goes on with one that was read.
func (m *slabModel[T]) reload(into *pool.Slab[T]) {
	var file bytes.Buffer
	if n, err := m.s.WriteTo(&file); err != nil || n != int64(file.Len()) {
		m.t.Fatalf("WriteTo returns %d and %v for %d bytes", n, err, file.Len())
	}
	size := int64(file.Len())
	file.WriteString("behind")
	if n, err := into.ReadFrom(&file); err != nil || n != size || file.String() != "behind" {
		m.t.Fatalf("ReadFrom reads %d of %d bytes and returns %v; %q is left", n, size, err, file.String())
	}
	m.s.Free()
	m.s = into
	for h := range m.ptrs {
		m.ptrs[h] = into.Get(h)
	}
	m.compare()
}

func FuzzSlab(f *testing.F) {
	f.Add([]byte{0, 255, 3, 12, 5, 9, 0, 30, 7, 1, 6, 3, 1, 39, 5, 10, 2, 20})
	f.Add(bytes.Repeat([]byte{0, 39, 4, 7, 7, 200, 5, 2}, 12))
	f.Fuzz(func(t *testing.T, ops []byte) {
		ops = ops[:min(len(ops), 200)]
		offheap.CheckLeaks(t)
		newSlabModel(t, new(pool.Slab[linked]), func(n uint64) linked {
			return linked{name: string(rune('a' + n%26)), h: pool.HandleFromUint64[linked](n)}
		}).run(ops)
		newSlabModel(t, new(pool.Slab[bool]), func(n uint64) bool { return n&1 == 1 }).run(ops)
		newSlabModel(t, pool.NewSlab[[3000]byte](pool.SlabOptions{}), func(n uint64) (v [3000]byte) { v[n%3000] = byte(n); return v }).run(ops[:len(ops)/4])
		m := newSlabModel(t, pool.NewSlab[order](pool.SlabOptions{Purpose: account}), func(n uint64) order { return order{id: n, price: n * 3} })
		for _, into := range []*pool.Slab[order]{new(pool.Slab[order]), pool.NewSlab[order](pool.SlabOptions{Purpose: account})} {
			m.run(ops)
			m.reload(into)
		}
		m.run(ops)
		m.s.Free()
	})
}
