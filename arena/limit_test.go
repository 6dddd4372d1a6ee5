// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"math"
	"testing"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/offheap"
)

// rounds are ways to use memory for some values of one type, each of which fits a limit that no two of them fit together.
var rounds = []struct {
	name     string
	pointers bool
	run      func(a *Arena) error
}{
	{"nodes", true, func(a *Arena) error { return many[node](a, 600_000/56) }},
	{"words", false, func(a *Arena) error { return many[point](a, 600_000/16) }},
	{"flags", false, func(a *Arena) error { return many[[5]flag](a, 600_000/5) }},
	{"odd", false, func(a *Arena) error { return many[odd](a, 600_000/3) }},
	{"large", false, func(a *Arena) error { _, err := TryMakeSlice[int64](a, 70_000, 70_000); return err }},
	{"larger", false, func(a *Arena) error { _, err := TryMakeSlice[int64](a, 75_000, 75_000); return err }},
	{"appended", true, func(a *Arena) (err error) {
		for s := []*node(nil); len(s) < 30_000 && err == nil; {
			s, err = tryAppend(a, s, nil, nil)
		}
		return err
	}},
}

func many[T any](a *Arena, n int) error {
	for range n {
		if _, err := TryNew[T](a); err != nil {
			return err
		}
	}
	return nil
}

// TestLimitForgetsRounds: what one round may take the next one may, whatever chunks the one before it left.
func TestLimitForgetsRounds(t *testing.T) {
	chunked(t)
	turns := 3
	if testing.Short() {
		turns = 2 // The second finds what the first left.
	}
	for _, k := range kinds {
		if k.name == "NewFixed" || k.name == "Pool" {
			continue
		}
		a := k.make()
		a.SetLimit(1_000_000)
		for range turns {
			for i, r := range rounds {
				if r.pointers && !k.pointers {
					continue
				}
				c := a.Checkpoint()
				if err := r.run(a); err != nil {
					t.Errorf("%s: %s: %v", k.name, r.name, err)
				}
				if held := a.Stats().Held; held > 1_000_000 {
					t.Errorf("%s: %s: %d bytes held with a limit of 1000000", k.name, r.name, held)
				}
				if i%2 == 0 {
					a.Rewind(c)
				} else {
					a.Reset(Keep)
				}
			}
		}
		a.Free()
	}
}

// TestLimitForgetsPool is the same for arenas that begin with the chunks of others.
func TestLimitForgetsPool(t *testing.T) {
	chunked(t)
	pool := &Pool{Arenas: 1}
	for range 3 {
		for _, r := range rounds {
			a := pool.Get()
			a.SetLimit(1_000_000)
			if err := r.run(a); err != nil {
				t.Errorf("%s: %v", r.name, err)
			}
			pool.Put(a)
		}
	}
}

// TestLimitUsed: an arena uses what its limit allows, in chunks that are as large as it allows.
func TestLimitUsed(t *testing.T) {
	chunked(t)
	if debugmode.Current().On() {
		t.Skip("a mode keeps values elsewhere")
	}
	for _, k := range kinds {
		a := k.make()
		if k.name == "NewFixed" || a.shared != nil {
			a.Free()
			continue
		}
		a.SetLimit(1_000_000)
		err := many[point](a, 1_000_000)
		if s := a.Stats(); !errors.Is(err, offheap.ErrLimit) || s.InUse < 999_000 || s.Held > 1_000_000 || s.Chunks > 60 {
			t.Errorf("%s: with a limit of 1000000 bytes: %+v and %v", k.name, s, err)
		}
		a.Free()
	}
}

// TestLimitOfPurpose: where it is the account of an off-heap arena that refuses a chunk, spare ones go, too, and
// smaller ones are tried.
func TestLimitOfPurpose(t *testing.T) {
	chunked(t)
	p := offheap.NewPurpose("arena limits")
	a := NewOffHeap(Options{Purpose: p})
	defer a.Free()
	p.SetLimit(8_000_000) // The chunks of a round are of many sizes, each of which takes a slab.
	for _, r := range rounds {
		if r.pointers {
			continue
		}
		if err := r.run(a); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
		a.Reset(Keep)
	}
	_ = many[point](a, 1_000_000)
	if s := a.Stats(); s.InUse < 6_000_000 || s.Chunks > 200 {
		t.Errorf("with a purpose of 8000000 bytes: %+v", s)
	}
	// Bools have chunks that are blocks of their type.
	if _, err := TryMakeSlice[bool](a, 8<<20, 8<<20); !errors.Is(err, offheap.ErrLimit) {
		t.Errorf("bools beyond the purpose's limit: %v", err)
	}
}

// TestLimitLeavesRoom: a round that fits the limit fits it again, although chunks grow from round to
// round: the chunk of one type leaves room for the others.
func TestLimitLeavesRoom(t *testing.T) {
	chunked(t)
	for name, a := range map[string]*Arena{
		"own": NewArena(), "shared": NewShared(), "no reuse": NewWith(Options{NoReuse: true}), "off-heap": NewOffHeap(Options{}),
	} {
		a.SetLimit(64 << 10)
		for round := range 12 {
			for range 15 {
				MakeSlice[uint64](a, 128, 128)
			}
			if _, err := TryNew[flag](a); err != nil {
				t.Errorf("%s: round %d with %+v: %v", name, round, a.Stats(), err)
				break
			}
			a.Reset([]Mode{GiveBack, Keep}[round/6])
		}
		a.Free()
	}
}

// TestLimitBeyondAddresses: a limit that exceeds all addresses of a 32-bit system leaves room for
// every chunk.
func TestLimitBeyondAddresses(t *testing.T) {
	a := NewArena()
	defer a.Free()
	for _, l := range []int64{64 << 30, 64<<30 + 1000, math.MaxInt64} {
		a.SetLimit(l)
		if n, ahead, limited := a.rec.room(); n < 1<<31 || ahead < 1<<31 || !limited {
			t.Errorf("a limit of %d bytes leaves room for %d, plans for %d of them", l, n, ahead)
		}
	}
}
