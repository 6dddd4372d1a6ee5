// SPDX-License-Identifier: Apache-2.0

package alloctest

import (
	"math"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/trial"
)

// failed checks an error of the allocator, and reports whether there is one that the state of the
// model allows. Another one fails the test.
func (m *model) failed(what string, n int, err error) bool {
	m.t.Helper()
	if err == nil {
		return false
	}
	if m.mayFail && m.cfg.isOOM(err) || m.limited && m.cfg.isLimit(err) {
		return true
	}
	m.t.Fatalf("alloctest: %s of %d bytes with %d bytes live in %d blocks: error %q", what, n, m.held, len(m.live), err)
	return true
}

// alloc allocates a block in one of three ways, fills it, and puts it into the model.
func (m *model) alloc(op opCode, n int) {
	m.t.Helper()
	if len(m.live) >= maxLiveBlocks || m.held+int64(n) > int64(m.cfg.MaxLive) {
		return
	}
	var b []byte
	var err error
	switch op {
	case opAllocUninit:
		b, err = m.a.TryAllocUninit(n)
	case opAllocAligned:
		align := 1 << (m.ops.Byte() % 16)
		for align > m.cfg.MaxAlign {
			align /= 2
		}
		b, err = m.a.TryAllocAligned(n, align)
		if err == nil && addr(b)%uintptr(align) != 0 {
			m.t.Fatalf("alloctest: TryAllocAligned(%d, %d): block at %#x", n, align, addr(b))
		}
	default:
		b, err = m.a.TryAlloc(n)
	}
	if m.failed("allocation", n, err) {
		return
	}
	checkShape(m.t, &m.cfg, "allocation", b, n)
	if op != opAllocUninit {
		checkZero(m.t, "allocation", b)
	}
	m.keep(b)
}

// keep fills a block and puts it into the model.
func (m *model) keep(b []byte) {
	m.t.Helper()
	m.where.add(m.t, b)
	m.seed++
	fill(b[:cap(b)], m.seed)
	m.live = append(m.live, modelBlock{b, append([]byte(nil), b...)})
	m.held += int64(len(b))
}

// realloc changes the length of a block. After an error the block must be as it was.
func (m *model) realloc(i, n int) {
	m.t.Helper()
	v := m.live[i]
	if m.held+int64(n)-int64(len(v.b)) > int64(m.cfg.MaxLive) {
		return
	}
	r, err := m.a.TryRealloc(v.b, n)
	if m.failed("TryRealloc", n, err) {
		m.same(&m.live[i])
		return
	}
	checkShape(m.t, &m.cfg, "TryRealloc", r, n)
	kept := min(n, len(v.want))
	m.same(&modelBlock{r[:kept], v.want[:kept]})
	checkZero(m.t, "new after TryRealloc", r[kept:len(r):len(r)])
	m.drop(i)
	m.keep(r)
}

// drop takes a block out of the model.
func (m *model) drop(i int) {
	v := m.live[i]
	m.where.remove(v.b)
	m.held -= int64(len(v.b))
	m.live[i] = m.live[len(m.live)-1]
	m.live[len(m.live)-1] = modelBlock{}
	m.live = m.live[:len(m.live)-1]
}

// free frees a block, through a slice that shows only its first k bytes if k is not negative.
func (m *model) free(i, k int) {
	m.t.Helper()
	v := m.live[i]
	m.same(&v)
	m.drop(i)
	if k >= 0 {
		v.b = v.b[:min(k, len(v.b))]
	}
	m.a.Free(v.b)
}

// freeMany frees several blocks in a row, the youngest first or the oldest first.
func (m *model) freeMany() {
	m.t.Helper()
	k := m.ops.Byte()
	for range min(int(k&63), len(m.live)) {
		if k&64 == 0 {
			m.free(len(m.live)-1, -1)
		} else {
			m.free(0, -1)
		}
	}
}

// freeElsewhere frees a block in another goroutine.
func (m *model) freeElsewhere(i int) {
	m.t.Helper()
	if !m.cfg.Concurrent {
		m.free(i, -1)
		return
	}
	b := m.live[i].b
	m.same(&m.live[i])
	m.drop(i)
	var err error
	elsewhere(func() {
		err, _ = trial.Try(func() error { m.a.Free(b); return nil })
	})
	if err != nil {
		m.t.Fatalf("alloctest: Free in another goroutine panicked: %v", err)
	}
}

// write changes some bytes of a block, and of the model.
func (m *model) write(i int) {
	v := m.live[i]
	if len(v.b) == 0 {
		return
	}
	at := (int(m.ops.Byte()) | int(m.ops.Byte())<<8) * 37 % len(v.b)
	end := min(len(v.b), at+1+int(m.ops.Byte()))
	m.seed++
	fill(v.b[at:end], m.seed)
	fill(v.want[at:end], m.seed)
}

