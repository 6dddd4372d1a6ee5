// SPDX-License-Identifier: Apache-2.0

package grpcmem

import (
	"errors"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/mem"

	"github.com/freehold-go/freehold/offheap"
)

// newPool makes a pool with an account of its own, which the test must leave empty.
func newPool(t testing.TB, o Options) *Pool {
	t.Helper()
	o.Purpose = offheap.NewPurpose(t.Name())
	p := NewPool(o)
	t.Cleanup(func() {
		if n := inUse(t, p); n != 0 {
			t.Errorf("%d bytes are in use at the end of the test", n)
		}
	})
	return p
}

// inUse is the bytes in use on the pool's account.
func inUse(t testing.TB, p *Pool) int64 {
	t.Helper()
	list := offheap.ReadStats().Purposes
	i := slices.IndexFunc(list, func(s offheap.PurposeStats) bool { return s.Name == p.purpose.Name() })
	if i < 0 {
		t.Fatalf("no purpose %q", p.purpose.Name())
	}
	return list[i].InUse
}

func TestSizes(t *testing.T) {
	p := newPool(t, Options{})
	var live []*[]byte
	for _, n := range []int{0, 1, 1024, 1025, 4096, 16_384, 40_000, 70_000, 1 << 20, 5 << 20} {
		before := inUse(t, p)
		b := p.Get(n)
		if len(*b) != n || cap(*b) != n {
			t.Fatalf("Get(%d): length %d, capacity %d", n, len(*b), cap(*b))
		}
		if slices.ContainsFunc(*b, func(c byte) bool { return c != 0 }) {
			t.Errorf("Get(%d) is not zero", n)
		}
		for i := range *b {
			(*b)[i] = 0xFF
		}
		took := inUse(t, p) - before
		if pooled := !mem.IsBelowBufferPoolingThreshold(n); pooled != (took >= int64(n) && took > 0) {
			t.Errorf("Get(%d) took %d bytes off the heap", n, took)
		}
		if took > int64(n)+int64(n)/8+8<<10 {
			t.Errorf("Get(%d) took %d bytes", n, took)
		}
		live = append(live, b)
	}
	for _, b := range live {
		p.Put(b)
	}
}

// TestPrefix: what comes back may be cut at its end, and its memory comes back whole.
func TestPrefix(t *testing.T) {
	p := newPool(t, Options{})
	for _, cut := range []func(b []byte) []byte{
		func(b []byte) []byte { return b[:10] },
		func(b []byte) []byte { return b[:0] },
		func(b []byte) []byte { return b[:2000:2000] },
		func(b []byte) []byte { return b[:10:10] },
	} {
		b := p.Get(5000)
		*b = cut(*b)
		p.Put(b)
		if n := inUse(t, p); n != 0 {
			t.Errorf("%d bytes in use", n)
		}
	}
}

// mustMisuse calls f, which must panic with a MisuseError of the kind.
func mustMisuse(t *testing.T, kind string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		err, _ := recover().(error)
		var m *offheap.MisuseError
		if !errors.As(err, &m) || m.Kind != kind || m.Op != "grpcmem.Pool.Put" {
			t.Errorf("panicked with %v, want a MisuseError: %s", err, kind)
		}
	}()
	f()
}

func TestMisuse(t *testing.T) {
	p, other := newPool(t, Options{}), NewPool(Options{})
	b := p.Get(5000)
	again := *b
	p.Put(b)
	mustMisuse(t, "double free", func() { p.Put(b) })
	mustMisuse(t, "foreign pointer", func() { p.Put(&again) })
	c := p.Get(5000) // Has the block of b now, and must not lose it.
	mustMisuse(t, "double free", func() { p.Put(b) })
	mustMisuse(t, "foreign pointer", func() { other.Put(c) })
	inner := (*c)[1:]
	mustMisuse(t, "foreign pointer", func() { p.Put(&inner) })
	heap := make([]byte, 5000)
	mustMisuse(t, "foreign pointer", func() { p.Put(&heap) })
	if len(*b) != 0 {
		t.Errorf("%d bytes can be read through a pointer that was put back", len(*b))
	}
	small, empty := make([]byte, 100), []byte(nil)
	p.Put(&small) // gRPC does so, too, with what its own pool is too coarse for.
	p.Put(&empty)
	p.Put(c)
	defer func() {
		if recover() == nil {
			t.Error("Get(-1) did not panic")
		}
	}()
	p.Get(-1)
}

// TestLimit: beyond it messages still go through, on the Go heap.
func TestLimit(t *testing.T) {
	p := newPool(t, Options{})
	p.purpose.SetLimit(4 << 20)
	var live []*[]byte
	for range 100 {
		live = append(live, p.Get(1<<20))
	}
	if n := inUse(t, p); n > 4<<20 {
		t.Errorf("%d bytes in use of 4 MiB", n)
	}
	if s := p.Stats(); s.Refused < 96 {
		t.Errorf("%d of 100 buffers were refused", s.Refused)
	}
	for _, b := range live {
		p.Put(b)
	}
	mustMisuse(t, "double free", func() { p.Put(live[99]) })
}

