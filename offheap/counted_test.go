// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/alloctest"
)

func TestCountedManyOwners(t *testing.T) {
	quiet(t)
	for round := range 50 {
		n := 1 + round*round*50
		before := ReadStats().InUse
		s := NewCounted(n)
		if len(s.Bytes()) != n || !allZero(s.Bytes()) {
			t.Fatalf("%d bytes, want %d zero ones", len(s.Bytes()), n)
		}
		fill(s.Bytes(), round)
		var owners sync.WaitGroup
		for range 8 {
			mine := s.Retain()
			owners.Go(func() {
				for range 200 {
					other := mine.Retain()
					if !filled(other.Bytes(), round) {
						t.Error("the bytes changed under an owner")
					}
					other.Release()
					if n > 10_000 {
						break // One look at so much is enough.
					}
				}
				mine.Release()
			})
		}
		s.Release() // The others go on without the first owner.
		owners.Wait()
		if now := ReadStats().InUse; now != before {
			t.Fatalf("%d bytes are left after the last release", now-before)
		}
	}
}

//go:noinline
func releaseLast(s *Counted) { s.Release() }

//go:noinline
func releaseTooMany(s *Counted) { s.Release() }

//go:noinline
func readTooLate(s *Counted) { s.Bytes() }

//go:noinline
func retainTooLate(s *Counted) { s.Retain() }

// TestCountedNamesBothPlaces looks for the functions that released it, first and once too often.
func TestCountedNamesBothPlaces(t *testing.T) {
	quiet(t)
	s := NewCounted(100)
	s.Retain()
	s.Release()
	ended := make(chan struct{})
	go func() {
		releaseLast(s)
		close(ended)
	}()
	<-ended
	for what, f := range map[string]func(*Counted){"releaseTooMany": releaseTooMany, "readTooLate": readTooLate, "retainTooLate": retainTooLate} {
		m := wantMisuse(t, what, "use after the last Release", func() { f(s) })
		message := m.Error()
		first, second := strings.Index(message, "releaseLast"), strings.Index(message, what)
		if first < 0 || second < first || !strings.Contains(message, "counted_test.go:") || !strings.HasPrefix(m.Op, "Counted.") {
			t.Errorf("%s: the message names not both places, the release before this call:\n%s", what, message)
		}
	}
	// The refused calls changed nothing: the block is not freed twice, and another may have it.
	b := Alloc(100)
	fill(b, 1)
	alloctest.MustPanic(t, func() { s.Release() }, "last Release")
	if !filled(b, 1) {
		t.Error("a release too many changed a block of somebody else")
	}
	Free(b)
}

// TestCountedLastReleaseRaces lets all owners release at once: exactly one frees.
func TestCountedLastReleaseRaces(t *testing.T) {
	quiet(t)
	for range 500 {
		s := NewCounted(1000)
		for range 3 {
			s.Retain()
		}
		var owners sync.WaitGroup
		for range 4 {
			owners.Go(s.Release)
		}
		owners.Wait()
		wantMisuse(t, "fifth release", "use after the last Release", s.Release)
	}
}

// TestCountedReleasedAtOnce: of two Releases of one owner at the same time, the panic of the second
// has the stack of the first.
func TestCountedReleasedAtOnce(t *testing.T) {
	for range 200 {
		c := NewCounted(100)
		errs := [2]any{}
		ways := [2]func(){func() { releaseHere(c) }, func() { releaseThere(c) }}
		var both sync.WaitGroup
		for i, f := range ways {
			both.Go(func() {
				defer func() { errs[i] = recover() }()
				f()
			})
		}
		both.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("not one of two Releases panicked: %v, %v", errs[0], errs[1])
		}
		for i, names := range [2][2]string{{"releaseThere", "releaseHere"}, {"releaseHere", "releaseThere"}} {
			if errs[i] == nil {
				continue
			}
			last, this, _ := strings.Cut(errs[i].(error).Error(), "this Release:")
			if !strings.Contains(last, names[0]) || !strings.Contains(this, names[1]) {
				t.Fatalf("the last Release was in %s, and the panic says:\n%v", names[0], errs[i])
			}
		}
	}
}

//go:noinline
func releaseHere(c *Counted) { c.Release() }

//go:noinline
func releaseThere(c *Counted) { c.Release() }
