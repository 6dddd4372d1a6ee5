// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"runtime"
	"sync"
	"testing"
)

// BenchmarkShared makes points from as many goroutines as there are Ps. Each keeps a pointer to its
// points until all die together. The bound is a slab for each goroutine.
func BenchmarkShared(b *testing.B) {
	const n = 100_000
	for _, w := range []struct {
		name string
		make func() (fill func(list []*point), end func())
	}{
		{"Heap", func() (func([]*point), func()) {
			return func(list []*point) {
				for i := range list {
					p := new(point)
					p.x, p.y = int64(i), 1
					list[i] = p
				}
			}, func() {}
		}},
		{"Slab", func() (func([]*point), func()) {
			var slabs sync.Map
			return func(list []*point) {
				s, ok := slabs.Load(&list[0])
				if !ok {
					s, _ = slabs.LoadOrStore(&list[0], make([]point, len(list)))
				}
				slab := s.([]point)[:len(list)]
				clear(slab)
				for i := range list {
					p := &slab[i]
					p.x, p.y = int64(i), 1
					list[i] = p
				}
			}, func() {}
		}},
		{"New", func() (func([]*point), func()) {
			a := NewShared()
			return func(list []*point) {
				for i := range list {
					p := New[point](a)
					p.x, p.y = int64(i), 1
					list[i] = p
				}
			}, func() { a.Reset(Keep) }
		}},
		{"NewFrom", func() (func([]*point), func()) {
			a := NewShared()
			return func(list []*point) {
				for i := range list {
					list[i] = NewFrom(a, point{int64(i), 1})
				}
			}, func() { a.Reset(Keep) }
		}},
	} {
		b.Run(w.name, func(b *testing.B) {
			fill, end := w.make()
			lists := make([][]*point, runtime.GOMAXPROCS(0))
			for i := range lists {
				lists[i] = make([]*point, n)
			}
			for b.Loop() {
				var wg sync.WaitGroup
				for _, list := range lists {
					wg.Go(func() { fill(list) })
				}
				wg.Wait()
				for _, list := range lists {
					clear(list)
				}
				end()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/object")
		})
	}
}
