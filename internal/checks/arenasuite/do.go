// SPDX-License-Identifier: Apache-2.0

package arenasuite

import (
	"fmt"
	"math"
	"testing"

	"github.com/freehold-go/freehold/alloctest"
	"github.com/freehold-go/freehold/internal/checks/trial"
)

// look compares live values with the model: all of them if they are few or if all is set, else some
// in turn.
func (m *model) look(all bool) {
	m.t.Helper()
	n := len(m.live)
	if !all {
		n = min(n, 8)
	}
	for range n {
		m.next = (m.next + 1) % len(m.live)
		if err := m.live[m.next].check(); err != nil {
			m.t.Fatalf("arenasuite: value %d of %d: %v", m.next, len(m.live), err)
		}
	}
	if k := len(m.live); k > 0 {
		if err := m.live[k-1].check(); err != nil {
			m.t.Fatalf("arenasuite: the last of %d values: %v", k, err)
		}
	}
	if all {
		for _, check := range m.kept {
			if err := check(); err != nil {
				m.t.Fatalf("arenasuite: %v", err)
			}
		}
	}
	if a := m.a; !m.sharing && a.Held != nil && a.InUse != nil {
		held, used := a.Held(), a.InUse()
		if used < 0 || held < used {
			m.t.Fatalf("arenasuite: %d bytes in use of %d held", used, held)
		}
		if m.limited && held > m.bound && !m.cfg.LooseLimits {
			m.t.Fatalf("arenasuite: %d bytes held with a limit of %d", held, m.bound)
		}
	}
}

// die moves the values from the n-th on, which were freed, to the stale ones.
func (m *model) die(n int) {
	for _, v := range m.live[n:] {
		m.seed++ // Any number will do.
		if len(m.stale) < maxStaleValues {
			m.stale = append(m.stale, v)
		} else {
			m.stale[m.seed%len(m.stale)] = v
		}
	}
	clear(m.live[n:])
	m.live = m.live[:n]
}

// pass makes the checkpoints from the n-th on stale.
func (m *model) pass(n int) {
	for _, p := range m.points[n:] {
		if len(m.passed) < 10 {
			m.passed = append(m.passed, p.checkpoint)
		}
	}
	m.points = m.points[:n]
}

// readStale reads some freed values.
func (m *model) readStale(x int) {
	m.t.Helper()
	for i := range min(len(m.stale), 20) {
		if err := m.stale[(x*7+i)%len(m.stale)].readStale(); err != nil {
			m.t.Fatalf("arenasuite: %v", err)
		}
	}
}

// reset frees all values; the arena is used again.
func (m *model) reset(mode int) {
	if m.sharing || len(m.a.Resets) == 0 {
		return
	}
	m.look(true)
	m.a.Resets[mode%len(m.a.Resets)]()
	m.die(0)
	m.pass(0)
}

// giveUp checks all values and resets the arena. If the arena has no Reset, its values are no
// longer checked, so that a check's time does not grow with the square of what it has made.
func (m *model) giveUp() {
	m.t.Helper()
	if len(m.a.Resets) > 0 {
		m.reset(0)
		return
	}
	m.look(true)
	clear(m.live)
	m.live = m.live[:0]
}

// rewind goes back to one of the checkpoints.
func (m *model) rewind(x byte) {
	if len(m.points) == 0 {
		return
	}
	i := int(x) % len(m.points)
	m.a.Rewind(m.points[i].checkpoint)
	m.die(m.points[i].live)
	m.pass(i + 1)
}

// free ends the arena and takes another.
func (m *model) free() {
	m.t.Helper()
	m.look(true)
	m.liftLimit()
	m.a.Free()
	m.die(0)
	if m.cfg.Misuse {
		m.mustSayFreed("Free", m.a.Free)
		m.useFreed(m.seed)
	}
	m.points, m.passed = nil, nil
	m.a = m.cfg.New(m.t)
}