// TestUninit: buffers are not cleared for those who ask for it, and are for all others.
func TestUninit(t *testing.T) {
	stale := func(get func() []byte, put func(b []byte)) (found bool) {
		for range 100 {
			b := get()
			found = found || slices.Contains(b, 0xAB)
			for i := range b {
				b[i] = 0xAB
			}
			put(b)
		}
		return found
	}
	pool := func(p *Pool) bool {
		return stale(func() []byte { return *p.Get(5000) }, func(b []byte) { p.Put(&b) })
	}
	if pool(newPool(t, Options{})) {
		t.Error("a buffer shows what an earlier one held")
	}
	// With the kill switch, a debug mode or the race detector there is nothing to be seen in any
	// case.
	if stale(func() []byte { return offheap.AllocUninit(5000) }, offheap.Free) && !pool(newPool(t, Options{Uninit: true})) {
		t.Error("buffers are cleared all the same")
	}
}

// collect runs the collector until done, for a minute at most. What cleanups do comes some time
// after a collection, and the first one may have begun before what it is to find was dropped.
func collect(t testing.TB, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		runtime.GC()
		if done() {
			return
		}
		if time.Now().After(end) {
			t.Error("the collector did not find what was dropped")
			return
		}
	}
}

// TestDropped: the collector returns buffers that were dropped without Put, and keeps buffers in
// use.
func TestDropped(t *testing.T) {
	p := newPool(t, Options{})
	kept := p.Get(5000)
	for i := range 1000 {
		b := p.Get(2000 + i)
		if i%2 == 0 {
			p.Put(b)
		}
	}
	collect(t, func() bool { return p.Stats().Dropped == 500 })
	if n := inUse(t, p); n < 5000 || n > 8<<10 {
		t.Errorf("%d bytes in use by one buffer of 5000", n)
	}
	(*kept)[4999] = 1
	p.Put(kept)
}

// TestDroppedBuffer: a mem.Buffer keeps its memory while any part of it is held, freed or not.
func TestDroppedBuffer(t *testing.T) {
	p := newPool(t, Options{})
	left, right := mem.SplitUnsafe(mem.Copy(make([]byte, 10_000), p), 5000)
	_, view := mem.SplitUnsafe(right, 10)
	runtime.KeepAlive(left)
	right = nil
	for range 5 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if s := p.Stats(); s.Dropped != 0 || inUse(t, p) == 0 {
		t.Errorf("a buffer was freed of which a slice of %d bytes is held: %+v", view.Len(), s)
	}
	runtime.KeepAlive(view)
	view = nil
	collect(t, func() bool { return p.Stats().Dropped == 1 })
}

func TestManyGoroutines(t *testing.T) {
	p := newPool(t, Options{})
	hands := make(chan *[]byte, 100)
	var gets, puts sync.WaitGroup
	for g := range 4 {
		gets.Go(func() {
			for i := range 2000 {
				b := p.Get(1025 + i*7%50_000)
				(*b)[0], (*b)[len(*b)-1] = byte(g), byte(g)
				hands <- b
			}
		})
		puts.Go(func() {
			for b := range hands {
				if (*b)[0] != (*b)[len(*b)-1] {
					t.Error("two goroutines have the same buffer")
				}
				p.Put(b)
			}
		})
	}
	gets.Wait()
	close(hands)
	puts.Wait()
}

// TestCopiedPool: a Pool that NewPool did not make, and a copy, are refused at every call, and
// nothing that is written over a Pool loses the buffers that are out.
func TestCopiedPool(t *testing.T) {
	p, other := newPool(t, Options{}), NewPool(Options{})
	b := p.Get(5000)
	write := func(to, from *Pool) { reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem()) }
	copied, saved := new(Pool), new(Pool)
	write(copied, p)
	write(saved, p)
	refused := func(what, kind string, p *Pool) {
		t.Helper()
		for op, f := range map[string]func(){"Get": func() { p.Get(5000) }, "Put": func() { p.Put(b) }, "Stats": func() { p.Stats() }} {
			func() {
				defer func() {
					if m, _ := recover().(*offheap.MisuseError); m == nil || m.Op != "grpcmem.Pool."+op || m.Kind != kind {
						t.Errorf("%s of %s: %v", op, what, m)
					}
				}()
				f()
			}()
		}
	}
	refused("a zero Pool", "use of a Pool that NewPool did not make", new(Pool))
	refused("a copy", "use of a copied Pool", copied)
	write(p, other)
	refused("a Pool over which another was written", "use of a copied Pool", p)
	write(p, saved)
	(*b)[4999] = 1
	p.Put(b)
}
