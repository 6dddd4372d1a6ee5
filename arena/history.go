package arena

import (
	"slices"
	"sort"
	"sync"
)

// A history tells whether an arena still has what it made at some moment. An arena has one from its
// first checkpoint on. Moments are rounds of the arena, which rise with each Checkpoint, Rewind and
// Reset, and with Free. Builders and Maps ask when the round has changed, from any goroutine that
// looks something up.
type history struct {
	mu    sync.Mutex
	begun uint64 // The round that the last Reset began.
	marks []period
}

// A period begins with a checkpoint. Values made in [noted, rewound) are freed.
type period struct{ serial, noted, rewound uint64 }

// noteCheckpoint begins a period.
func (a *Arena) noteCheckpoint(serial uint64) {
	h := a.history.Load()
	if h == nil {
		h = &history{begun: a.round.Load()} // Each earlier round was ended by a Reset.
		a.history.Store(h)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.marks = append(h.marks, period{serial: serial, noted: a.round.Add(1)})
}

// knows says whether the history has a checkpoint.
func (a *Arena) knows(serial uint64) bool {
	h := a.history.Load()
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.marks, func(p period) bool { return p.serial == serial })
}

// noteRewind ends the values made since a checkpoint.
func (a *Arena) noteRewind(serial uint64) {
	h := a.history.Load()
	h.mu.Lock()
	defer h.mu.Unlock()
	n := sort.Search(len(h.marks), func(i int) bool { return h.marks[i].serial > serial })
	h.marks = h.marks[:n]
	h.marks[n-1].rewound = a.round.Add(1)
}

// noteReset ends all that was made. Free does the same.
func (a *Arena) noteReset() {
	h := a.history.Load()
	if h == nil {
		a.round.Add(1)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun, h.marks = a.round.Add(1), h.marks[:0]
}

// since says what gave up what a made in a round: "reset", "rewound", or "" if a has it still. It
// tells the round that it is now.
func (a *Arena) since(made uint64) (how string, now uint64) {
	now = a.round.Load() // Before the history: the first checkpoint makes that, and then begins a round.
	h := a.history.Load()
	if h == nil { // Each later round was begun by a Reset, or by Free.
		if now != made {
			how = "reset"
		}
		return how, now
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	n := sort.Search(len(h.marks), func(i int) bool { return h.marks[i].noted > made })
	switch {
	case made < h.begun:
		how = "reset"
	case n > 0 && made < h.marks[n-1].rewound:
		how = "rewound"
	}
	return how, a.round.Load()
}
