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
		if seg == nil || !e.sweepSegment(seg, &left) {
			s.next, s.off = s.next+1, 0
			left--
		}
	}
	return false
}

// sweepSegment looks at the next entries of a segment, at most left of them, and says whether some are still to come.
func (e *engine) sweepSegment(seg *segment, left *int) bool {
	s := &e.sweeper
	switch seg.role {
	case roleWindow, roleMain:
	case roleOpen:
		for i := range e.stripes {
			if st := &e.stripes[i]; st.seg == seg {
				if !st.mu.TryLock() {
					return false
				}
				defer st.mu.Unlock()
			}
		}
	default:
		return false
	}
	if seg.pins.Load() != 0 { // An entry may not be written yet. The next round will come here, too.
		return false
	}
	if seg.live.entries() == 0 || s.off != 0 && seg.born != s.born { // It is another's now.
		return false
	}
	s.born = seg.born
	for ; s.off < seg.used && *left > 0; *left-- {
		b := seg.mem[s.off:]
		if b[0]&(flagDeadline|flagIdle) != 0 {
			c := &e.walked
			c.look(e, seg, s.off)
			if c.alive() && c.expired() {
				c.remove(Expired)
			}
		}
		s.off += shapeOf(b).size
	}
	return s.off < seg.used
}
