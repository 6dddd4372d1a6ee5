// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freehold-go/freehold/alloctest"
	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// TestEverything lets all that the package does happen at once: workers allocate in every way what
// they can, check it, change it, free it or send it to each other, while the limit comes and goes,
// memory is purged, statistics are read and the collector runs. FREEHOLD_TEST_STRESS says for how
// long, such as 30s.
func TestEverything(t *testing.T) { everything(t) }

// everything is TestEverything with more bystanders. They are gone when it looks at the figures,
// which are exact only then.
func everything(t *testing.T, more ...func(*rand.Rand)) {
	quiet(t)
	setPurgeDelay(2 * time.Millisecond) // The background purge runs as well; quiet puts the delay back.
	alloctest.StressGC(t)
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)
	limit := SetLimit(0)
	defer SetLimit(limit)

	f := newFair(t)
	var workers, others sync.WaitGroup
	for i := range 6 {
		workers.Go(func() { f.work(uint64(i)) })
	}
	for _, bystander := range append(more, f.purge, f.poll, f.squeeze, f.reschedule) {
		others.Go(func() {
			rng := rand.New(rand.NewPCG(11, 12))
			for !f.over.Load() {
				bystander(rng)
				time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond)
			}
		})
	}
	time.Sleep(testenv.StressTime(t, 2*time.Second))
	for i := 0; f.made.Load() == 0 && i < 6000; i++ { // The machine may have let none of them run so far.
		time.Sleep(10 * time.Millisecond)
	}
	f.over.Store(true)
	others.Wait()
	workers.Wait()
	f.close()
}

// A fair is where the workers of TestEverything meet.
type fair struct {
	t        *testing.T
	over     atomic.Bool
	mail     chan parcel // Parcels on their way from one worker to another.
	locals   chan *Local // Locals that change hands.
	purposes []*Purpose
	makers   []maker
	hub      *link // What self-contained values point to.
	made     atomic.Int64
	refused  atomic.Int64
}

func newFair(t *testing.T) *fair {
	f := &fair{t: t, mail: make(chan parcel, 500), locals: make(chan *Local, 10), hub: New[link]()}
	for _, name := range []string{"everything, first", "everything, second"} {
		f.purposes = append(f.purposes, NewPurpose(name))
	}
	for range 2 {
		f.locals <- NewLocal()
	}
	f.makers = []maker{newBytes, newBytes, newBytes}
	f.makers = append(f.makers, makersOf(200, func(i int) point { return point{int64(i), ^int64(i)} })...)
	f.makers = append(f.makers, makersOf(5000, func(i int) byte { return byte(i) })...)
	f.makers = append(f.makers, makersOf(500, func(i int) flags { return flags{i%2 == 0, uint8(i), i%3 == 0, int64(i)} })...)
	f.makers = append(f.makers, makersOf(500, func(i int) flags2 { return flags2{A: i%5 == 0, N: int64(i)} })...)
	f.makers = append(f.makers, makersOf(9000, func(i int) bool { return i%7 == 0 })...)
	f.makers = append(f.makers, makersOf(500, func(i int) link { return link{Next: f.hub, N: int64(i)} })...)
	f.makers = append(f.makers, makersOf(40, func(i int) (v wideLink) {
		v.Next, v.Pad[i%300] = f.hub, int64(i)
		return v
	})...)
	f.makers = append(f.makers, makersOf(2, func(i int) (v manyFlags) {
		v[i%len(v)] = true
		return v
	})[0])
	return f
}

// close frees the parcels not received, and wants nothing to be left.
func (f *fair) close() {
	w := &worker{fair: f, rng: rand.New(rand.NewPCG(1, 1)), local: <-f.locals}
	close(f.mail)
	for p := range f.mail {
		w.discard(p)
	}
	w.local.Close()
	close(f.locals)
	for l := range f.locals {
		l.Close()
	}
	Delete(f.hub)
	f.t.Logf("%d parcels, %d requests refused", f.made.Load(), f.refused.Load())
	if f.made.Load() == 0 {
		f.t.Error("nothing was allocated")
	}
	for _, p := range f.purposes {
		if a := account(f.t, p.Name()); a.InUse != 0 {
			f.t.Errorf("purpose %q: %d bytes are in use at the end", p.Name(), a.InUse)
		}
		p.SetLimit(0)
	}
	if std.serving() == nil {
		balanced(f.t, "at the end")
		Purge()
		balanced(f.t, "purged at the end")
	}
}

func (f *fair) purge(*rand.Rand) { Purge() }

func (f *fair) poll(*rand.Rand) {
	if s := ReadStats(); min(s.Retained, s.Purged, s.Reserved, s.Metadata, s.Held) < 0 {
		f.t.Errorf("a negative figure: %+v", s)
	}
	for _, r := range Regions() {
		if r.Used > r.Reserved {
			f.t.Errorf("more used than reserved: %v", r)
		}
	}
}

// squeeze sets limits that some requests will exceed, and takes them off again.
func (f *fair) squeeze(rng *rand.Rand) {
	n := int64(0)
	if rng.IntN(3) == 0 {
		n = max(1, ReadStats().InUse*int64(2+rng.IntN(3))/4)
	}
	if i := rng.IntN(len(f.purposes) + 1); i < len(f.purposes) {
		f.purposes[i].SetLimit(n / 8)
	} else {
		SetLimit(n)
	}
}

