// SPDX-License-Identifier: Apache-2.0

package alloctest

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/trial"
)

// An opCode is what the first byte of an operation selects, modulo opCount. The order is fixed:
// a corpus of a fuzz target keeps its meaning only as long as it is.
type opCode byte

const (
	opAlloc opCode = iota
	opAllocUninit
	opAllocAligned
	opRealloc
	opFree
	opFreeShort // Free(b[:k])
	opWrite     // Write anywhere into a block.
	opFreeMany  // Free several blocks in a row, from either end.
	opAllocMany // Allocate several of one size.
	opPurge     // If the allocator is a Purger.
	opBadLength // Negative or huge.
	opMisuse    // If Config.Misuse says so.
	opLimit     // If Config.Limits says so: set a limit near the bytes in use, or lift it.
	opElsewhere // Free in another goroutine if Config.Concurrent says so.
	opIgnored   // Free nil and an empty slice.
	opCollect   // Run the garbage collector.
	opCount
)

// maxLiveBlocks bounds the blocks that a stream holds, so that looking at all of them stays cheap.
const maxLiveBlocks = 512

// modelBlock is one live block and what it must hold.
type modelBlock struct {
	b    []byte
	want []byte
}

// model runs a stream of operations against an allocator and a list of plain slices.
type model struct {
	t      testing.TB
	cfg    Config
	a      Allocator
	ops    trial.Stream
	live   []modelBlock
	where  intervals
	held   int64 // Sum of the lengths.
	base   int64 // InUse at the start.
	seed   int
	next   int   // The block that was checked last.
	budget int64 // The bytes that may be looked at.
	inert  []byte

	// mayFail says that ErrOutOfMemory is no failure: the operating system's calls fail.
	mayFail bool
	// limited says that ErrLimit is no failure, unlimited is the limit to put back.
	limited   bool
	unlimited int64
}

// Ops runs the operations that the bytes of ops describe on a, beside a naive model: slices of the
// Go heap. After each operation it compares contents, searches for blocks that overlap and for
// bytes that should be zero, and checks InUse. At the end it frees all blocks and checks that InUse
// is at its start. Any bytes are a valid stream, so Ops suits a fuzz target; equal bytes make the
// same calls. Ops does not use New and MaxSize of the configuration. The blocks of a stream hold at
// most MaxLive bytes together.
//
// Ops fails the test at the first difference, with the number of bytes of ops that led to it.
func Ops(t testing.TB, a Allocator, ops []byte, cfg Config) {
	t.Helper()
	m := newModel(t, a, ops, cfg)
	m.run()
	m.finish()
}

// newModel returns a model before its first operation.
func newModel(t testing.TB, a Allocator, ops []byte, cfg Config) *model {
	return &model{t: t, cfg: cfg.withDefaults(), a: a, ops: ops, base: settledInUse(a)}
}

// run executes the operations until the bytes are used up.
func (m *model) run() {
	m.t.Helper()
	all := len(m.ops)
	for len(m.ops) > 0 {
		m.step(opCode(m.ops.Byte()) % opCount)
		if m.t.Failed() {
			m.t.Fatalf("alloctest: failed after %d of %d bytes of operations", all-len(m.ops), all)
		}
		m.look(false)
	}
	m.look(true)
}

// size takes a length from the stream: a magnitude and a place within it. Lengths are mostly small,
// and every one up to 4 KiB can come, as can powers of two and their neighbours up to 8 MiB.
func (m *model) size() int {
	k := m.ops.Byte()
	low := int(m.ops.Byte())
	switch shift := int(k & 31); {
	case shift < 16:
		return shift<<8 | low
	case shift < 24:
		return low << (shift - 16)
	case shift > 26 && k>>5 != 0:
		return 1<<(shift-14) + int(int8(low)) // Most streams should be quick.
	default:
		return 1<<(shift-8) + int(int8(low))
	}
}

