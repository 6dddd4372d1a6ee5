// SPDX-License-Identifier: Apache-2.0

package alloctest

import "testing"

// maxFailures bounds FailEach: a failed function that never says no would make it run for ever.
const maxFailures = 100_000

// FailEach tests that an allocator survives each failure of the operating system. For n = 1, 2, …
// it gets a fresh allocator from open, whose n-th call to the operating system fails, and runs
// streams of operations beside the model of [Ops]. An error that errors.Is cfg.ErrOutOfMemory is
// then no failure; any other error is. After each stream the blocks must have the contents of the
// model, all blocks must be free again, InUse must be at its start, and allocation must work.
//
// The function failed reports whether a call has failed. FailEach ends with the first n for which
// none did: there are fewer than n calls. If the failed call was one that making the allocator
// needs, open returns nil for the allocator. Close resources in the Cleanup of the t that open
// receives: it runs before the next n.
//
// FailEach fails the test if not even the first call failed, because the injection then does not
// reach the allocator.
func FailEach(t *testing.T, cfg Config, open func(t testing.TB, failAt int) (a Allocator, failed func() bool)) {
	t.Helper()
	cfg = cfg.withDefaults()
	for name, ops := range failStreams() {
		t.Run(name, func(t *testing.T) { failStream(t, cfg, ops, open) })
	}
}

// failStream repeats one stream with each call failing in turn.
func failStream(t testing.TB, cfg Config, ops []byte, open func(t testing.TB, failAt int) (Allocator, func() bool)) {
	t.Helper()
	for n := 1; n <= maxFailures; n++ {
		again := failOne(t, n, cfg, ops, open)
		if t.Failed() {
			t.Fatalf("alloctest: with call %d to the operating system failing", n)
		}
		if again {
			continue
		}
		if n == 1 {
			t.Fatal("alloctest: not even the first call to the operating system failed, so nothing was tested")
		}
		t.Logf("alloctest: each of %d calls to the operating system failed once", n-1)
		return
	}
	t.Fatalf("alloctest: still failing at call %d", maxFailures)
}

// failOne runs a stream with the n-th call failing, and reports whether one failed.
func failOne(t testing.TB, n int, cfg Config, ops []byte, open func(t testing.TB, failAt int) (Allocator, func() bool)) bool {
	t.Helper()
	s := &scope{TB: t}
	defer s.close()
	a, failed := open(s, n)
	if a == nil {
		if !failed() {
			t.Fatalf("alloctest: with call %d to fail there is no allocator, although none failed", n)
		}
		return true
	}
	defer func() {
		if t.Failed() {
			t.Logf("alloctest: call %d to the operating system was to fail", n)
		}
	}()
	m := newModel(s, a, ops, cfg)
	m.mayFail = true
	m.run()
	m.finish()
	return failed()
}

// scope is a testing.TB whose cleanups run when it is closed, not at the end of the test: hundreds
// of allocators, each with its address space, would pile up until then.
type scope struct {
	testing.TB
	cleanups []func()
}

// Cleanup registers a function that close calls.
func (s *scope) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

// close calls the functions registered, last in, first out.
func (s *scope) close() {
	for len(s.cleanups) > 0 {
		f := s.cleanups[len(s.cleanups)-1]
		s.cleanups = s.cleanups[:len(s.cleanups)-1]
		f()
	}
}

// failStreams returns streams that ask the operating system for much with few operations: the price
// of FailEach is their length times the calls that they cause.
func failStreams() map[string][]byte {
	small := []byte{
		byte(opAllocMany), 0, 16, 63, byte(opAllocMany), 4, 1, 63, byte(opAllocMany), 12, 200, 40,
		byte(opFreeMany), 40, byte(opPurge), byte(opAllocMany), 8, 0, 30, byte(opFreeMany), 63 | 64, byte(opAlloc), 0, 40,
	}
	large := []byte{
		byte(opAlloc), 28, 0, byte(opAllocUninit), 27, 9, byte(opAllocAligned), 26, 1, 12,
		byte(opRealloc), 0, 29, 0, byte(opRealloc), 1, 28, 7, byte(opRealloc), 0, 24, 0,
		byte(opFree), 2, byte(opPurge), byte(opAlloc), 29, 1, byte(opFree), 0, byte(opFree), 0, byte(opAlloc), 27, 0,
	}
	var mixed []byte
	for op := range opCount {
		if op == opCollect {
			continue // It calls nothing, and would take most of the time.
		}
		for i := range byte(5) {
			mixed = append(mixed, byte(op), i*3, i*29, i*5, byte(opAlloc), i*5, i*17)
		}
	}
	return map[string][]byte{"small": small, "large": large, "mixed": mixed}
}
