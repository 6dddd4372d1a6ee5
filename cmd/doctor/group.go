// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"slices"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// A group is the sites that one change would remedy.
type group struct {
	sites []*site      // the dearest first
	scope *stack.Frame // the user's function that all of its stacks contain; nil if there is none
}

// groups groups sites whose memory is made under one function of the user's, so that one arena,
// pool or cache would serve them.
//
// The sites' stacks form a tree of the user's functions, weighted by the sites' cost. groups
// descends from the root as long as one child has nine tenths of the weight. At the node where it
// stops, the sites are one group if nine tenths of the weight are in one package. Otherwise, and at
// functions that are no unit of work (main, tests, a goroutine's loop around everything), it treats
// each child in the same way. Nodes that weigh less than least are left out.
func (a *account) groups(sites []*site, weigh func(*site) float64, least float64) (list []group) {
	root := &node{}
	seen := make([]int, a.code.Functions())
	for i, s := range sites {
		w := weigh(s)
		if w <= 0 {
			continue
		}
		root.weight += w
		root.ways = append(root.ways, way{site: s, weight: w, rest: scopes(s, seen, i+1)})
	}
	root.cut(least, &list)
	slices.SortStableFunc(list, func(g, h group) int { return cmp.Compare(total(h.sites, weigh), total(g.sites, weigh)) })
	return list
}

// node is a function in the tree of the user's functions. Children are made when they are needed.
type node struct {
	at     *stack.Frame // nil at the root
	ways   []way        // sites under it
	weight float64
}

// way leads from a node to a site: the user's functions between, the next one first.
type way struct {
	site   *site
	weight float64
	rest   []*stack.Frame
}

// scopes are the user's functions on a site's stack, outermost first. A recursive function is
// listed once. seen has, by function, the last round that met it.
func scopes(s *site, seen []int, round int) (list []*stack.Frame) {
	for _, f := range slices.Backward(s.frames) {
		if f.User && seen[f.ID] != round {
			seen[f.ID] = round
			list = append(list, f)
		}
	}
	if len(list) == 0 {
		list = append(list, s.owner)
	}
	return list
}

// children are the functions below, and the ways that end here, both in the order of the sites.
func (n *node) children() (list []*node, own []way) {
	byID := map[int]*node{}
	for _, w := range n.ways {
		if len(w.rest) == 0 {
			own = append(own, w)
			continue
		}
		f := w.rest[0]
		c := byID[f.ID]
		if c == nil {
			c = &node{at: f}
			byID[f.ID] = c
			list = append(list, c)
		}
		w.rest = w.rest[1:]
		c.ways = append(c.ways, w)
		c.weight += w.weight
	}
	return list, own
}

// leastKept is the part of the live heap below which memory is not grouped: it is too little to
// save a percent of CPU.
const leastKept = 0.005

// most is the part of the weight from which on a child or a package stands for the whole.
const most = 0.9

// cut adds the groups under the node to the list.
func (n *node) cut(least float64, list *[]group) {
	if n.weight < least {
		return
	}
	children, own := n.children()
	main := slices.ContainsFunc(children, func(c *node) bool { return c.weight >= most*n.weight })
	switch {
	case main && len(own) == 0:
		// The others are small, and groups of their own.
	case n.at != nil && (len(children) == 0 || n.at.Func != "main.main" && onePackage(n.ways)):
		*list = append(*list, groupOf(n.ways, n.at))
		return
	case len(own) > 0:
		*list = append(*list, groupOf(own, n.at))
	}
	for _, c := range children {
		c.cut(least, list)
	}
}

func groupOf(ways []way, scope *stack.Frame) group {
	slices.SortStableFunc(ways, func(v, w way) int { return cmp.Compare(w.weight, v.weight) })
	g := group{scope: scope}
	for _, w := range ways {
		g.sites = append(g.sites, w.site)
	}
	return g
}

// onePackage reports whether nearly all of the weight is of owners in one package.
func onePackage(ways []way) bool {
	byPackage, sum := map[string]float64{}, 0.0
	for _, w := range ways {
		byPackage[w.site.owner.Package] += w.weight
		sum += w.weight
	}
	for _, w := range byPackage {
		if w >= most*sum {
			return true
		}
	}
	return false
}

func total(sites []*site, weigh func(*site) float64) (sum float64) {
	for _, s := range sites {
		sum += weigh(s)
	}
	return sum
}
