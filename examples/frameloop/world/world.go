// SPDX-License-Identifier: Apache-2.0

// Package world is the simulation of a small game twice: its frames make their values on the Go
// heap, or in an arena.
//
// Units walk through a level to goals that change. In each frame each unit searches its way, and the
// frame returns a command for each unit. The level lives as long as the game: the collector marks
// all of it in each collection. The commands die with the next frame, and the tables of a search
// with the search. [World.PlainFrame] leaves all of them to the collector. [World.Frame] makes them
// in an arena that its caller resets after each frame.
package world

import (
	"math/rand/v2"
	"strconv"
)

// A Tile is a field of the level.
type Tile struct {
	X, Y int
	Next []*Tile // The tiles that can be reached from here.
}

// A Command is what one unit does in a frame.
type Command struct {
	Unit  int
	Path  []*Tile // The way from the unit to its goal.
	Label string
}

// A World is the state of the game. It serves one goroutine.
type World struct {
	tiles  []*Tile // Those without a wall, in rows.
	units  []unit
	random *rand.Rand
}

type unit struct{ at, goal *Tile }

// A step is a tile that a search has reached, and the step before it.
type step struct {
	tile   *Tile
	before *step
	length int
}

// reach is the length of the longest way to a new goal.
const reach = 48

// New makes a world with a level of side × side fields, a tenth of them walls, and so many units.
func New(side, units int) *World {
	w := &World{random: rand.New(rand.NewPCG(1, 2))}
	grid := map[[2]int]*Tile{}
	for y := range side {
		for x := range side {
			if w.random.IntN(10) > 0 {
				t := &Tile{X: x, Y: y}
				grid[[2]int{x, y}] = t
				w.tiles = append(w.tiles, t)
			}
		}
	}
	for _, t := range w.tiles {
		for _, d := range [][2]int{{1, 0}, {0, 1}, {-1, 0}, {0, -1}} {
			if next := grid[[2]int{t.X + d[0], t.Y + d[1]}]; next != nil {
				t.Next = append(t.Next, next)
			}
		}
	}
	for range units {
		at := w.tiles[w.random.IntN(len(w.tiles))]
		w.units = append(w.units, unit{at: at, goal: at})
	}
	return w
}

// newGoal gives the unit a goal near its place: where a walk at random leads.
func (w *World) newGoal(u *unit) {
	for range reach {
		if next := u.goal.Next; len(next) > 0 {
			u.goal = next[w.random.IntN(len(next))]
		}
	}
}

// appendLabel appends the text of a command.
func appendLabel(b []byte, unit int, goal *Tile, steps int) []byte {
	b = strconv.AppendInt(append(b, "unit "...), int64(unit), 10)
	b = strconv.AppendInt(append(b, " to "...), int64(goal.X), 10)
	b = strconv.AppendInt(append(b, '/'), int64(goal.Y), 10)
	return strconv.AppendInt(append(b, " in "...), int64(steps), 10)
}

// Sum is a checksum of a frame's commands.
func Sum(commands []Command) (sum uint64) {
	for _, c := range commands {
		for _, t := range c.Path {
			sum = sum*31 + uint64(t.X)<<16 + uint64(t.Y)
		}
		sum = sum*31 + uint64(c.Unit) + uint64(len(c.Label))
	}
	return sum
}