// pick takes the index of a live block from the stream. There must be one.
func (m *model) pick() int {
	i := int(m.ops.Byte())
	if len(m.live) > 256 {
		i |= int(m.ops.Byte()) << 8
	}
	return i % len(m.live)
}

// step executes one operation.
func (m *model) step(op opCode) {
	m.t.Helper()
	needsBlock := op == opRealloc || op == opFree || op == opFreeShort || op == opWrite ||
		op == opFreeMany || op == opElsewhere
	if needsBlock && len(m.live) == 0 {
		op = opAlloc
	}
	switch op {
	case opAlloc, opAllocUninit, opAllocAligned:
		m.alloc(op, m.size())
	case opAllocMany:
		n := m.size()
		for range m.ops.Byte() % 64 {
			m.alloc(opAlloc, n)
		}
	case opRealloc:
		m.realloc(m.pick(), m.size())
	case opFree:
		m.free(m.pick(), -1)
	case opFreeShort:
		i := m.pick()
		m.free(i, int(m.ops.Byte()))
	case opFreeMany:
		m.freeMany()
	case opWrite:
		m.write(m.pick())
	case opElsewhere:
		m.freeElsewhere(m.pick())
	case opLimit:
		m.limit()
	default:
		m.stepRare(op)
	}
}

// stepRare executes the operations that leave the live blocks as they are.
func (m *model) stepRare(op opCode) {
	m.t.Helper()
	switch op {
	case opPurge:
		if p, ok := m.a.(Purger); ok {
			p.Purge()
		}
	case opBadLength:
		m.badLength()
	case opMisuse:
		if m.cfg.Misuse {
			m.misuse(m.ops.Byte())
		}
	case opIgnored:
		m.a.Free(nil)
		m.a.Free([]byte{})
	case opCollect:
		if m.ops.Byte()%16 == 0 { // It is slow, and a fuzzer prefers slow operations.
			runtime.GC()
		}
	}
}

// look compares live blocks with the model: all of them if there is little to compare or if all is
// set, else as many in turn as lookBytes for each call have allowed.
func (m *model) look(all bool) {
	m.t.Helper()
	if used := settledInUse(m.a); used-m.base < m.held {
		m.t.Fatalf("alloctest: InUse is %d, %d at the start, with %d bytes live", used, m.base, m.held)
	}
	m.budget = min(m.budget+lookBytes, max(m.held, lookBytes))
	for range len(m.live) {
		next := (m.next + 1) % len(m.live)
		if v := &m.live[next]; all || int64(len(v.b)) <= m.budget {
			m.same(v)
			m.budget -= int64(len(v.b))
			m.next = next
			continue
		}
		return
	}
}

// lookBytes is how much is compared after each operation, on average.
const lookBytes = 64 << 10

// same compares one block with the model.
func (m *model) same(v *modelBlock) {
	m.t.Helper()
	if bytes.Equal(v.b, v.want) {
		return
	}
	for i := range v.want {
		if v.b[i] != v.want[i] {
			m.t.Fatalf("alloctest: byte %d of a live block of %d bytes at %#x is %#x, the model has %#x",
				i, len(v.b), addr(v.b), v.b[i], v.want[i])
		}
	}
}

// finish lifts the limit, frees every block and shows that the allocator works on.
func (m *model) finish() {
	m.t.Helper()
	m.liftLimit()
	for len(m.live) > 0 {
		m.free(len(m.live)-1, -1)
	}
	if used := settledInUse(m.a); used != m.base {
		m.t.Errorf("alloctest: InUse is %d with every block free, %d at the start: %+d leaked",
			used, m.base, used-m.base)
	}
	if m.mayFail {
		// The call that fails may be one that the next allocation makes. It fails only once.
		if b, err := m.a.TryAlloc(1000); !m.failed("allocation", 1000, err) {
			m.a.Free(b)
		}
	}
	b := mustAlloc(m.t, &m.cfg, m.a, 1000)
	fill(b, 1)
	checkPattern(m.t, "block after a stream of operations", b, 1)
	m.a.Free(b)
}
