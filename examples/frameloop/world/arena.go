// SPDX-License-Identifier: Apache-2.0

package world

import "github.com/freehold-go/freehold/arena"

// Frame moves the units by one tile and returns their commands, in a. The commands, with their paths
// and labels, are valid until a is reset or freed. The tiles that they point to lie on the Go heap:
// an arena takes pointers to any memory.
func (w *World) Frame(a *arena.Arena) []Command {
	commands := arena.MakeSlice[Command](a, 0, len(w.units)) // append never grows it.
	var label [64]byte
	for i := range w.units {
		u := &w.units[i]
		if u.at == u.goal {
			w.newGoal(u)
		}
		path := pathIn(a, u)
		if len(path) > 0 {
			u.at = path[0] // A tile, which lives as long as the level. A path must not be kept.
		}
		commands = append(commands, Command{i, path, arena.String(a, appendLabel(label[:0], i, u.goal, len(path)))})
	}
	return commands
}

// pathIn returns the shortest way of a unit to its goal, which can be reached, in a.
//
// The search needs a hundred times the memory of its result. So it ends with a Rewind, which frees
// all values that were made since the Checkpoint, and the next search uses the same memory. The
// result must outlive the Rewind: its memory is taken before the Checkpoint.
func pathIn(a *arena.Arena, u *unit) []*Tile {
	path := arena.MakeSlice[*Tile](a, 0, reach)
	before := a.Checkpoint()
	defer a.Rewind(before) // After it reached, queue and all steps are stale.

	steps := arena.Of[step](a) // Looks the type up once, for many steps.
	first := steps.New()
	first.tile = u.at
	reached := arena.NewMap[*Tile, *step](a, 0)
	reached.Set(u.at, first)
	queue := arena.Append(a, nil, first)
	last, _ := reached.Get(u.goal)
	for i := 0; i < len(queue) && last == nil; i++ {
		from := queue[i]
		for _, next := range from.tile.Next {
			// If next is reached already, s is waste, a few bytes until the Rewind. That is cheaper
			// than to look next up twice.
			s := steps.New()
			*s = step{next, from, from.length + 1}
			if _, ok := reached.GetOrSet(next, s); !ok {
				queue = arena.Append(a, queue, s)
			}
		}
		last, _ = reached.Get(u.goal)
	}
	path = path[:last.length] // At most reach. It holds tiles, and no steps, which the Rewind frees.
	for s := last; s.before != nil; s = s.before {
		path[s.length-1] = s.tile
	}
	return path
}
