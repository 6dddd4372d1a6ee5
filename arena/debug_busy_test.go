// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/offheap"
)

// inBusyModes runs the rest of a test in a child for each mode in which an arena has a busy word, and says
// whether this is such a child.
func inBusyModes(t *testing.T) bool {
	t.Helper()
	if sanitize.Race {
		t.Skip("the race detector finds the two goroutines, and a busy word would hide them from it")
	}
	const variable = "FREEHOLD_ARENA_BUSY"
	if os.Getenv(variable) != "" {
		return true
	}
	for _, words := range []string{"guard", "guard,guardmaps=1", "guard,leaks,pointers"} {
		inModes(t, words, variable+"=1")
	}
	return false
}

// parkedIn runs f in a goroutine, which it stops where f has begun to use an arena. goOn lets f end, and returns
// what f has panicked with, or nil.
func parkedIn(f func()) (goOn func() any) {
	begun, on, end := make(chan struct{}), make(chan struct{}), make(chan any)
	busyHook = func() {
		busyHook = nil
		close(begun)
		<-on
	}
	go func() { end <- caught(f) }()
	<-begun
	return func() any {
		close(on)
		return <-end
	}
}

// busyUses are the functions that change an arena.
var busyUses = map[string]func(a *Arena, c Checkpoint){
	"New":         func(a *Arena, _ Checkpoint) { New[int](a) },
	"MakeSlice":   func(a *Arena, _ Checkpoint) { MakeSlice[int](a, 9, 9) },
	"Append":      func(a *Arena, _ Checkpoint) { Append(a, []int{1}, 2) },
	"String":      func(a *Arena, _ Checkpoint) { String(a, "text") },
	"UnsafeGoMap": func(a *Arena, _ Checkpoint) { newGoMap[int, int](a, 9) },
	"Checkpoint":  func(a *Arena, _ Checkpoint) { a.Checkpoint() },
	"Rewind":      func(a *Arena, c Checkpoint) { a.Rewind(c) },
	"Reset":       func(a *Arena, _ Checkpoint) { a.Reset(Keep) },
	"Free":        func(a *Arena, _ Checkpoint) { a.Free() },
	"Pool.Put":    func(a *Arena, _ Checkpoint) { new(Pool).Put(a) },
}

// TestTwoGoroutines: in the debug modes a goroutine that uses an arena while another one does so panics and says
// what to do. The other goroutine and the arena are none the worse.
func TestTwoGoroutines(t *testing.T) {
	if !inBusyModes(t) {
		return
	}
	for _, k := range kinds {
		for first := range busyUses {
			for second := range busyUses {
				if !strings.Contains(k.name, "hared") {
					twoGoroutines(t, k.name, k.make(), first, second)
				}
			}
		}
	}
}

func twoGoroutines(t *testing.T, kind string, a *Arena, first, second string) {
	t.Helper()
	what := fmt.Sprintf("%s: %s beside %s", kind, second, first)
	c := a.Checkpoint()
	goOn := parkedIn(func() { busyUses[first](a, c) })
	v := caught(func() { busyUses[second](a, c) })
	err, ok := v.(*offheap.MisuseError)
	if !ok || err.Kind != "concurrent use" {
		t.Errorf("%s: panic %v, want a MisuseError", what, v)
	} else {
		for _, says := range []string{"arena: " + second + " on arena " + fmt.Sprint(a.id), "another goroutine", "NewShared", "an arena of its own", "_test.go:"} {
			if !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "copy") {
				t.Errorf("%s: no %q in %q", what, says, err)
			}
		}
	}
	if v := goOn(); v != nil {
		t.Errorf("%s: then %s panics: %v", what, first, v)
	}
	if first != "Free" && first != "Pool.Put" {
		if v := caught(func() { New[int](a); a.Free() }); v != nil {
			t.Errorf("%s: the arena is unusable afterwards: %v", what, v)
		}
	}
}

// TestSharedArenaIsBusy: a shared arena serves two goroutines in the debug modes, too: the second one takes another
// part, or waits.
func TestSharedArenaIsBusy(t *testing.T) {
	if !inBusyModes(t) {
		return
	}
	for _, k := range kinds {
		for name, use := range busyUses {
			if !strings.Contains(k.name, "hared") {
				continue
			}
			a := k.make()
			c := a.Checkpoint()
			goOn := parkedIn(func() { MakeSlice[int](a, 5, 5) })
			end := make(chan any, 1)
			ended := func() {
				if v := <-end; v != nil {
					t.Errorf("%s: %s beside MakeSlice: %v", k.name, name, v)
				}
			}
			go func() { end <- caught(func() { use(a, c) }) }()
			if v := goOn(); v != nil && !strings.Contains(fmt.Sprint(v), "which was freed") {
				t.Errorf("%s: MakeSlice beside %s: %v", k.name, name, v)
			}
			ended()
		}
	}
}

// TestBusyAgain: calls of an arena within other ones are right, and a panic does not leave the arena busy.
func TestBusyAgain(t *testing.T) {
	if !inBusyModes(t) {
		return
	}
	for _, k := range kinds {
		a := k.make()
		for what, f := range map[string]func(){
			"a Map in a loop over it": func() {
				m := NewMap[int, int](a, 0)
				m.Set(1, 1)
				for i := range m.All() {
					m.Set(i+100, *New[int](a))
				}
			},
			"Collect":        func() { Collect(a, func(yield func(int) bool) { yield(*New[int](a)) }) },
			"Builder":        func() { b := NewBuilder(a); fmt.Fprintf(b, "%v", told(func() string { return String(a, "x") })) },
			"another arena":  func() { b := k.make(); New[int](b); New[int](a); b.Free() },
			"another pool's": func() { p := new(Pool); b := p.Get(); New[int](b); New[int](a); p.Put(b) },
		} {
			if v := caught(f); v != nil {
				t.Errorf("%s: %s: %v", k.name, what, v)
			}
		}
		old := a.Checkpoint()
		a.Reset(Keep)
		for what, f := range map[string]func(){
			"limit":      func() { defer a.SetLimit(a.SetLimit(1)); MakeSlice[int](a, 1<<20, 1<<20) },
			"checkpoint": func() { a.Rewind(old) },
			"mode":       func() { a.Reset(-5) },
			"entries":    func() { newGoMap[int, int](a, -1) },
			"copy":       func() { New[int](copyOf(a)) },
		} {
			if caught(f) == nil {
				t.Errorf("%s: %s: no panic", k.name, what)
			}
			if v := caught(func() { New[int](a) }); v != nil {
				t.Errorf("%s: New after a panic because of the %s: %v", k.name, what, v)
			}
		}
		a.Free()
	}
}

// A told is an argument whose text is that of a function.
type told func() string

func (f told) String() string { return f() }