// reschedule changes the number of Ps, so that some of them go idle with what they have checked
// out.
func (f *fair) reschedule(rng *rand.Rand) {
	if rng.IntN(8) == 0 {
		runtime.GOMAXPROCS(1 + rng.IntN(8))
	}
}

// A worker is one goroutine at the fair.
type worker struct {
	*fair
	rng   *rand.Rand
	local *Local
	live  []parcel
	bytes int
}

// work goes on until the fair is over, and leaves nothing but what it sent.
func (f *fair) work(seed uint64) {
	w := &worker{fair: f, rng: rand.New(rand.NewPCG(seed, 13)), local: NewLocal()}
	for step := 0; !f.over.Load(); step++ {
		w.step()
		if step%16 == 0 {
			runtime.Gosched() // Where there is one thread the others must run, too.
		}
	}
	for _, p := range w.live {
		w.discard(p)
	}
	w.local.Close()
}

// What a worker holds at most.
const (
	maxParcels = 400
	maxBytes   = 6 << 20
)

func (w *worker) step() {
	switch k := w.rng.IntN(1000); {
	case k < 5:
		w.local.Close()
		w.local = NewLocal()
	case k < 10:
		w.locals <- w.local
		w.local = <-w.locals
	case k < 30:
		w.burst(1 + w.rng.IntN(1<<w.rng.IntN(12)))
	case k < 450:
		if len(w.live) < maxParcels && w.bytes < maxBytes {
			if p := w.makers[w.rng.IntN(len(w.makers))](w); p != nil {
				w.made.Add(1)
				w.take(p)
			}
		}
	case k < 650:
		if p := w.pick(); p != nil {
			w.want(p.intact(), p, "was changed by somebody else")
			w.try(func() { p.change(w) })
			w.take(p)
		}
	case k < 800:
		if p := w.pick(); p != nil && !w.send(p) {
			w.take(p)
		}
	case k < 850:
		select {
		case p := <-w.mail:
			w.take(p)
		default:
		}
	default:
		if p := w.pick(); p != nil {
			w.discard(p)
		}
	}
}

func (w *worker) take(p parcel) {
	w.live = append(w.live, p)
	w.bytes += p.size()
}

// pick takes a parcel out of what the worker holds, if there is one.
func (w *worker) pick() parcel {
	if len(w.live) == 0 {
		return nil
	}
	i := w.rng.IntN(len(w.live))
	p := w.live[i]
	w.live = slices.Delete(w.live, i, i+1)
	w.bytes -= p.size()
	return p
}

// send puts a parcel into the mail, if that is not full.
func (w *worker) send(p parcel) bool {
	select {
	case w.mail <- p:
		return true
	default:
		return false
	}
}

func (w *worker) discard(p parcel) {
	w.want(p.intact(), p, "was changed by somebody else")
	p.free(w)
}

func (w *worker) want(ok bool, p parcel, what string) {
	if !ok {
		w.t.Errorf("%T of %d bytes %s", p, p.size(), what)
		w.over.Store(true)
	}
}

func (w *worker) purpose() *Purpose { return w.purposes[w.rng.IntN(len(w.purposes))] }

// burst allocates and frees blocks of one size as fast as it goes, because some mistakes would last
// for a few instructions only.
func (w *worker) burst(n int) {
	var blocks [64]byteParcel
	w.try(func() {
		for round := range 50 {
			for i := range blocks {
				blocks[i] = byteParcel{AllocUninit(n), round}
				blocks[i].b[0], blocks[i].b[n-1] = byte(i), byte(i)
			}
			for i, p := range blocks {
				w.want(p.b[0] == byte(i) && p.b[n-1] == byte(i), &p, "has two owners")
				Free(p.b)
				blocks[i].b = nil
			}
		}
	})
	for _, p := range blocks {
		Free(p.b) // What there is if a limit ended it.
	}
}

// length is that of a byte block: all orders of magnitude are as frequent, up to a few of 2 MiB.
func (w *worker) length() int {
	if w.rng.IntN(300) == 0 {
		return 1 + w.rng.IntN(2<<20)
	}
	return 1 + w.rng.IntN(1<<w.rng.IntN(18))
}

// try says whether f was granted what it asked for. A limit may refuse that, and where addresses
// are 32 bits wide they may run out.
func (w *worker) try(f func()) (granted bool) {
	defer func() {
		if v := recover(); v != nil {
			err, _ := v.(error)
			if !errors.Is(err, ErrLimit) && (is64 || !errors.Is(err, ErrOutOfMemory)) {
				panic(v)
			}
			w.refused.Add(1)
			granted = false
		}
	}()
	f()
	return true
}

// misuse frees the inside of a block, which must always be refused.
func (w *worker) misuse(p parcel, inside []byte) {
	err, _ := caught(func() { Free(inside) }).(error)
	var m *MisuseError
	w.want(errors.As(err, &m) && strings.Contains(m.Kind, "interior"), p, "may be freed by a pointer to its inside")
}
