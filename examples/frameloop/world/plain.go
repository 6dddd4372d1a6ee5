// SPDX-License-Identifier: Apache-2.0

package world

// PlainFrame moves the units by one tile and returns their commands, on the Go heap.
func (w *World) PlainFrame() []Command {
	commands := make([]Command, 0, len(w.units))
	var label [64]byte
	for i := range w.units {
		u := &w.units[i]
		if u.at == u.goal {
			w.newGoal(u)
		}
		path := plainPath(u)
		if len(path) > 0 {
			u.at = path[0]
		}
		commands = append(commands, Command{i, path, string(appendLabel(label[:0], i, u.goal, len(path)))})
	}
	return commands
}

// plainPath returns the shortest way of a unit to its goal, which can be reached.
func plainPath(u *unit) []*Tile {
	first := &step{tile: u.at}
	reached := map[*Tile]*step{u.at: first}
	queue := []*step{first}
	for i := 0; i < len(queue) && reached[u.goal] == nil; i++ {
		from := queue[i]
		for _, next := range from.tile.Next {
			if _, ok := reached[next]; !ok {
				s := &step{next, from, from.length + 1}
				reached[next] = s
				queue = append(queue, s)
			}
		}
	}
	last := reached[u.goal]
	path := make([]*Tile, last.length)
	for s := last; s.before != nil; s = s.before {
		path[s.length-1] = s.tile
	}
	return path
}