// useFreed calls one of the functions of an arena that was freed.
func (m *model) useFreed(x int) {
	m.t.Helper()
	for what, f := range m.a.Uses {
		if x++; x%8 == 0 { // The order of a map is another each time; which one is called does not matter.
			m.mustSayFreed(what, f)
		}
	}
}

func (m *model) mustSayFreed(what string, f func()) {
	m.t.Helper()
	sayFreed(m.t, what, f)
}

// sayFreed fails the test unless f panics with a message that says that the arena was freed.
func sayFreed(t testing.TB, what string, f func()) {
	t.Helper()
	if message := alloctest.MustPanic(t, f, "freed"); message == "" {
		t.Errorf("arenasuite: the call that did not panic: %s after Free", what)
	}
}

// limit sets a limit near the bytes held, or lifts it.
func (m *model) limit(x byte) {
	if m.a.SetLimit == nil || m.a.Held == nil {
		return
	}
	if x%4 == 0 {
		m.liftLimit()
		return
	}
	m.setLimit(m.a.Held() + int64(x)*64)
}

func (m *model) setLimit(n int64) {
	m.bound = max(1, n, m.a.Held())
	old := m.a.SetLimit(m.bound)
	if !m.limited {
		m.limited, m.unlimited = true, old
	}
}

// liftLimit puts the limit back that was there at the start.
func (m *model) liftLimit() {
	if m.limited {
		m.a.SetLimit(m.unlimited)
		m.limited = false
	}
}

// badLength asks for a slice that cannot be.
func (m *model) badLength(k Type, x byte) {
	m.t.Helper()
	f := k.limits()
	if f == nil {
		return
	}
	length, capacity := 0, 0
	switch x % 4 {
	case 0:
		length = -1 - int(x)
	case 1:
		capacity = -1 - int(x)
	case 2:
		length, capacity = 5+int(x), 4+int(x)
	case 3:
		capacity = math.MaxInt - int(x)*100
	}
	m.badSlice(f, k.name(), length, capacity)
}

// badSlice asks for one such slice: a bug of the caller's panics, a size that cannot be had is an
// error.
func (m *model) badSlice(f func(length, capacity int) error, name string, length, capacity int) {
	m.t.Helper()
	err, panicked := trial.Try(func() error { return f(length, capacity) })
	what := fmt.Sprintf("MakeSlice(%d, %d) of %s", length, capacity, name)
	if length < 0 || capacity < length {
		if !panicked {
			m.t.Errorf("arenasuite: %s: no panic, but %v", what, err)
		} else if m.cfg.isOOM(err) && m.cfg.ErrOutOfMemory != nil || m.cfg.isLimit(err) && m.cfg.ErrLimit != nil {
			m.t.Errorf("arenasuite: %s panicked with %q, want what says that the caller is wrong", what, err)
		}
		return
	}
	if err == nil || !m.cfg.isOOM(err) && !m.cfg.isLimit(err) {
		m.t.Errorf("arenasuite: %s: error %v, want that for memory that cannot be had", what, err)
	}
}

// misuse rewinds to a stale checkpoint of the arena. Nothing may change.
func (m *model) misuse(x byte) {
	m.t.Helper()
	if len(m.passed) == 0 || m.a.Rewind == nil {
		return
	}
	c := m.passed[int(x)%len(m.passed)]
	if alloctest.MustPanic(m.t, func() { m.a.Rewind(c) }, "checkpoint") == "" {
		m.t.Error("arenasuite: Rewind to a stale checkpoint")
	}
}

// finish shows that the arena works on, and frees it.
func (m *model) finish() {
	m.t.Helper()
	m.liftLimit()
	m.readStale(0)
	m.reset(0)
	for _, k := range m.a.Types {
		v, err := k.make(m.newSeed(), true)
		m.keep("New of "+k.name(), v, err)
	}
	m.look(true)
	m.a.Free()
	m.die(0)
	m.readStale(1)
	for _, check := range m.kept {
		if err := check(); err != nil {
			m.t.Errorf("arenasuite: after Free: %v", err)
		}
	}
}

