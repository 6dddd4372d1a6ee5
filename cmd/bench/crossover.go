// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"math"
	"strings"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// The best way often depends on the size. A crossover is the size at which a contestant begins, or
// ceases, to cost less than the Go heap. Between two measured sizes it is interpolated, on
// logarithmic axes as in the chart.

// A crossover is the result for one contestant over the sizes of a workload.
type crossover struct {
	Row    *Row   // of the contestant, at its first size
	Where  string // where it costs less than the Go heap: "from 2.3k on"
	Points []point
}

type point struct{ X, Y float64 }

// crossoverNoise is the distance up to which a ratio on the other side of 1 does not count as a
// crossing.
const crossoverNoise = 0.05

// leastCurve is how many sizes make a curve.
const leastCurve = 3

// crossovers says where each contestant costs less than the heap, if the sizes make a curve.
func (g *group) crossovers() []crossover {
	if len(g.sizes) < leastCurve || g.w.Size == "bytes" || g.w.Inputs != nil {
		return nil
	}
	var found []crossover
	for _, c := range g.w.Contestants {
		if c.Name == g.w.Heap || c.Baseline {
			continue
		}
		if curve := g.curve(c.Name); len(curve) >= leastCurve {
			where, points := g.w.winning(curve)
			found = append(found, crossover{curve[0], where, points})
		}
	}
	return found
}

// curve holds the rows of a contestant that have a ratio to the heap, by size.
func (g *group) curve(contestant string) (rows []*Row) {
	for _, s := range g.sizes {
		for _, r := range s.rows {
			if r.Contestant == contestant && r.Ratio != nil && r.Error == "" {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// winning names the stretches of a curve below the Go heap, and the points where they begin and end.
func (w *Workload) winning(curve []*Row) (where string, points []point) {
	var stretches []string
	from := "" // of the stretch that is open
	open := false
	for i, r := range curve {
		wins := *r.Ratio < 1
		if wins == open || i > 0 && math.Abs(*r.Ratio-1) < crossoverNoise {
			continue
		}
		at := ""
		if i > 0 {
			p := crossing(curve[i-1], r)
			points = append(points, p)
			at = roundCount(p.X)
		}
		if wins {
			from = at
		} else {
			stretches = append(stretches, stretch(from, at))
		}
		open = wins
	}
	if open {
		stretches = append(stretches, stretch(from, ""))
	}
	if len(stretches) == 0 {
		return "nowhere", nil
	}
	return strings.Join(stretches, ", "), points
}

func stretch(from, to string) string {
	switch {
	case from == "" && to == "":
		return "everywhere"
	case from == "":
		return "up to " + to
	case to == "":
		return "from " + from + " on"
	}
	return "from " + from + " to " + to
}

// crossing is where the line between two points of a curve meets the heap's.
func crossing(a, b *Row) point {
	part := math.Log(*a.Ratio) / (math.Log(*a.Ratio) - math.Log(*b.Ratio))
	part = max(0, min(part, 1)) // a may lie on b's side of the heap, by less than the noise
	between := func(x, y float64) float64 { return math.Exp(math.Log(x) + part*(math.Log(y)-math.Log(x))) }
	return point{between(float64(a.N), float64(b.N)), between(a.NsOp, b.NsOp)}
}

// roundCount writes a count with two digits: interpolation is not more precise.
func roundCount(v float64) string {
	digits := math.Pow(10, math.Floor(math.Log10(v))-1)
	return terminal.ExactCount(int(math.Round(v/digits) * digits))
}

// cheapest names the contestants that cost least, the bounds aside, with their sizes.
func (g *group) cheapest() string {
	var parts []string
	last := ""
	for _, s := range g.sizes {
		var best *Row
		for _, r := range s.rows {
			if r.Passes > 0 && r.Error == "" && r.kind() != "bound" && !r.c.Baseline && (best == nil || r.NsOp < best.NsOp) {
				best = r
			}
		}
		if best == nil {
			continue
		}
		if best.Contestant == last {
			parts[len(parts)-1] += ", " + terminal.ExactCount(s.n)
		} else {
			parts = append(parts, best.Contestant+" at "+terminal.ExactCount(s.n))
		}
		last = best.Contestant
	}
	return strings.Join(parts, "; ")
}
