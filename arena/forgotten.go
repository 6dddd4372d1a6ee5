// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"cmp"
	"slices"
	"sync"
)

// A ForgottenPlace is a call that made arenas on Go memory that the collector took without Free.
type ForgottenPlace struct {
	Made   string // Function, file and line of the call, as in Info.
	Arenas uint64 // That were made there and died without Free so far.
}

// ForgottenPlaces lists the places that made the arenas that [Totals] counts as Forgotten, those
// with the most arenas first. It needs no debug mode. An arena without Free is no mistake; with
// Free its memory is reused, and does not wait for the collector. If there are more than 1024
// places, arenas of the later ones count as made at "other places".
func ForgottenPlaces() []ForgottenPlace {
	eachRecord(func(*record, bool) {}) // Finds those that the collector took meanwhile.
	p := &registry.places
	p.mu.Lock()
	defer p.mu.Unlock()
	byName := make(map[string]uint64, len(p.count)) // Calls that were inlined share a place.
	for pc, n := range p.count {
		byName[placeOf(pc)] += n
	}
	if p.others > 0 {
		byName["other places"] = p.others
	}
	list := make([]ForgottenPlace, 0, len(byName))
	for name, n := range byName {
		list = append(list, ForgottenPlace{name, n})
	}
	slices.SortFunc(list, func(x, y ForgottenPlace) int {
		return cmp.Or(cmp.Compare(y.Arenas, x.Arenas), cmp.Compare(x.Made, y.Made))
	})
	return list
}

// mostPlaces bounds the memory for places.
const mostPlaces = 1024

// forgottenPlaces counts arenas by the program counter of the call that made them.
type forgottenPlaces struct {
	mu      sync.Mutex
	count   map[uintptr]uint64
	others  uint64
	watches []*watch
}

// A watch gathers the places of arenas with IDs above a number.
type watch struct {
	after uint64
	made  []uintptr
}

// watch gathers the places of the arenas with IDs above a number that are forgotten until the caller
// calls end, which returns them.
func (p *forgottenPlaces) watch(after uint64) (end func() []uintptr) {
	w := &watch{after: after}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watches = append(p.watches, w)
	return func() []uintptr {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.watches = slices.DeleteFunc(p.watches, func(o *watch) bool { return o == w })
		return w.made
	}
}

// add counts the arena with that ID, which the call at pc made.
func (p *forgottenPlaces) add(id uint64, pc uintptr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.watches {
		if id > w.after {
			w.made = append(w.made, pc)
		}
	}
	if p.count == nil {
		p.count = make(map[uintptr]uint64)
	}
	if _, known := p.count[pc]; !known && len(p.count) == mostPlaces {
		p.others++
		return
	}
	p.count[pc]++
}
