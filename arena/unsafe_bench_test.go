// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"reflect"
	"testing"
)

// BenchmarkUnsafe compares values of a type that is known at run time with those of New, one of
// several types in turn, so that no type is the recent one.
func BenchmarkUnsafe(b *testing.B) {
	u, v, w := UnsafeTypeOf(reflect.TypeFor[w5]()), UnsafeTypeOf(reflect.TypeFor[w7]()), UnsafeTypeOf(reflect.TypeFor[uint32]())
	maps := UnsafeTypeOf(reflect.TypeFor[map[string]int]())
	run := func(name string, values int, f func(a *Arena)) {
		b.Run(name, func(b *testing.B) {
			a := NewArena()
			n := 0
			for b.Loop() {
				f(a)
				if n++; n == 1000 {
					n = 0
					a.Reset(Keep)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(values), "ns/value")
		})
	}
	run("New", 2, func(a *Arena) { New[w5](a); New[w7](a) })
	run("UnsafeNew", 2, func(a *Arena) { _, _ = a.UnsafeNew(u); _, _ = a.UnsafeNew(v) })
	run("New of 4 bytes", 1, func(a *Arena) { New[uint32](a) })
	run("UnsafeNew of 4 bytes", 1, func(a *Arena) { _, _ = a.UnsafeNew(w) })
	run("NewOf", 2, func(a *Arena) { NewOf(a, u.desc.typ); NewOf(a, v.desc.typ) })
	run("UnsafeMakeSlice", 1, func(a *Arena) { _, _ = a.UnsafeMakeSlice(u, 3) })
	run("UnsafeGrow to 8 of 20 and trim", 1, func(a *Arena) {
		p, room, _ := a.UnsafeGrow(u, nil, 0, 0, 4)
		p, room, _ = a.UnsafeGrow(u, p, 4, room, 5)
		p, room, _ = a.UnsafeGrow(u, p, 8, room, 20)
		a.UnsafeTrim(u, p, 8, room)
	})
	keys := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	fill := func(m map[string]int) {
		for i, k := range keys {
			m[k] = i
		}
	}
	run("GoMap of 8", 1, func(a *Arena) { fill(newGoMap[string, int](a, 8)) })
	run("make of 8", 1, func(a *Arena) { fill(make(map[string]int, 8)) })
	run("UnsafeGoMap", 1, func(a *Arena) { _, _ = a.UnsafeGoMap(maps, 8) })
	b.Run("UnsafeSlabs, 100 values of two types", func(b *testing.B) {
		b.ReportAllocs()
		var s UnsafeSlabs
		for b.Loop() {
			for range 50 {
				s.New(u)
				s.New(v)
			}
			s.End()
		}
	})
	b.Run("new, 100 values of two types", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for range 50 {
				kept5, kept7 = new(w5), new(w7)
			}
		}
	})
}

var (
	kept5 *w5
	kept7 *w7
)
