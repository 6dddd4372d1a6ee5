// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// fence is how many bytes a canary has.
const fence = 16

// raiseFences writes the canaries before and behind a value.
func (v *value) raiseFences() {
	unsafex.FillAt(unsafex.Before(v.at, fence), fence, debugmode.Canary)
	unsafex.FillAt(unsafex.Add(v.at, v.size), fence, debugmode.Canary)
}

// damage is the offset of the first damaged byte of a value's canaries, the one nearest to the
// value.
func (v *value) damage() (offset int, damaged bool) {
	switch v.in {
	case inGuard:
		at, ok := debugmode.CheckObject(v.at)
		return at, !ok
	case inFenced:
		for i, c := range unsafex.SliceOf[byte](unsafex.Add(v.at, v.size), fence, fence) {
			if c != debugmode.Canary {
				return int(v.size) + i, true
			}
		}
		before := unsafex.SliceOf[byte](unsafex.Before(v.at, fence), fence, fence)
		for i := range before {
			if before[fence-1-i] != debugmode.Canary {
				return -1 - i, true
			}
		}
	}
	return 0, false
}

// check panics if a canary of the values from the n-th on is damaged.
func (s *debugState) check(op string, id uint64, n int) {
	if s == nil || n >= len(s.values) { // Fewer than at a checkpoint, if a Free has found damage.
		return
	}
	for i := range s.values[n:] {
		if e := s.values[n+i].checked(op, id); e != nil {
			panic(e)
		}
	}
}

// checked is nil if the canaries of a value are whole.
func (v *value) checked(op string, id uint64) *offheap.MisuseError {
	at, damaged := v.damage()
	if !damaged {
		return nil
	}
	where := "right behind"
	switch n := at - int(v.size); {
	case at < 0:
		where = countBytes(-at) + " before"
	case n > 0:
		where = countBytes(n) + " behind"
	}
	b := v.block(id)
	r := debugmode.Misuse("damaged canary", fmt.Sprintf("a byte %s a %s was written", where, b), "found in arena."+op+", called", b.Addr, b, 0)
	r.Advice = "Look for a write beside the value between its allocation and now: an unchecked index, or C code."
	return &offheap.MisuseError{Op: op, Addr: b.Addr, Kind: r.Kind, Detail: r.What, Report: r.Error(),
		Here: r.Access, Allocated: v.alloc.String()}
}

func countBytes(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// Check searches for writes outside the values of a: with the debug mode guard, it
// compares the canaries before and behind values without pointers. It returns an error that joins a
// [*offheap.MisuseError] for each value with a write beside it. It returns nil if there are none,
// or if no such mode is on. Free, Reset and Rewind make the same check for the values that they
// free, and panic. Values of off-heap arenas are blocks, which [offheap.Check] checks.
//
// The time is proportional to the number of values.
func (a *Arena) Check() error {
	if a == nil {
		return nil
	}
	in, lock := a.lock("Check")
	defer lock.unlock()
	return in.checkValues()
}

func (in *state) checkValues() error {
	if in.debug == nil {
		return nil
	}
	var all []error
	for i := range in.debug.values {
		if e := in.debug.values[i].checked("Check", in.self.id); e != nil {
			all = append(all, e)
		}
	}
	return errors.Join(all...)
}
