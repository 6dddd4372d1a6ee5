// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/source"
	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/terminal"
)

const (
	// growingSliceOnTheWay is the least part of the bytes that must be objects that the slice
	// outgrew.
	growingSliceOnTheWay = 0.3
	// growingSliceSizes is the least number of sizes over which a site's objects are spread: a
	// slice that grows passes through several.
	growingSliceSizes = 3
	// growingSliceEntry is the part of a site's CPU time that must be in append's growth.
	growingSliceEntry = 0.5
	// growingSliceDoubt is the part of the copying that may remain, because the length is not known
	// well in advance.
	growingSliceDoubt = 0.3
)

// findGrowingSlice finds appends that begin without capacity. They allocate larger and larger
// objects, and copy and drop all but the last.
func findGrowingSlice(a *account) []Finding {
	var all bundles
	for _, s := range a.free() {
		if ownGrowth(s) && grows(s) {
			all.add(s)
		}
	}
	var found []Finding
	for _, u := range all.list {
		var t toll
		var moved, bytes float64
		sizes := 0
		for _, s := range u.sites {
			onTheWay, objects, steps := ladder(s.sizes)
			part := a.sum([]*site{s}).dead().times(onTheWay)
			// The cost of the calls is proportional to the number of objects, the cost of clearing
			// to their bytes.
			part.cpu = s.allocCPU*objects + s.zeroCPU*onTheWay
			t = t.plus(part)
			moved += s.copyCPU
			bytes += s.allocBytes * onTheWay
			sizes = max(sizes, steps)
		}
		f := a.findingAt(u.owner, u.sites, a.gainWith(t, moved, growingSliceDoubt), moved)
		f.Evidence["outgrown_bytes_share"] = round(bytes / max(a.sum(u.sites).allocBytes, 1))
		f.Evidence["sizes"] = sizes
		f.Evidence["copy_cpu_share"] = round(a.share(moved))
		at := u.sites[0].at
		f.Detail = fmt.Sprintf("%s appends to a slice that starts empty: %s of the bytes that it allocates are in arrays that the slice outgrew.", at.Place(), terminal.Percent(bytes/max(a.sum(u.sites).allocBytes, 1)))
		f.Remedy = Remedy{
			Text:    "Give the slice its capacity: the length of the input, or the length that the last slice reached. If the slice does not outlive the call, keep it and start the next one with s[:0]." + a.sortOffer(u.owner),
			Snippet: a.growingSnippet(at),
		}
		f.Check = []string{
			"runtime.growslice in a new CPU profile, and the objects of this line in a heap profile (-sample_index=alloc_objects).",
			"The capacity is close to the real length: the allocator also clears memory that is never used.",
		}
		found = append(found, f)
	}
	return ranked(found)
}

// ownGrowth reports whether the user can choose the capacity: in code of the main module, and in
// the standard library's growing buffers. In other modules the user cannot.
func ownGrowth(s *site) bool {
	switch s.at.Package {
	case "bytes", "strings", "slices", "io", "os":
		return s.at.Std && s.calledByUser() && s.at.Func != "slices.Grow" // which is exact
	}
	return s.at.User
}

// grows reports whether a site's objects are steps of growing slices.
func grows(s *site) bool {
	var growth, all float64
	for entry, ns := range s.entries {
		all += ns
		if strings.HasSuffix(entry, ".growslice") {
			growth += ns
		}
	}
	if all == 0 || growth < growingSliceEntry*all {
		return false
	}
	onTheWay, _, steps := ladder(s.sizes)
	return onTheWay >= growingSliceOnTheWay && steps >= growingSliceSizes
}

// growingSnippet shows the append of the line if the source is at hand.
func (a *account) growingSnippet(at *stack.Frame) string {
	for _, m := range a.allocatesAt(at) {
		if m.Kind == source.KindAppend {
			return fmt.Sprintf("+ %s = make([]%s, 0, n) // before the loop; n: the number of elements\n  %s = %s", m.Into, m.Type.Short, m.Into, m.Text)
		}
	}
	return "- var list []T\n+ list := make([]T, 0, len(input))\n  for _, v := range input {\n      list = append(list, f(v))\n  }"
}
