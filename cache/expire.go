// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Time is milliseconds since the engine was made, from 1 on, and never goes back.

// now is the time.
func (e *engine) now() int64 {
	var d time.Duration
	if e.o.Clock == nil {
		d = time.Since(e.start)
	} else {
		d = e.o.Clock().Sub(e.start)
	}
	ms := max(d.Milliseconds(), 0) + 1
	if e.o.Clock == nil { // Monotonic.
		return ms
	}
	for {
		latest := e.latest.Load()
		if ms <= latest {
			return latest
		}
		if e.latest.CompareAndSwap(latest, ms) {
			return ms
		}
	}
}

// deadlines are those of an entry that is set now, with a TTL of its own or of the options.
func (e *engine) deadlines(ttl time.Duration) (t deadlines) {
	if ttl <= 0 && e.o.Idle <= 0 {
		return t
	}
	now := e.now()
	if ttl > 0 {
		if e.o.Jitter > 0 {
			ttl -= time.Duration(e.o.Jitter * rand.Float64() * float64(ttl))
		}
		t.at = min(now+max(ttl.Milliseconds(), 1), mostDeadline)
	}
	if e.o.Idle > 0 {
		t.idle = min(now+e.o.Idle.Milliseconds(), mostDeadline)
	}
	return t
}

// ended says whether an entry with a deadline has expired so long ago that nobody may use it.
func (e *engine) ended(deadline int64) bool { return e.now() >= deadline+e.o.Stale.Milliseconds() }

// A sweeper finds entries that have expired and nobody asks for. It visits each segment in turn, a
// piece at a time, and rests 99 times as long as each piece took.
type sweeper struct {
	once sync.Once
	mu   sync.Mutex
	done bool
	wake *time.Timer
	next uint64 // The number of the next segment.
	off  int    // Where in it.
	used int    // Of the segment, to see that it is still the same.
}

const (
	sweepPiece = 512              // Entries under one lock of the engine's mu.
	sweepRest  = time.Millisecond // At least, between two pieces.
	sweepPause = time.Second      // Between two rounds.
)

// need starts the sweeper, if it does not run.
func (s *sweeper) need(e *engine) {
	s.once.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.done {
			s.wake = time.AfterFunc(sweepPause, func() { e.sweep() })
		}
	})
}

func (s *sweeper) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	if s.wake != nil {
		s.wake.Stop()
	}
}

// sweep does a piece and sets the timer for the next one.
func (e *engine) sweep() {
	s := &e.sweeper
	began := time.Now()
	round := e.sweepPiece()
	rest := max(99*time.Since(began), sweepRest)
	if round {
		rest = sweepPause
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done {
		s.wake.Reset(rest)
	}
}

// sweepPiece removes what has expired of the next entries, and says whether that was the last piece of
// a round.
func (e *engine) sweepPiece() (round bool) {
	e.mu.Lock()
	defer e.unlockAndTell()
	if e.n.Load() == 0 {
		return true
	}
	s := &e.sweeper
	d := *e.dir.Load()
	for left := sweepPiece; left > 0; {
		if s.next >= uint64(len(d)) {
			s.next, s.off = 0, 0
			return true
		}
		seg := d[s.next].Load()
		if seg == nil || seg.role != roleWindow && seg.role != roleMain || seg.live.Load() == 0 || s.off != 0 && seg.used != s.used || s.off >= seg.used {
			s.next, s.off = s.next+1, 0
			left--
			continue
		}
		s.used = seg.used
		c := &e.walked
		c.peek(seg, s.off)
		if b := seg.mem[s.off:]; b[0]&(flagDeadline|flagIdle) != 0 {
			c.look(e, seg, s.off)
			if c.alive() && c.expired() {
				c.remove(Expired)
			}
			left--
		}
		s.off += c.size
	}
	return false
}