// badLength asks for what cannot be had.
func (m *model) badLength() {
	m.t.Helper()
	k := m.ops.Byte()
	call, name := m.a.TryAlloc, "TryAlloc"
	switch k >> 6 {
	case 1:
		call, name = m.a.TryAllocUninit, "TryAllocUninit"
	case 2:
		call, name = func(n int) ([]byte, error) { return m.a.TryAllocAligned(n, 64) }, "TryAllocAligned"
	case 3:
		if len(m.live) > 0 {
			b := m.live[m.pick()].b
			call, name = func(n int) ([]byte, error) { return m.a.TryRealloc(b, n) }, "TryRealloc"
		}
	}
	cfg := m.cfg
	cfg.Limits = m.limited
	if k&1 == 0 {
		checkNegative(m.t, name, -1-int(k&63), call)
	} else if math.MaxInt > math.MaxInt32 { // Else half of the address space may be there.
		checkHuge(m.t, &cfg, name, math.MaxInt-int(k&62)*100, call)
	}
}

// misuse frees what must not be freed. The block freed twice is one that the model allocates for
// it: between the two calls nothing may be allocated.
func (m *model) misuse(k byte) {
	m.t.Helper()
	switch k % 3 {
	case 0:
		b, err := m.a.TryAllocUninit(1 + m.size()%(64<<10))
		if m.failed("allocation", len(b), err) {
			return
		}
		m.a.Free(b)
		mustRefuse(m.t, "second Free", func() { m.a.Free(b) }, double)
	case 1:
		if len(m.live) == 0 {
			return
		}
		b := m.live[m.pick()].b
		if len(b) < 2 {
			return
		}
		at := 1 + (int(m.ops.Byte())|int(m.ops.Byte())<<8)*37%(len(b)-1)
		mustRefuse(m.t, "Free(b[k:])", func() { m.a.Free(b[at:]) }, interior)
	case 2:
		if m.inert == nil {
			m.inert = make([]byte, 64)
		}
		mustRefuse(m.t, "Free of the Go heap", func() { m.a.Free(m.inert) }, foreign)
	}
}

// limit sets a limit near the bytes in use, or lifts it.
func (m *model) limit() {
	l, ok := m.a.(Limiter)
	if !ok || !m.cfg.Limits {
		return
	}
	k := m.ops.Byte()
	if k%4 == 0 {
		m.liftLimit()
		return
	}
	old := l.SetLimit(limited(m.a) + int64(k)*1000)
	if !m.limited {
		m.limited, m.unlimited = true, old
	}
}

// liftLimit restores the limit of the start.
func (m *model) liftLimit() {
	if m.limited {
		m.a.(Limiter).SetLimit(m.unlimited)
		m.limited = false
	}
}

// FuzzSeeds adds streams for [Ops] to the corpus of a fuzz target that takes one []byte: each
// operation at least once, shapes that have broken allocators (fill and drain, every second block,
// growth by little, limits), and noise.
func FuzzSeeds(f *testing.F) {
	f.Helper()
	for _, s := range usualSeeds() {
		f.Add(s)
	}
}

// Seeds returns the streams that [FuzzSeeds] adds, for allocators whose fuzz target takes more than
// a stream, and for tests that run them without a fuzzer.
func Seeds() [][]byte {
	fillDrain := func(magnitude, low byte) (s []byte) {
		for range 8 {
			s = append(s, byte(opAllocMany), magnitude, low, 63)
		}
		for range 8 {
			s = append(s, byte(opFreeMany), 63|64)
		}
		return append(s, byte(opPurge), byte(opAllocMany), magnitude, low, 20)
	}
	var holes, grow, each []byte
	for range 6 {
		holes = append(holes, byte(opAllocMany), 0, 200, 63)
	}
	for i := range byte(120) {
		holes = append(holes, byte(opFree), i, 1, byte(opAlloc), i%5, i)
	}
	for i := range byte(200) {
		grow = append(grow, byte(opRealloc), 0, 16+i/20, i, byte(opWrite), 0, i, i, i)
	}
	for op := range opCount {
		for i := range byte(12) {
			each = append(each, byte(op), i*3, i*29, i*5, byte(opAlloc), i, i*17)
		}
	}
	seeds := [][]byte{nil, {0}, each, holes, grow,
		fillDrain(0, 16), fillDrain(0, 255), fillDrain(4, 0), fillDrain(24, 1), fillDrain(25, 0),
		{byte(opAlloc), 31, 0, byte(opRealloc), 0, 30, 1, byte(opFree), 0, byte(opPurge), byte(opAllocUninit), 31, 9},
		{byte(opAlloc), 0, 9, byte(opLimit), 1, byte(opAllocMany), 8, 0, 63, byte(opFree), 0, byte(opAlloc), 0, 9, byte(opLimit), 0, byte(opAlloc), 26, 0},
	}
	for i := range 6 {
		seeds = append(seeds, trial.Noise(i*104729+12345, 400*(i+1)))
	}
	return seeds
}

// usualSeeds are the seeds, in -short mode without the longest noise.
func usualSeeds() [][]byte {
	seeds := Seeds()
	if testing.Short() {
		seeds = seeds[:len(seeds)-3]
	}
	return seeds
}

func checkModel(t testing.TB, cfg *Config) {
	a := start(t, cfg)
	for _, s := range usualSeeds() {
		Ops(t, a, s, *cfg)
	}
}
