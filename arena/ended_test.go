// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

// TestEndedTexts: a use of an arena after Pool.Put speaks of Put, and one after Free of Free.
func TestEndedTexts(t *testing.T) {
	for _, k := range kinds {
		for _, end := range []struct {
			by, says, not string
			f             func(a *Arena)
		}{
			{"Free", "and call Free once", "Put", (*Arena).Free},
			{"Pool.Put", "which was freed by Pool.Put; ", "Free", func(a *Arena) { new(Pool).Put(a) }},
			{"Pool.Put without reuse", "and put it back once", "Free", func(a *Arena) { (&Pool{NoReuse: true}).Put(a) }},
		} {
			a := k.make()
			New[int](a)
			end.f(a)
			for name, f := range map[string]func(){
				"New":      func() { New[int](a) },
				"Stats":    func() { a.Stats() },
				"Free":     a.Free,
				"Pool.Put": func() { new(Pool).Put(a) },
			} {
				text := fmt.Sprint(caught(f))
				line, _, _ := strings.Cut(text, "\n") // In a debug mode the stacks follow.
				line, ok := strings.CutPrefix(line, "arena: "+name+" on arena ")
				if !ok || !strings.Contains(line, end.says) || strings.Contains(line, end.not) {
					t.Errorf("%s: %s after %s: %q", k.name, name, end.by, text)
				}
			}
		}
	}
}

// TestEndedStacks: in each debug mode the report of a use of a freed arena has the call that freed it, and its own.
func TestEndedStacks(t *testing.T) {
	const variable = "FREEHOLD_ARENA_ENDED"
	if os.Getenv(variable) == "" {
		for _, words := range []string{"guard", "leaks", "pointers", "sample=1000"} {
			inModes(t, words, variable+"=1")
		}
		return
	}
	for _, k := range kinds {
		for by, end := range map[string]func(*Arena){"Free": (*Arena).Free, "Pool.Put": func(a *Arena) { new(Pool).Put(a) }} {
			a := k.make()
			m := NewMap[int, int](a, 0)
			New[int](a)
			endHere(end, a)
			for name, f := range map[string]func(){"Free": a.Free, "New": func() { New[int](a) }, "Map.Set": func() { m.Set(1, 1) }} {
				e, ok := caught(func() { useHere(f) }).(*offheap.MisuseError)
				if !ok || e.Kind != "use after Free" || !strings.Contains(e.Freed, "arena.endHere") || !strings.Contains(e.Here, "arena.useHere") {
					t.Errorf("%s: %s after %s: %#v", k.name, name, by, e)
					continue
				}
				for _, says := range []string{"arena: " + name + " on arena ", "found in arena." + name + ", called by", e.Here, "freed", ", by " + by + " of arena " + fmt.Sprint(a.id) + ":\n" + strings.TrimSuffix(e.Freed, "\n")} {
					if !strings.Contains(e.Error(), says) {
						t.Errorf("%s: %s after %s: no %q in %v", k.name, name, by, says, e)
					}
				}
			}
		}
	}
}

//go:noinline
func endHere(end func(*Arena), a *Arena) { end(a) }

//go:noinline
func useHere(f func()) { f() }
