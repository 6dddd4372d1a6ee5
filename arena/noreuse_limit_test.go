// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"reflect"
	"runtime"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/offheap"
)

// Tests of limits of arenas without reuse, whose chunks are as large as the last rounds were.

// TestNoReusePlansLeaveRoom: a round that differs from the last one is not refused because of
// chunks that are as large as the last round's, and that it does not fill.
func TestNoReusePlansLeaveRoom(t *testing.T) {
	chunked(t)
	const limit = 1 << 20
	var types []reflect.Type
	for i := range 12 {
		types = append(types, reflect.PointerTo(reflect.ArrayOf(i, reflect.TypeFor[int]())))
	}
	for _, o := range []Options{{}, {NoReuse: true}, {NoReuse: true, Shared: true}} {
		o.Limit = limit
		a := NewWith(o)
		for range 3 {
			for _, typ := range types {
				for range 50_000 / wordSize {
					NewOf(a, typ)
				}
			}
			a.Reset(NoReuse)
		}
		for _, typ := range types {
			NewOf(a, typ)
		}
		if _, err := TryMakeSlice[byte](a, limit*7/8-goHeader, limit*7/8-goHeader); err != nil {
			t.Errorf("%+v: beside 12 small values: %v, %+v", o, err, a.Stats())
		}
		a.Free()
	}
}

// TestNoReuseLimitUsed: what arenas that reuse their memory can hold at a limit, arenas without
// reuse can hold, too, after rounds of any size.
func TestNoReuseLimitUsed(t *testing.T) {
	chunked(t)
	const limit = 1 << 20
	for _, before := range []int{0, 100, 5000, 1 << 30} {
		a := NewWith(Options{NoReuse: true, Limit: limit})
		for range 2 {
			_ = many[point](a, before)
			a.Reset(Keep)
			_ = many[node](a, before)
			a.Reset(Keep)
		}
		New[node](a)
		err := many[point](a, limit)
		if s := a.Stats(); !errors.Is(err, offheap.ErrLimit) || s.InUse < limit*7/8 || s.Held > limit || s.Chunks > 80 {
			t.Errorf("after rounds of %d values, a limit of %d bytes holds %+v and gives %v", before, limit, s, err)
		}
		a.Free()
	}
}

// TestPutSharedNoReuse: Put of a shared arena in a Pool without reuse leaves to the collector what
// others make in the arena until its very end.
func TestPutSharedNoReuse(t *testing.T) {
	if freehold.HeapMode() || keptApart() {
		t.Skip("arenas have no chunks of their own, or a mode overwrites them")
	}
	for range 50 {
		p, a := &Pool{NoReuse: true}, NewShared()
		made := make(chan []*noReuseNode)
		ready := make(chan bool)
		go func() {
			var all []*noReuseNode
			defer func() {
				_ = recover() // The arena has ended.
				made <- all
			}()
			for i := 0; ; i++ {
				n := New[noReuseNode](a)
				n.id, n.name = i+1, "kept"
				all = append(all, n)
				switch {
				case i == 100:
					close(ready)
				case i%100 == 0:
					runtime.Gosched() // Go for js never preempts a goroutine.
				}
			}
		}()
		<-ready
		p.Put(a)
		for i, n := range <-made {
			if n.id != i+1 || n.name != "kept" {
				t.Fatalf("value %d became %+v", i, *n)
			}
		}
	}
}
