// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/freehold-go/freehold/cmd/doctor/source"
	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

const (
	// fieldOrderBytes is the least share of live or allocated bytes that values of the type must
	// have.
	fieldOrderBytes = 0.02
	// fieldOrderLive is the share of the live heap that reordering must save to be reported if it
	// saves less than a hundredth of the CPU time.
	fieldOrderLive = 0.05
)

// ordering is a struct type whose fields are in a costly order, and the sites that allocate it.
type ordering struct {
	*source.Struct
	sites []*site
	saved toll
	bytes float64 // saved per object or element, sizes of the allocator's classes counted
}

// findFieldOrder finds structs that matter and would be smaller, or have their pointers nearer to
// their beginning, in another order. It needs the source.
func findFieldOrder(a *account) []Finding {
	src := a.sources()
	if src == nil {
		return nil
	}
	inuse := 0.0
	for _, s := range a.sites {
		inuse += s.inuseBytes
	}
	known := map[string]*ordering{} // by name and declaration: instances of a generic type have one
	for _, s := range a.sites {
		if s.allocBytes < fieldOrderBytes*a.allocBytes && s.inuseBytes < fieldOrderBytes*inuse {
			continue
		}
		if m, ok := src.StructAt(s.at, func(h source.Kind, l source.Layout) bool { return fits(s, h, l) }); ok {
			t := m.Type.Struct
			key := t.Package + "." + t.Base + " " + t.Declared
			o := known[key]
			if o == nil {
				o = &ordering{Struct: t}
				known[key] = o
			}
			o.add(s, m)
		}
	}
	list := slices.SortedFunc(maps.Values(known), func(o, p *ordering) int { return cmp.Compare(o.Name, p.Name) })
	var found []Finding
	for _, o := range list {
		g := a.gainOf(o.saved, 0)
		if len(o.sites) > 0 && (g.Best() >= minGain || inuse > 0 && o.saved.inuseBytes >= fieldOrderLive*inuse) {
			found = append(found, o.finding(a, g, inuse))
		}
	}
	slices.SortStableFunc(found, func(f, g Finding) int { return cmp.Compare(g.Gain.Best(), f.Gain.Best()) })
	return found
}

// fits reports whether the site's objects can be of the type.
func fits(at *site, h source.Kind, l source.Layout) bool {
	switch h {
	case source.KindNew, source.KindInterface:
		class := source.SizeClass(l.Size, l.Pointers > 0)
		for size, n := range at.sizes {
			if n > 0 && size != l.Size && size != class {
				return false
			}
		}
		return true
	case source.KindSlice, source.KindAppend:
		return at.objectSize() >= float64(l.Size)
	}
	return false
}

// add counts what the better order saves at a site.
func (o *ordering) add(s *site, m source.Expression) {
	from, to := float64(o.From.Size), float64(o.To.Size)
	if m.Kind == source.KindNew || m.Kind == source.KindInterface {
		from, to = float64(source.SizeClass(o.From.Size, o.From.Pointers > 0)), float64(source.SizeClass(o.To.Size, o.To.Pointers > 0))
	}
	smaller := 1 - to/from
	o.bytes = max(o.bytes, from-to)
	// In objects of up to 512 bytes the collector finds pointers by a bitmap for the whole object.
	// It reads a larger object up to its last pointer.
	unread := s.inuseBytes * s.scan * smaller
	if from > source.MaxHeaderless {
		unread = s.inuseBytes / from * float64(o.From.Pointers-o.To.Pointers)
	}
	if smaller <= 0 && unread <= 0 {
		return
	}
	o.sites = append(o.sites, s)
	o.saved = o.saved.plus(toll{allocBytes: s.allocBytes * smaller, inuseBytes: s.inuseBytes * smaller, scanned: unread, cpu: s.zeroCPU * smaller, zero: s.zeroCPU * smaller})
}

func (o *ordering) finding(a *account, g Gain, inuse float64) Finding {
	t := a.sum(o.sites)
	f := a.finding(o.sites, g)
	f.Evidence["type"] = o.Name
	f.Evidence["size_bytes"] = o.From.Size
	f.Evidence["reordered_size_bytes"] = o.To.Size
	f.Evidence["pointer_bytes"] = o.From.Pointers
	f.Evidence["reordered_pointer_bytes"] = o.To.Pointers
	if inuse > 0 {
		f.Evidence["live_bytes_share"] = round(t.inuseBytes / inuse)
		f.Evidence["saved_live_bytes"] = round(o.saved.inuseBytes)
	}
	f.Detail = fmt.Sprintf("%s takes %d bytes, and the collector reads the first %d. With its fields in another order it takes %d, and the collector reads %d.",
		stack.ShortName(o.Package+"."+o.Base), o.From.Size, o.From.Pointers, o.To.Size, o.To.Pointers)
	// Other remedies for these sites overlap little with this one, because most of the sites' cost
	// stays.
	f.Remedy = Remedy{
		Text: "Put the fields in this order: pointers first, then from wide to narrow. Check the code that depends on the order: literals without field names, encoding/binary, C, " +
			"and code that relies on neighbouring fields (cache lines, atomic access on 32 bits).",
		Snippet: o.Text,
	}
	f.Check = []string{
		"unsafe.Sizeof of the type, in a test: the next field may undo the change.",
		"The bytes in use of " + stack.ShortName(f.Site.Func) + " in a heap profile.",
	}
	return f
}
