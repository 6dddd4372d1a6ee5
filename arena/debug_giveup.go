// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"runtime"
	"sync"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// freeValues makes every use of the values from the n-th on one that faults or is seen to be
// stale, as far as the mode can. op is the function that frees them. A damaged canary panics before
// anything is changed; one of a block of offheap when the values after it are freed.
func (in *state) freeValues(op string, n int) {
	if in.debug != nil && n < len(in.debug.values) {
		in.freeValuesSlow(op, n)
	}
}

//go:noinline
func (in *state) freeValuesSlow(op string, n int) {
	s := in.debug
	s.check(op, in.self.id, n)
	g := grave{in: in, op: op}
	if debugmode.On() {
		g.free = debugmode.Callers(0)
	}
	for len(s.values) > n { // If offheap finds a damaged block, no freed one must be left here.
		last := len(s.values) - 1
		g.take(&s.values[last])
		s.values[last] = value{}
		s.values = s.values[:last]
	}
	in.rec.noteLeak()
}

// A grave is one free of values, by Free, Reset, Rewind or Put.
type grave struct {
	in    *state
	op    string
	free  debugmode.Stack
	by    int64 // The goroutine, known if there are tombs.
	tombs map[epitaph]uintptr
}

// An epitaph is the identity of values with pointers that are freed together.
type epitaph struct {
	desc  *typeDesc
	size  uintptr
	alloc debugmode.Stack
}

func (g *grave) take(v *value) {
	in, s := g.in, g.in.debug
	switch v.in {
	case inGuard:
		addr := unsafex.PtrAddr(v.at)
		debugmode.Freed(addr, g.op, 0)
		debugmode.FreeObject(v.at)
		s.held -= int64(v.size)
		in.rec.held.Add(-int64(v.size))
		store.charge(-int64(v.size))
	case inBlock:
		charged := v.charged(in.from)
		v.disownBlock(g.op)
		v.freeBlock()
		s.held -= charged
		in.rec.held.Add(-charged)
	default:
		if v.desc.flow == typedFlow {
			l := layoutOf(v.desc)
			var tomb uintptr
			if v.desc.scan {
				tomb = g.tombOf(v)
			}
			l.bury(v.at, v.size, tomb)
		} else {
			unsafex.FillAt(v.at, v.size, debugmode.PoisonFreed)
		}
		v.forbid(g.op)
	}
}

// tombOf is the tomb for the pointers in a value.
func (g *grave) tombOf(v *value) uintptr {
	k := epitaph{v.desc, v.size, v.alloc}
	tomb, ok := g.tombs[k]
	if !ok {
		if g.tombs == nil {
			g.tombs = make(map[epitaph]uintptr)
			g.by = debugmode.Goroutine()
		}
		b := v.block(g.in.self.id)
		b.FreeOp, b.Free, b.FreeBy = g.op, g.free, g.by
		tomb = debugmode.NewTomb(b)
		g.tombs[k] = tomb
	}
	return tomb
}

// The chunks in the quarantine take at most the budget of guarded bytes divided by quarantineShare,
// because the collector waits for the heap to grow in proportion, and at most quarantineMost,
// because it scans all of them in each cycle.
const (
	quarantineShare = 8
	quarantineMost  = 64 << 20
)

// quarantined is how many bytes of chunks the quarantine keeps.
func (s *debugState) quarantined() int64 {
	return min(s.config.GuardBytes/quarantineShare, quarantineMost)
}

// quarantine keeps freed chunks, so that no arena gets their memory and stale pointers
// lead to what it was overwritten with. When it is full, the oldest are cleared and left to the
// collector.
var quarantine cellar

type cellar struct {
	mu          sync.Mutex
	first, last *chunk
	bytes       int64
}

// put takes chunks, linked by next, and keeps those freed last, up to most bytes.
func (q *cellar) put(list *chunk, most int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for c := list; c != nil; {
		next := c.next
		c.next = nil
		if q.last == nil {
			q.first = c
		} else {
			q.last.next = c
		}
		q.last = c
		q.bytes += c.bytes()
		c = next
	}
	for q.bytes > most {
		c := q.first
		if q.first = c.next; q.first == nil {
			q.last = nil
		}
		q.bytes -= c.bytes()
		c.allow()
		if c.desc != nil {
			c.mem.SetLen(c.mem.Cap())
			c.mem.Clear()
		}
		drop(c)
		runtime.KeepAlive(c)
	}
}
