// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

// raced is who catches a race, whatever else the program does.
func raced() []Sight { return []Sight{{By: []Mode{Race}, Says: []string{"DATA RACE"}}} }

// races are programs in which nothing orders two goroutines that use the same memory. Those that
// also use it after it is free are caught by what catches that, if the goroutines happen to come in
// this order, as they do here.
func races() []Case {
	free := append(gone(byFree, "Delete", reads), raced()...)
	reset := append(gone(byReset, "Reset", reads), raced()...)
	return []Case{
		{Name: "race-value", Text: "writes a value in two goroutines at once", Run: three(raceValue[node], raceValue[point]), Seen: raced()},
		{Name: "race-bytes", Text: "writes the same bytes in two goroutines at once", Run: two(raceBytes), Seen: raced()},
		{Name: "race-read-write", Text: "reads a value while another goroutine writes it", Run: three(raceReadWrite[node], raceReadWrite[point]), Seen: raced()},
		{Name: "race-arena", Text: "allocates from an arena for one goroutine in two", Run: only(Plain, raceArena), Seen: raced(), Loose: true},
		{Name: "race-local", Text: "allocates from one Local in two goroutines", Run: only(OffHeap, raceLocal), Seen: raced(), Loose: true},
		{Name: "race-free", Text: "frees a value that another goroutine reads, with nothing that orders them", Run: three(raceFree[node](byFree), raceFree[point](byFree)), Seen: free},
		{Name: "race-reset", Text: "resets the arena of a value that another goroutine reads", Run: three(raceFree[node](byReset), raceFree[point](byReset)), Seen: reset},
	}
}

// A secret says that something has happened, and the race detector does not hear of it: to it, what
// comes before and what comes behind are unordered. Goroutines ordered by the clock would now and
// then come the other way round, and of two accesses in the same few nanoseconds the detector can
// miss both.
type secret struct{ happened bool }

//go:norace
//go:noinline
func (s *secret) tell() { s.happened = true }

//go:norace
//go:noinline
func (s *secret) known() bool { return s.happened }

// wait yields until it has happened.
func (s *secret) wait() {
	for !s.known() {
		runtime.Gosched()
	}
}

// atOnce runs both in goroutines of their own, g behind f.
func atOnce(f, g func()) {
	var over secret
	first := spawn(func() {
		defer over.tell() // Also when f panics and that is caught: g would wait for good.
		f()
	})
	spawn(func() {
		over.wait()
		g()
	})()
	first()
}

func raceValue[T any, P value[T]](v Variant) {
	h := open(v, byFree)
	p := allocate[T, P](h)
	atOnce(func() { accessWrite(p) }, func() { accessWrite(p) })
	giveUp(h)
}

func raceBytes(v Variant) {
	h := open(v, byFree)
	b := allocateBytes(h, 64)
	atOnce(func() { accessByteWrite(&b[8]) }, func() { accessByteWrite(&b[8]) })
	giveUp(h)
}

func raceReadWrite[T any, P value[T]](v Variant) {
	h := open(v, byFree)
	p := allocate[T, P](h)
	atOnce(func() { accessRead(p) }, func() { accessWrite(p) })
	giveUp(h)
}

func raceArena(Variant) {
	a := arena.NewArena()
	work := func() {
		for range 1000 {
			arena.New[point](a)
		}
	}
	atOnce(work, work)
}

func raceLocal(Variant) {
	l := offheap.NewLocal()
	work := func() {
		for range 100 {
			l.Free(l.Alloc(100))
		}
	}
	atOnce(work, work)
	l.Close()
}

// raceFree reads a value after it was freed. Nothing orders the read and the free.
func raceFree[T any, P value[T]](how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		p := allocate[T, P](h)
		var given secret
		wait := spawn(func() {
			given.wait()
			accessRead(p)
		})
		giveUp(h)
		given.tell()
		wait()
	}
}
