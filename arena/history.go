// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"sort"
	"sync"
)

// A history says whether an arena still has the values that it made at some moment. An arena has
// one from its first checkpoint on. Moments are rounds of the arena, which rise with each
// Checkpoint, Rewind and Reset, and with Free. Builders and Maps ask when the round has changed,
// from any goroutine that reads them.
type history struct {
	mu    sync.Mutex
	begun uint64 // The round that the last Reset began.
	freed uint64 // The round that the last Rewind began.
	marks []period
}

// A period begins with a checkpoint. Values made in [noted, rewound) are freed.
type period struct{ serial, noted, rewound uint64 }

// noteCheckpoint begins a period.
func (r *record) noteCheckpoint(serial uint64) {
	h := r.history.Load()
	if h == nil {
		h = &history{begun: r.round.Load()} // Each earlier round was ended by a Reset.
		r.history.Store(h)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.marks = append(h.marks, period{serial: serial, noted: r.round.Add(1)})
}

// noteRewind ends the values made since a checkpoint.
func (r *record) noteRewind(serial uint64) {
	h := r.history.Load()
	h.mu.Lock()
	defer h.mu.Unlock()
	n := sort.Search(len(h.marks), func(i int) bool { return h.marks[i].serial > serial })
	h.marks = h.marks[:n]
	h.freed = r.round.Add(1)
	h.marks[n-1].rewound = h.freed
}

// noteReset ends all that was made. Free does the same.
func (r *record) noteReset() {
	h := r.history.Load()
	if h == nil {
		r.round.Add(1)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun, h.marks = r.round.Add(1), h.marks[:0]
}

// since says how the values that the arena made in a round were freed: "reset", "rewound", or "" if
// the arena still has them. now is the present round.
func (r *record) since(made uint64) (how string, now uint64) {
	now = r.round.Load() // Before the history: the first checkpoint makes that, and then begins a round.
	h := r.history.Load()
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
	return how, r.round.Load()
}

// freedSince says how the arena freed values since a round: "reset", "rewound", or "" if it freed
// none. now is the round to note for memory that was taken in the meantime. In a shared arena another
// goroutine may have begun rounds before and after that, so it is not known which of them made the memory.
func (r *record) freedSince(round uint64) (how string, now uint64) {
	if r.round.Load() == round {
		return "", round
	}
	h := r.history.Load()
	if h == nil { // As in since.
		return "reset", r.round.Load()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case round < h.begun:
		how = "reset"
	case round < h.freed:
		how = "rewound"
	}
	return how, r.round.Load()
}
