// SPDX-License-Identifier: Apache-2.0

package arenasuite

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/trial"
)

// An opCode is what the first byte of an operation on an arena selects, modulo opCount. The
// order is fixed, as that of opCode.
type opCode byte

const (
	opNew opCode = iota
	opNewOf
	opMakeSlice
	opAppend
	opAppendHeap // To a slice of the Go heap.
	opText
	opMany // Many values of one type.
	opRewrite
	opClone
	opOwns
	opCheckpoint
	opRewind
	opReset
	opFree  // Free, and go on with a new arena.
	opStale // Read freed values.
	opLimit // Set a limit near the bytes held, or lift it.
	opBadLength
	opMisuse // If Config.Misuse says so.
	opCollect
	opCount
)

const (
	maxLiveValues  = 300
	maxStaleValues = 200
)

// point is a checkpoint and how many values were alive.
type point struct {
	checkpoint any
	live       int
}

// model runs a stream of operations against an arena and lists of what must be.
type model struct {
	t     testing.TB
	cfg   Config
	a     *Arena
	ops   trial.Stream
	live  []*value // The oldest first.
	stale []*value
	kept  []func() error // Clones: alive for good.

	points []point
	passed []any // Checkpoints that are stale.

	seed, next int
	made       int // Calls that made something.
	sharing    bool

	limited   bool
	unlimited int64
	bound     int64  // The limit, if limited.
	watch     func() // Called after each operation.
	failures  int    // Calls that the limit refused.
}

// Ops runs the operations that the bytes of ops describe on arenas that cfg.New returns, beside a
// naive model: a list of the live values, each of which can be made again for comparison. After
// each operation it compares; it keeps freed values, and reads them again and again. Any bytes are
// a valid stream, so that it suits a fuzz target; equal bytes make the same calls.
func Ops(t testing.TB, ops []byte, cfg Config) {
	t.Helper()
	m := newModel(t, ops, cfg)
	m.run()
	m.finish()
}

func newModel(t testing.TB, ops []byte, cfg Config) *model {
	cfg = cfg.withDefaults()
	return &model{t: t, cfg: cfg, a: cfg.New(t), ops: ops}
}

// run executes the operations until the bytes are used up.
func (m *model) run() {
	m.t.Helper()
	all := len(m.ops)
	for len(m.ops) > 0 {
		op := opCode(m.ops.Byte()) % opCount
		m.step(op)
		if m.watch != nil {
			m.watch()
		}
		m.look(false)
		if m.t.Failed() {
			m.t.Fatalf("arenasuite: failed after %d of %d bytes of operations, in operation %d", all-len(m.ops), all, op)
		}
		if len(m.live) >= maxLiveValues {
			m.reset(0)
		}
	}
	m.look(true)
}

// length takes a number of elements of size bytes from the stream, mostly a small one.
func (m *model) length(size uintptr) int {
	k := m.ops.Byte()
	n := int(k & 7)
	if k >= 160 {
		n = int(k&31)<<(k>>5) + int(m.ops.Byte()%8)
	}
	if k >= 250 {
		n = m.cfg.MaxBytes / int(max(size, 1))
	}
	return min(n, m.cfg.MaxBytes/int(max(size, 8)), 4000)
}

// next seeds are far enough apart for the elements of a slice.
func (m *model) newSeed() int {
	m.seed += 1 << 13
	return m.seed
}

func (m *model) kind() Type { return m.a.Types[int(m.ops.Byte())%len(m.a.Types)] }

// failed checks an error, and reports whether there is one that the state of the model allows.
// Another one fails the test.
func (m *model) failed(what string, err error) bool {
	m.t.Helper()
	if err == nil {
		return false
	}
	if _, is := err.(broken); !is && (m.limited || m.cfg.Full) && (m.cfg.isLimit(err) || m.cfg.isOOM(err)) {
		m.failures++
		return true
	}
	m.t.Fatalf("arenasuite: %s with %d values live: %v", what, len(m.live), err)
	return true
}

// keep puts a value into the model. An error may come with one: that its parts did not fit.
func (m *model) keep(what string, v *value, err error) {
	m.t.Helper()
	full := m.failed(what, err)
	if v != nil {
		m.made++
		m.live = append(m.live, v)
	} else if full && m.cfg.Full && !m.limited {
		m.reset(0)
	}
}

// step executes one operation.
func (m *model) step(op opCode) {
	m.t.Helper()
	if m.sharing && op > opOwns {
		op = opNew // Others use the arena.
	}
	switch op {
	case opNew:
		k, x := m.kind(), m.ops.Byte()
		v, err := k.make(m.newSeed(), x&1 == 0)
		m.keep("New of "+k.name(), v, err)
	case opNewOf:
		m.newOf(m.kind())
	case opMakeSlice:
		k, x := m.kind(), m.ops.Byte()
		n := m.length(k.typ().Size())
		v, err := k.makeSlice(m.newSeed(), n, n+int(x>>4), x&2 == 0, x&1 == 0)
		m.keep("MakeSlice of "+k.name(), v, err)
	case opAppend:
		m.append()
	case opAppendHeap:
		k := m.kind()
		v, err := k.grow(appendOf{at: int(m.ops.Byte() % 8), n: m.length(k.typ().Size()), seed: m.newSeed()})
		m.keep("Append of "+k.name()+" to a slice of the Go heap", v, err)
	case opText:
		m.text()
	case opMany:
		k, x := m.kind(), m.ops.Byte()
		for range x % 64 {
			v, err := k.make(m.newSeed(), false)
			m.keep("New of "+k.name(), v, err)
		}
	case opRewrite:
		if v := m.pick(); v != nil && v.rewrite != nil {
			v.rewrite(m.newSeed())
			v.inner = false
		}
	case opClone:
		m.clone()
	case opOwns:
		if v := m.pick(); v != nil && m.a.Owns != nil && reflect.ValueOf(v.value).Kind() == reflect.Pointer && v.kind.typ().Size() > 0 && !m.a.Owns(v.value) {
			m.t.Errorf("arenasuite: Owns denies a live %T of the arena", v.value)
		}
	default:
		m.stepRare(op)
	}
}

