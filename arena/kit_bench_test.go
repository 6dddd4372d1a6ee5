// SPDX-License-Identifier: Apache-2.0

package arena

import "testing"

// Twelve types with pointers, as a small message has them.
type (
	w1  struct{ p *int }
	w2  [2]*int
	w3  [3]*int
	w4  [4]*int
	w5  [5]*int
	w6  [6]*int
	w7  [7]*int
	w8  [8]*int
	w9  [9]*int
	w10 [10]*int
	w11 [11]*int
	w12 [12]*int
)

// twelve makes a value of each.
func twelve(a *Arena) {
	New[w1](a)
	New[w2](a)
	New[w3](a)
	New[w4](a)
	New[w5](a)
	New[w6](a)
	New[w7](a)
	New[w8](a)
	New[w9](a)
	New[w10](a)
	New[w11](a)
	New[w12](a)
}

// BenchmarkRequest is a request that makes one value of each of twelve types with pointers: in one
// arena that is reset, in a Pool's, and in one made for it.
func BenchmarkRequest(b *testing.B) {
	b.Run("reset", func(b *testing.B) {
		b.ReportAllocs()
		a := NewArena()
		for b.Loop() {
			twelve(a)
			a.Reset(Keep)
		}
	})
	b.Run("pool", func(b *testing.B) {
		b.ReportAllocs()
		var p Pool
		for b.Loop() {
			a := p.Get()
			twelve(a)
			p.Put(a)
		}
	})
	b.Run("pool empty", func(b *testing.B) {
		b.ReportAllocs()
		var p Pool
		for b.Loop() {
			p.Put(p.Get())
		}
	})
	b.Run("made", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			a := NewArena()
			twelve(a)
			a.Free()
		}
	})
}