// Seeds returns streams for [Ops], for the corpus of a fuzz target and for tests without a
// fuzzer: each operation at least once, and noise.
func Seeds() [][]byte {
	var each, grow, rounds []byte
	for op := range opCount {
		for i := range byte(12) {
			each = append(each, byte(op), i, i*5, i*29, byte(opNew), i, i*17)
		}
	}
	for i := range byte(100) {
		grow = append(grow, byte(opMakeSlice), i, 0x11, 3, byte(opAppend), 0, i, 7, byte(opAppend), 0, 1, 170+i%80, 0)
	}
	for i := range byte(48) { // Values behind a slice that grew from an odd element on.
		grow = append(grow, byte(opNew), i%4, i, byte(opMakeSlice), i/4, 2, 161, 0, byte(opAppend), 0, 5, 1, byte(opNew), i%4, i)
	}
	for i := range byte(20) {
		rounds = append(rounds, byte(opMany), i, 40, byte(opCheckpoint), byte(opMany), i+1, 60, byte(opText), i, 3, 200, 200, 255,
			byte(opStale), i, byte(opRewind), i, byte(opMakeSlice), i, 0, 240, 3, byte(opReset), i*4, byte(opStale), i)
	}
	seeds := [][]byte{nil, {0}, each, grow, rounds}
	for i := range 5 {
		seeds = append(seeds, trial.Noise(i*104729+54321, 300*(i+1)))
	}
	return seeds
}

// checkModel runs the seeds.
func checkModel(t testing.TB, cfg *Config) {
	seeds := Seeds()
	if testing.Short() {
		seeds = seeds[:6]
	}
	for _, s := range seeds {
		Ops(t, s, *cfg)
	}
}

// FailEach shows that an arena survives each refusal of memory. It runs streams of operations
// once to see where the arena grows, and then again for each growth, which a limit that is set just
// below it refuses: one time for good, one time the limit is lifted after the first refusal. An
// error that errors.Is cfg.ErrLimit is then no failure, and each value that is alive must be whole.
// The arena must have SetLimit and Held.
func FailEach(t *testing.T, cfg Config) {
	t.Helper()
	streams := Seeds()[2:5]
	if testing.Short() {
		streams = streams[:2]
	}
	for i, ops := range streams {
		t.Run(fmt.Sprint(i), func(t *testing.T) { failArena(t, cfg, ops[:min(len(ops), 300)]) })
	}
}

func failArena(t testing.TB, cfg Config, ops []byte) {
	t.Helper()
	var steps []int64
	m := newModel(t, ops, cfg)
	if m.a.SetLimit == nil || m.a.Held == nil {
		t.Fatal("arenasuite: FailEach of an arena without SetLimit and Held")
	}
	m.watch = func() {
		if held := m.a.Held(); held > 0 && (len(steps) == 0 || held > steps[len(steps)-1]) {
			steps = append(steps, held)
		}
	}
	m.run()
	m.finish()
	if len(steps) == 0 {
		t.Fatal("arenasuite: the arena holds nothing after a stream of operations, so nothing was tested")
	}
	refused := 0
	for _, held := range steps {
		for _, once := range []bool{true, false} {
			refused += failArenaOnce(t, cfg, ops, held-1, once)
		}
	}
	if refused == 0 && !cfg.LooseLimits {
		t.Fatal("arenasuite: the limit refused nothing, so nothing was tested")
	}
	t.Logf("arenasuite: %d refusals at %d limits", refused, len(steps))
}

// failArenaOnce runs a stream with a limit and returns how often it refused memory.
func failArenaOnce(t testing.TB, cfg Config, ops []byte, limit int64, once bool) int {
	t.Helper()
	m := newModel(t, ops, cfg)
	m.setLimit(limit)
	m.watch = func() {
		if once && m.failures > 0 {
			m.liftLimit()
		}
	}
	m.run()
	m.finish()
	return m.failures
}
