// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"strings"

	"github.com/freehold-go/freehold/offheap"
)

// Cleanup frees a at the end of a test, and returns a, which may be of any kind:
//
//	a := arena.Cleanup(t, arena.NewArena())
//
// Before, it checks a: the test fails if a value was written beside, which [Arena.Check] finds in
// the debug mode guard, or if there is another mistake, such as a copy written over the
// arena. An arena with such damage is not freed. If the test has freed a, Cleanup does nothing.
//
// Cleanups run last in, first out, so a cleanup that is registered later may still use the arena.
// Tests may run in parallel. [CheckLeaks] and [CheckFreed] look at the arenas that the tested code
// makes itself.
func Cleanup(t offheap.TB, a *Arena) *Arena {
	t.Helper()
	if a == nil {
		return nil
	}
	a.check("Cleanup")
	id, made := a.id, a.place()
	t.Cleanup(func() {
		t.Helper()
		if !registered(id) { // The test has freed it.
			return
		}
		if err := freeChecked(a); err != nil {
			t.Errorf("arena %d, which was made by %s, at the end of the test: %v", id, made, err)
		}
	})
	return a
}

// freeChecked frees a, or returns the mistakes that it finds.
func freeChecked(a *Arena) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *offheap.MisuseError:
			err = v
		default:
			panic(v)
		}
	}()
	if err := a.Check(); err != nil {
		return err
	}
	a.Free()
	return nil
}

// CheckFreed makes a test fail at its end if arenas of any kind that were made since the call have
// not been freed, or put back into their [Pool]. It is stricter than [CheckLeaks]: an arena on Go
// memory without Free is no mistake, but no arena reuses its memory. The failure lists the place
// that made each arena, whether the program still has it or the collector has taken it. With the
// kill switch it lists off-heap arenas alone.
//
// Call it before you register cleanups that free arenas: cleanups run last in, first out. Arenas of
// tests that run in parallel count, too.
func CheckFreed(t offheap.TB) {
	t.Helper()
	before := registry.last.Load()
	taken := registry.places.watch(before)
	t.Cleanup(func() {
		t.Helper()
		if text := unfreedSince(before, taken); text != "" {
			t.Errorf("%s", text)
		}
	})
}

// unfreedSince lists the arenas with IDs above a number that are not freed, one line each. taken
// returns the places of those that the collector took.
func unfreedSince(id uint64, taken func() []uintptr) string {
	var b strings.Builder
	for _, i := range List() { // It notices what the collector took, too.
		if i.ID > id && i.Kind != singleName {
			fmt.Fprintf(&b, "freehold: %s, not freed\n", i)
		}
	}
	for _, made := range taken() {
		fmt.Fprintf(&b, "freehold: an arena, made by %s, not freed; the collector took it\n", placeOf(made))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
