// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// Memory for entries comes in blocks of up to 2 MiB, which are cut into segments of one size. An entry that is
// larger than half of a segment has a segment of its own, which is no part of a block. Each page of the
// table is memory of its own, too: a segment, which views hand out, never becomes a page. All of this
// together never exceeds the budget.
//
// A block that was returned to offheap may come back as a page. Pages of a type of their own, which offheap would
// keep apart, have no huge pages: that made Get 8 to 18 % slower at a million entries.
//
// The engine's mu guards the roles, the lists and the queues.

type role uint8

const (
	roleFree   role = iota
	roleOpen        // Entries are being added.
	roleWindow      // In the window's queue.
	roleMain        // In main's queue.
	roleVictim      // The oldest of main, whose entries are being evicted.
	roleViewed      // A view holds entries that are no longer in the table.
)

type segment struct {
	mem    []byte
	no     uint64
	block  *block // nil if the segment holds one large entry.
	role   role
	weight int64 // Of Objects: the weights of the entries, dead ones included.
	used   int   // Bytes of entries, dead ones included. It is fixed once the segment is no longer open.
	at     int   // Of the victim: the next entry to look at.
	born   int64 // When its entries were written, on average: the engine's time.
	gone   int64 // Entries that were evicted.

	live live
	// pins counts those who use entries without a lock: views, and writers whose entry is not yet in
	// the table. A pinned segment is not used again, and its entries do not change.
	pins atomic.Int32
}

// live counts the entries that the table leads to, in its highest 24 bits, and their bytes. The bytes are
// what the heads of entries say. The number is right even if heads were changed: a million wrong sizes
// of a mebibyte do not reach it.
type live struct{ n atomic.Int64 }

const (
	liveEntry = 1 << 40
	liveZero  = liveEntry / 2 // So that bytes may be below 0.
)

func (l *live) add(bytes int)  { l.n.Add(liveEntry + int64(bytes)) }
func (l *live) sub(bytes int)  { l.n.Add(-liveEntry - int64(bytes)) }
func (l *live) reset()         { l.n.Store(0) }
func (l *live) entries() int64 { return (l.n.Load() + liveZero) >> 40 }
func (l *live) bytes() int64   { return (l.n.Load()+liveZero)&(liveEntry-1) - liveZero }

type block struct {
	words   []uint64
	segs    []*segment
	leaving bool // Its free segments are not used again.
}

// directory leads from numbers to segments. It is replaced when it grows.
type directory []atomic.Pointer[segment]

// bytesOf is the memory of words as bytes.
func bytesOf(words []uint64) []byte {
	return unsafex.SliceOf[byte](unsafex.DataOf(words), 8*len(words), 8*len(words))
}

// words is the memory of a large segment as it was allocated.
func (s *segment) words() []uint64 {
	return unsafex.SliceOf[uint64](unsafex.DataOf(s.mem), len(s.mem)/8, len(s.mem)/8)
}

// A stripe is an open segment of the window. Keys are spread over several, so that writers seldom wait
// for each other.
type stripe struct {
	mu  sync.Mutex
	seg *segment
	_   [48]byte
}

// room is the bytes of a segment that entries may have.
func (s *segment) room() int { return len(s.mem) - headRoom }

func firstBucket(page []uint64) *bucket { return unsafex.As[bucket](unsafex.DataOf(page)) }

// looked is what a goroutine releases for the race detector that has looked at a bucket without its lock, and quiesce
// acquires: the detector sees no order in pins.
var looked byte

// quiesce returns when no goroutine is still pinned that was so at the call: the world does not stop
// while one is, or, with the fallback of percpu, its ID is seen to be busy.
func quiesce() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	defer sanitize.RaceAcquire(unsafex.Addr(&looked))
	if percpu.Linkname {
		return
	}
	for id := range 1 << 12 {
		for percpu.Busy(id) {
			runtime.Gosched()
		}
	}
}