// stepRare executes the operations that free values, and those that leave them as they are.
func (m *model) stepRare(op opCode) {
	m.t.Helper()
	switch op {
	case opCheckpoint:
		if m.a.Checkpoint != nil && len(m.points) < 20 {
			m.points = append(m.points, point{m.a.Checkpoint(), len(m.live)})
		}
	case opRewind:
		m.rewind(m.ops.Byte())
	case opReset:
		if x := m.ops.Byte(); x%4 == 0 && len(m.a.Resets) > 0 { // Else little would ever be alive.
			m.reset(int(x / 4))
		}
	case opFree:
		if m.ops.Byte()%4 == 0 {
			m.free()
		}
	case opStale:
		m.readStale(int(m.ops.Byte()))
	case opLimit:
		m.limit(m.ops.Byte())
	case opBadLength:
		m.badLength(m.kind(), m.ops.Byte())
	case opMisuse:
		if m.cfg.Misuse {
			m.misuse(m.ops.Byte())
		}
	case opCollect:
		if m.ops.Byte()%16 == 0 { // It is slow, and a fuzzer prefers slow operations.
			runtime.GC()
		}
	}
}

// pick takes a live value from the stream, nil if there is none.
func (m *model) pick() *value {
	if len(m.live) == 0 {
		return nil
	}
	return m.live[(int(m.ops.Byte())|int(m.ops.Byte())<<8)%len(m.live)]
}

// newOf makes a value of a type that is known at run time only.
func (m *model) newOf(k Type) {
	m.t.Helper()
	if m.a.NewOf == nil {
		return
	}
	var p any
	err := tryOnly(func() (err error) { p, err = m.a.NewOf(k.typ()); return err })
	if err != nil {
		m.keep("NewOf("+k.name()+")", nil, err)
		return
	}
	v, err := k.adopt(p, m.newSeed())
	m.keep("NewOf("+k.name()+")", v, err)
}

// append appends to a live slice, often to the youngest, which is the one that can grow in place.
func (m *model) append() {
	m.t.Helper()
	var v *value
	if x := m.ops.Byte(); x%2 == 0 && len(m.live) > 0 {
		v = m.live[len(m.live)-1]
	} else if v = m.pick(); v == nil {
		return
	}
	x := m.ops.Byte()
	s := reflect.ValueOf(v.value)
	if s.Kind() != reflect.Slice {
		return
	}
	a := appendOf{to: v, at: s.Len(), n: m.length(v.kind.typ().Size()), seed: m.newSeed(), inner: v.inner}
	switch {
	case x%4 == 0 && s.Len() > 0: // A part of it, whose capacity ends in its middle.
		a.from = int(m.ops.Byte()) % s.Len()
		a.at = a.from + int(x/4)%(s.Len()-a.from+1)
		a.clip = true
	case x%4 == 1 && s.Len() > 0: // Its end, which can grow where it is.
		a.from = int(x/4) % s.Len()
	}
	a.clip = a.clip || s.Cap() > s.Len() && !v.room
	g, err := v.kind.grow(a)
	m.keep("Append of "+v.kind.name(), g, err)
}

// text makes a string of parts.
func (m *model) text() {
	m.t.Helper()
	if len(m.a.Texts) == 0 {
		return
	}
	f := m.a.Texts[int(m.ops.Byte())%len(m.a.Texts)]
	parts := make([]string, m.ops.Byte()%5)
	for i := range parts {
		seed := strconv.Itoa(m.newSeed())
		parts[i] = strings.Repeat(seed, 1+m.length(1)/len(seed))[m.ops.Byte()%2:]
	}
	want := strings.Join(parts, "")
	var s string
	if err := tryOnly(func() (err error) { s, err = f(parts...); return err }); err != nil {
		m.keep(fmt.Sprintf("a string of %d bytes", len(want)), nil, err)
		return
	}
	v := &value{value: s, check: func() error {
		if s != want {
			return fmt.Errorf("a live string of %d bytes changed", len(want))
		}
		return nil
	}}
	v.stale = func() error { _ = strings.Count(s, "x"); return nil }
	if err := v.check(); err != nil {
		m.t.Fatalf("arenasuite: a new string of %d bytes has other bytes", len(want))
	}
	m.keep("a string", v, nil)
}

// clone copies a value to where it outlives the arena.
func (m *model) clone() {
	v := m.pick()
	if v == nil || m.a.Clone == nil || v.inner || len(m.kept) > 100 {
		return
	}
	v.rewrite = nil // A value outside an arena may be its own clone.
	switch c := m.a.Clone(v.value).(type) {
	case string:
		want := strings.Clone(v.value.(string))
		m.kept = append(m.kept, func() error {
			if c != want {
				return errors.New("the clone of a string changed")
			}
			return nil
		})
	default:
		got, want := reflect.Indirect(reflect.ValueOf(c)), detach(v.value)
		m.kept = append(m.kept, func() error {
			if !reflect.DeepEqual(got.Interface(), want) {
				return fmt.Errorf("the clone of a %T is %+v, the model has %+v", c, got, want)
			}
			return nil
		})
	}
}

// detach copies what a pointer or a slice leads to.
func detach(v any) any {
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Slice {
		c := reflect.MakeSlice(rv.Type(), rv.Len(), rv.Len())
		reflect.Copy(c, rv)
		return c.Interface()
	}
	return rv.Elem().Interface()
}
