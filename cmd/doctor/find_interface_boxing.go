// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/source"
)

const (
	// boxingEntry is the part of a site's CPU time that must be in making interfaces.
	boxingEntry = 0.5
	// boxingKept is a part of the bytes. If more than that is in use, the values count as kept.
	boxingKept = 0.5
)

// findBoxing finds values that are allocated only to become interfaces: arguments of functions that
// take any, containers of any, slices put into a pool.
func findBoxing(a *account) []Finding {
	var sites []*site
	for _, s := range a.free() {
		if s.at.User && boxed(s) && s.inuseBytes < boxingKept*s.allocBytes {
			sites = append(sites, s)
		}
	}
	var found []Finding
	for _, u := range a.groups(sites, a.cost, minGain/3*a.total) {
		at := u.sites[0].at
		f := a.finding(u.sites, a.gain(u.sites, 0))
		what := "values"
		f.Remedy = Remedy{
			Text: "Let the function or the container take the type itself, by a type parameter or a method of its own, or pass a pointer to an existing value. A container of package container/heap " +
				"or container/list boxes each element.",
			Snippet: "- func add(queue *heap.Interface, v any)\n+ func add[T any](queue *queue[T], v T)",
		}
		for _, m := range a.allocatesAt(at) {
			if m.Kind != source.KindInterface {
				continue
			}
			what = fmt.Sprintf("%s (%s)", m.Text, m.Type.Short)
			f.Evidence["expression"], f.Evidence["type"] = m.Text, m.Type.Name
			if m.Type.Slice && strings.HasSuffix(m.Into, ".Put") {
				f.Remedy.Text = "Put a pointer to the slice into the pool: each Put of a slice allocates a box, which costs as much as the pool saves."
				f.Remedy.Snippet = fmt.Sprintf("- %s(%s)\n+ %s(&%s) // and New returns a pointer", m.Into, m.Text, m.Into, m.Text)
			}
			break
		}
		f.Detail = fmt.Sprintf("The conversion of %s to an interface allocates, at %s: %s.", what, a.places(u.sites), a.madeObjects(a.sum(u.sites)))
		f.Check = []string{
			"The line's objects in a new heap profile (-sample_index=alloc_objects).",
			"go build -gcflags=-m says \"escapes to heap\" of each value that is boxed.",
		}
		found = append(found, f)
	}
	return ranked(found)
}

// boxed reports whether a site's memory is made by the functions that put a value into an
// interface.
func boxed(s *site) bool {
	boxing, all := 0.0, 0.0
	for entry, ns := range s.entries {
		all += ns
		if strings.HasPrefix(entry, "runtime.convT") {
			boxing += ns
		}
	}
	return all > 0 && boxing >= boxingEntry*all
}
