// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/freehold-go/freehold/offheap"
	"github.com/freehold-go/freehold/pool"
)

// A lent is an object of a Pool that knows whether it has an owner.
type lent struct {
	owners atomic.Int32
	number uint64
	buf    []byte
}

// A plain is one without pointers.
type plain struct {
	owners atomic.Int32
	number uint64
}

// lender drives a Pool of lent objects by bytes.
type lender struct {
	t    testing.TB
	p    pool.Pool[lent]
	made int
	gets uint64
	out  []*lent
}

func newLender(t testing.TB) *lender {
	l := &lender{t: t}
	l.p.New = func() *lent { l.made++; return &lent{} }
	l.p.Size = func(x *lent) int { return cap(x.buf) }
	l.p.MaxSize = 500
	l.p.Reset = func(x *lent) { x.number = 0; x.buf = x.buf[:0] }
	return l
}

func (l *lender) run(ops []byte) {
	for len(ops) >= 2 {
		op, arg := ops[0], int(ops[1])
		ops = ops[2:]
		switch op % 8 {
		case 0, 1, 2:
			for range arg + 1 {
				l.get()
			}
		case 3, 4, 5:
			for range arg + 1 {
				l.put(arg)
			}
		case 6:
			if arg < 16 {
				runtime.GC()
			}
		case 7:
			if arg < 16 {
				l.balance()
			}
		}
	}
	l.balance()
}

func (l *lender) get() {
	x := l.p.Get()
	l.gets++
	if x.owners.Add(1) != 1 || x.number != 0 || len(x.buf) != 0 || cap(x.buf) > 500 {
		l.t.Fatalf("Get returns an object with %d owners, number %d and %d of %d bytes", x.owners.Load(), x.number, len(x.buf), cap(x.buf))
	}
	x.number = l.gets
	l.out = append(l.out, x)
}

func (l *lender) put(arg int) {
	if len(l.out) == 0 {
		return
	}
	i := arg * 7 % len(l.out)
	x := l.out[i]
	l.out = slices.Delete(l.out, i, i+1)
	if arg%9 == 0 {
		x.buf = make([]byte, 10*arg)
	}
	x.owners.Add(-1)
	l.p.Put(x)
}

// balance: each object that was made is out, was dropped, or is idle, and Drain drops those.
func (l *lender) balance() {
	l.p.Drain()
	s := l.p.Stats()
	dropped := s.TooLarge + s.TooMany + s.Unused + s.Drained
	if s.Idle != 0 || s.IdleBytes != 0 || s.Gets != l.gets || s.Hits != l.gets-uint64(l.made) || l.made != len(l.out)+int(dropped) {
		l.t.Fatalf("%d Gets, %d made, %d out, and %+v", l.gets, l.made, len(l.out), s)
	}
}

func FuzzPool(f *testing.F) {
	f.Add([]byte{0, 200, 3, 99, 6, 1, 3, 255, 0, 90, 7, 1, 1, 255, 5, 180, 6, 2, 6, 3, 2, 30})
	f.Add(bytes.Repeat([]byte{0, 70, 3, 63}, 20))
	f.Fuzz(func(t *testing.T, ops []byte) { newLender(t).run(ops[:min(len(ops), 200)]) })
}

// TestPoolOwners: no object has two owners, while Ps come and go and collections run.
func TestPoolOwners(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var made atomic.Int64
	p := pool.Pool[lent]{New: func() *lent { made.Add(1); return &lent{} }}
	q := pool.Pool[plain]{OffHeap: account}
	var wg sync.WaitGroup
	var done atomic.Bool
	for range 8 {
		wg.Go(func() {
			for i := 0; !done.Load(); i++ {
				for range 100 {
					useOf(t, &p, &q, i%90)
				}
				runtime.Gosched()
			}
		})
	}
	for i := range 30 {
		runtime.GOMAXPROCS(1 + i%5)
		runtime.GC()
	}
	done.Store(true)
	wg.Wait()
	q.Drain()
	p.Drain()
	s := p.Stats()
	if dropped := s.TooLarge + s.TooMany + s.Unused + s.Drained; int64(dropped) != made.Load() || s.Gets-s.Hits != dropped {
		t.Fatalf("%d objects were made and %d dropped: %+v", made.Load(), dropped, s)
	}
}

// useOf gets some objects and puts them back.
func useOf(t *testing.T, p *pool.Pool[lent], q *pool.Pool[plain], n int) {
	var xs [90]*lent
	for i := range xs[:n] {
		xs[i] = p.Get()
		if !xs[i].owners.CompareAndSwap(0, 1) {
			t.Error("an object has two owners")
		}
	}
	y := q.Get()
	if !y.owners.CompareAndSwap(0, 1) {
		t.Error("an object off the Go heap has two owners")
	}
	y.owners.Store(0)
	q.Put(y)
	for _, x := range xs[:n] {
		x.owners.Store(0)
		p.Put(x)
	}
}

// TestPoolOffHeap: objects off the Go heap are all freed by Drain.
func TestPoolOffHeap(t *testing.T) {
	offheap.CheckLeaks(t)
	p := pool.Pool[plain]{OffHeap: account, Reset: func(x *plain) { x.number = 0 }}
	var out []*plain
	for range 500 {
		x := p.Get()
		if x.number != 0 {
			t.Fatal("an object was not reset")
		}
		x.number = 1
		out = append(out, x)
	}
	for _, x := range out {
		p.Put(x)
	}
	runtime.GC()
	p.Drain()
}
