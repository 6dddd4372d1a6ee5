// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"encoding/binary"
	"fmt"
	"testing"
)

// benchKey is the key of entry i, spread over all int64.
func benchKey(i int) int64 {
	x := uint64(i) * 0x9e3779b97f4a7c15
	return int64(x ^ x>>29)
}

func benchName(room *[24]byte, i int) []byte {
	x := uint64(i) * 0x9e3779b97f4a7c15
	for k := 0; k < len(room); k += 8 {
		binary.LittleEndian.PutUint64(room[k:], x)
	}
	return room[:8+i&15]
}

type benchValue struct{ count, bytes int64 }

var benchArenas = []struct {
	name string
	make func() *Arena
}{
	{"Map", NewArena},
	{"OffHeap", func() *Arena { return NewOffHeap(Options{}) }},
}

// each runs f for some sizes; f does something n times.
func eachSize(b *testing.B, name string, f func(n int) int) {
	for _, n := range []int{8, 1000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("%s/n=%d", name, n), func(b *testing.B) {
			b.ReportAllocs()
			sum := 0
			for b.Loop() {
				sum += f(n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entry")
		})
	}
}

// BenchmarkMapBuild: grow from empty, look each up, drop.
func BenchmarkMapBuild(b *testing.B) {
	eachSize(b, "Go", func(n int) (sum int) {
		m := map[int64]int64{}
		for i := range n {
			m[benchKey(i)] = int64(i)
		}
		for i, at := 0, 0; i < n; i++ {
			sum += int(m[benchKey(at)])
			if at += 7919; at >= n {
				at %= n
			}
		}
		return sum
	})
	for _, k := range benchArenas {
		a := k.make()
		eachSize(b, k.name, func(n int) (sum int) {
			m := NewMap[int64, int64](a, 0)
			for i := range n {
				m.Set(benchKey(i), int64(i))
			}
			for i, at := 0, 0; i < n; i++ {
				v, _ := m.Get(benchKey(at))
				sum += int(v)
				if at += 7919; at >= n {
					at %= n
				}
			}
			a.Reset(Keep)
			return sum
		})
		a.Free()
	}
}

func BenchmarkMapLookup(b *testing.B) {
	maps := map[int]map[int64]int64{}
	eachSize(b, "Go", func(n int) (sum int) {
		m := maps[n]
		if m == nil {
			m = map[int64]int64{}
			for i := range n {
				m[benchKey(i)] = int64(i)
			}
			maps[n] = m
		}
		for i, at := 0, 0; i < n; i++ {
			k := benchKey(at)
			if i&7 == 0 {
				k = benchKey(at + n)
			}
			if v, ok := m[k]; ok {
				sum += int(v)
			}
			if at += 7919; at >= n {
				at %= n
			}
		}
		return sum
	})
	for _, k := range benchArenas {
		a := k.make()
		maps := map[int]*Map[int64, int64]{}
		eachSize(b, k.name, func(n int) (sum int) {
			m := maps[n]
			if m == nil {
				m = NewMap[int64, int64](a, 0)
				for i := range n {
					m.Set(benchKey(i), int64(i))
				}
				maps[n] = m
			}
			for i, at := 0, 0; i < n; i++ {
				k := benchKey(at)
				if i&7 == 0 {
					k = benchKey(at + n)
				}
				if v, ok := m.Get(k); ok {
					sum += int(v)
				}
				if at += 7919; at >= n {
					at %= n
				}
			}
			return sum
		})
		a.Free()
	}
}

// BenchmarkMapStrings: as BenchmarkMapBuild, with keys from a buffer.
func BenchmarkMapStrings(b *testing.B) {
	var room [24]byte
	eachSize(b, "Go", func(n int) (sum int) {
		m := map[string]benchValue{}
		for i := range n {
			k := benchName(&room, i)
			m[string(k)] = benchValue{int64(i), int64(len(k))}
		}
		for i, at := 0, 0; i < n; i++ {
			sum += int(m[string(benchName(&room, at))].count)
			if at += 7919; at >= n {
				at %= n
			}
		}
		return sum
	})
	a := NewArena()
	eachSize(b, "Map", func(n int) (sum int) {
		m := NewMap[string, benchValue](a, 0)
		for i := range n {
			k := benchName(&room, i)
			m.Set(string(k), benchValue{int64(i), int64(len(k))})
		}
		for i, at := 0, 0; i < n; i++ {
			v, _ := m.Get(string(benchName(&room, at)))
			sum += int(v.count)
			if at += 7919; at >= n {
				at %= n
			}
		}
		a.Reset(Keep)
		return sum
	})
	a.Free()
}

// BenchmarkMapLookupStrings: look up each of n keys of 11 bytes.
func BenchmarkMapLookupStrings(b *testing.B) {
	keys := make([]string, 1_000_000)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%07d", i)
	}
	var inGo map[string]int64
	eachSize(b, "Go", func(n int) (sum int) {
		if len(inGo) != n {
			inGo = map[string]int64{}
			for i, k := range keys[:n] {
				inGo[k] = int64(i)
			}
		}
		for i, at := 0, 0; i < n; i++ {
			sum += int(inGo[keys[at]])
			if at += 7919; at >= n {
				at %= n
			}
		}
		return sum
	})
	a := NewArena()
	defer a.Free()
	var m *Map[string, int64]
	eachSize(b, "Map", func(n int) (sum int) {
		if m == nil || m.Len() != n {
			m = NewMap[string, int64](a, 0)
			for i, k := range keys[:n] {
				m.Set(k, int64(i))
			}
		}
		for i, at := 0, 0; i < n; i++ {
			v, _ := m.Get(keys[at])
			sum += int(v)
			if at += 7919; at >= n {
				at %= n
			}
		}
		return sum
	})
}
