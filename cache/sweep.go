// SPDX-License-Identifier: Apache-2.0

package cache

import "time"

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
		if seg == nil || seg.role != roleWindow && seg.role != roleMain || seg.live.entries() == 0 || s.off != 0 && seg.used != s.used || s.off >= seg.used {
			s.next, s.off = s.next+1, 0
			left--
			continue
		}
		s.used = seg.used
		b := seg.mem[s.off:]
		if b[0]&(flagDeadline|flagIdle) != 0 {
			c := &e.walked
			c.look(e, seg, s.off)
			if c.alive() && c.expired() {
				c.remove(Expired)
			}
		}
		s.off += shapeOf(b).size
		left--
	}
	return false
}
