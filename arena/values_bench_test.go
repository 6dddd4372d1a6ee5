// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"slices"
	"strconv"
	"testing"
)

// BenchmarkNewFrom makes values with contents: by New and an assignment, by NewFrom, and on the Go
// heap.
func BenchmarkNewFrom(b *testing.B) {
	rounds := func(b *testing.B, f func(a *Arena, v [4]int64)) {
		a := NewArena()
		defer a.Free()
		for i := 0; b.Loop(); i++ {
			f(a, [4]int64{int64(i)})
			if i%10_000 == 0 {
				a.Reset(Keep)
			}
		}
	}
	b.Run("New", func(b *testing.B) { rounds(b, func(a *Arena, v [4]int64) { *New[[4]int64](a) = v }) })
	b.Run("NewFrom", func(b *testing.B) { rounds(b, func(a *Arena, v [4]int64) { NewFrom(a, v) }) })
	b.Run("heap", func(b *testing.B) { rounds(b, func(_ *Arena, v [4]int64) { sink = &v }) })
}

// BenchmarkCollect collects a thousand numbers.
func BenchmarkCollect(b *testing.B) {
	list := make([]int, 1000)
	a := NewArena()
	defer a.Free()
	b.Run("arena", func(b *testing.B) {
		for b.Loop() {
			Collect(a, slices.Values(list))
			a.Reset(Keep)
		}
	})
	b.Run("slices", func(b *testing.B) {
		for b.Loop() {
			sink = slices.Collect(slices.Values(list))
		}
	})
}

// BenchmarkMapUpdate counts words that are in the Map.
func BenchmarkMapUpdate(b *testing.B) {
	a := NewArena()
	defer a.Free()
	m := NewMap[string, int](a, 0)
	var words []string
	for i := range 1000 {
		words = append(words, "word "+strconv.Itoa(i))
		m.Set(words[i], 0)
	}
	b.Run("Update", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			m.Update(words[i%1000], plusOne)
		}
	})
	b.Run("Get and Set", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			n, _ := m.Get(words[i%1000])
			m.Set(words[i%1000], n+1)
		}
	})
}
