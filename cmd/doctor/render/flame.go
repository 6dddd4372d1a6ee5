// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// A flame is a flame graph: the calls of a CPU profile as a tree, each with its part of memory
// management.
type flame struct {
	Title string `json:"title"`
	// Names are the names of the nodes' functions.
	Names []string   `json:"names"`
	Root  *flameNode `json:"root"`
}

// A flameNode is a function as called by the nodes above. Names are short because there are
// thousands of them in a page.
type flameNode struct {
	Name     int          `json:"n"`           // index into Names
	Total    int64        `json:"t"`           // CPU time in nanoseconds, with all that it calls
	Memory   int64        `json:"m,omitempty"` // the part of it that went into allocation and collection
	Children []*flameNode `json:"c,omitempty"`
}

// leastWidth is the share of the whole below which a node is left out of the page: it would be
// narrower than half a pixel.
const leastWidth = 1.0 / 2000

// newFlame makes the graph of the profile that doctor.Attributed returns; nil if that is nil or
// empty.
func newFlame(title string, p *profile.Profile) *flame {
	if p == nil {
		return nil
	}
	value := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" })
	if value < 0 {
		return nil
	}
	f := &flame{Title: title, Names: []string{"all"}, Root: &flameNode{}}
	calls := f.calls(p, value)
	for _, c := range calls {
		f.Root.add(c)
	}
	if f.Root.Total <= 0 {
		return nil
	}
	f.Root.grow(calls, 0, int64(float64(f.Root.Total)*leastWidth))
	all := f.Names
	f.Names = nil
	f.rename(f.Root, all, map[int]int{})
	return f
}

// rename keeps only the names that nodes use.
func (f *flame) rename(n *flameNode, all []string, index map[int]int) {
	to, ok := index[n.Name]
	if !ok {
		to = len(f.Names)
		index[n.Name] = to
		f.Names = append(f.Names, all[n.Name])
	}
	n.Name = to
	for _, c := range n.Children {
		f.rename(c, all, index)
	}
}

// A call is a sample: its functions from the root outwards, and its cost.
type call struct {
	names  []int32 // indexes into flame.Names
	total  int64
	memory int64
}

// calls are the samples of a profile. In the allocator they end at its entry, because users cannot
// change its inner functions.
func (f *flame) calls(p *profile.Profile, value int) []call {
	list := make([]call, 0, len(p.Sample))
	known := map[*profile.Function]flameFunc{}
	names := map[string]int32{}
	for _, s := range p.Sample {
		c := call{total: s.Value[value], names: make([]int32, 0, len(s.Location))}
		if isMemoryCost(s) {
			c.memory = c.total
		}
		entry := -1 // of the allocator: the outermost of the runtime's functions at the leaf
		for _, loc := range slices.Backward(s.Location) {
			for _, line := range slices.Backward(loc.Line) { // inlined callees come first
				if line.Function == nil {
					continue
				}
				fn, ok := known[line.Function]
				if !ok {
					fn = f.function(line.Function, names)
					known[line.Function] = fn
				}
				if !fn.runtime {
					entry = -1
				} else if entry < 0 {
					entry = len(c.names)
				}
				c.names = append(c.names, fn.name)
			}
		}
		if c.memory > 0 && entry >= 0 {
			c.names = c.names[:entry+1]
		}
		list = append(list, c)
	}
	return list
}

// A flameFunc is a function of a graph.
type flameFunc struct {
	name    int32 // index into flame.Names
	runtime bool
}

// function adds a function to the graph's names. If another function has the same name, the name is
// in the map already.
func (f *flame) function(fn *profile.Function, names map[string]int32) flameFunc {
	name, ok := names[fn.Name]
	if !ok {
		name = int32(len(f.Names))
		f.Names = append(f.Names, fn.Name)
		names[fn.Name] = name
	}
	return flameFunc{name, stack.IsRuntime(fn.Name, fn.Filename)}
}

func (n *flameNode) add(c call) {
	n.Total, n.Memory = n.Total+c.total, n.Memory+c.memory
}

// grow makes the children of a node from the calls that go through it. The calls' functions at
// depth are the children. Children that cost less than least are left out with their descendants,
// so that a large profile makes no larger tree than a small one. grow reorders calls.
func (n *flameNode) grow(calls []call, depth int, least int64) {
	calls = slices.DeleteFunc(calls, func(c call) bool { return len(c.names) <= depth })
	slices.SortStableFunc(calls, func(a, b call) int { return cmp.Compare(a.names[depth], b.names[depth]) })
	for len(calls) > 0 {
		child := &flameNode{Name: int(calls[0].names[depth])}
		end := 0
		for end < len(calls) && calls[end].names[depth] == calls[0].names[depth] {
			child.add(calls[end])
			end++
		}
		if child.Total >= least {
			child.grow(calls[:end:end], depth+1, least)
			n.Children = append(n.Children, child)
		}
		calls = calls[end:]
	}
	slices.SortFunc(n.Children, func(a, b *flameNode) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
	})
}

// elsewhere are the costs that are not memory management, as doctor.Attributed names them.
var elsewhere = []string{programClass, "profiler"}

// isMemoryCost reports whether a sample is allocation or collection.
func isMemoryCost(s *profile.Sample) bool {
	cost := s.Label[doctor.CostLabel]
	return len(cost) > 0 && !slices.Contains(elsewhere, cost[0])
}
