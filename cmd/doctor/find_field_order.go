package doctor

import (
	"cmp"
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"
)

const (
	// fieldOrderBytes is the least part of live or allocated bytes that values of the type must be.
	fieldOrderBytes = 0.02
	// fieldOrderLive is the part of the live heap that reordering must save to be worth a line where it saves less than a hundredth of the CPU time.
	fieldOrderLive = 0.05
)

// ordering is a struct type whose fields stand in a costly order, and what sites allocate of it.
type ordering struct {
	typ      *types.Named
	better   *types.Struct
	from, to layout
	sites    []*site
	saved    toll
	bytes    float64 // saved per object or element, sizes of the allocator's classes counted
}

// findFieldOrder finds structs that matter and would be smaller, or have their pointers nearer to their beginning, in another order. It needs the source.
func findFieldOrder(a *account) []Finding {
	src := a.sources()
	if src == nil {
		return nil
	}
	inuse := 0.0
	for _, s := range a.sites {
		inuse += s.inuseBytes
	}
	known := map[*types.TypeName]*ordering{}
	for _, s := range a.sites {
		if s.allocBytes < fieldOrderBytes*a.allocBytes && s.inuseBytes < fieldOrderBytes*inuse {
			continue
		}
		if m, sizes, ok := src.structAt(s); ok {
			o := known[m.typ.(*types.Named).Obj()]
			if o == nil {
				o = newOrdering(m.typ.(*types.Named), sizes)
				known[o.typ.Obj()] = o
			}
			o.add(s, m)
		}
	}
	list := slices.SortedFunc(maps.Values(known), func(o, p *ordering) int { return cmp.Compare(o.typ.String(), p.typ.String()) })
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

func newOrdering(t *types.Named, sizes types.Sizes) *ordering {
	u := t.Underlying().(*types.Struct)
	better := reordered(u, sizes)
	return &ordering{typ: t, better: better, from: layoutOf(u, sizes), to: layoutOf(better, sizes)}
}

// structAt is the struct type of the module's own of which the site allocates values, if the line leaves no doubt: the size of its objects is that of
// the type, or there is one slice of structs.
func (s *source) structAt(at *site) (m made, sizes types.Sizes, ok bool) {
	f := s.file(at.at)
	if f == nil {
		return made{}, nil, false
	}
	sizes = f.pkg.TypesSizes
	for _, c := range s.madeAt(at.at) {
		named, isNamed := types.Unalias(c.typ).(*types.Named)
		if !isNamed || !s.own(named) || !reorderable(named) {
			continue
		}
		l := layoutOf(named, sizes)
		if l.size == 0 || !fits(at, c.how, l) {
			continue
		}
		if ok && m.typ != types.Type(named) {
			return made{}, nil, false
		}
		c.typ = named
		m, ok = c, true
	}
	return m, sizes, ok
}

// fits reports whether the site's objects can be of the type.
func fits(at *site, h how, l layout) bool {
	switch h {
	case byNew, byInterface:
		class := sizeClass(l.size, l.pointers > 0)
		for size, n := range at.sizes {
			if n > 0 && size != l.size && size != class {
				return false
			}
		}
		return true
	case bySlice, byAppend:
		return at.objectSize() >= float64(l.size)
	}
	return false
}

// own reports whether the type is declared in the module, where its fields can be moved.
func (s *source) own(t *types.Named) bool {
	pkg := t.Obj().Pkg()
	return pkg != nil && (s.packages[pkg.Path()] != nil && within(s.packages[pkg.Path()].PkgPath, s.module) || within(pkg.Path(), s.module))
}

// reorderable reports whether the type is a struct with at least two fields whose sizes are known and which stand where they are for no reason that shows: blank
// fields pad or mark, and C decides over the order of its own.
func reorderable(t *types.Named) bool {
	u, ok := t.Underlying().(*types.Struct)
	if !ok || u.NumFields() < 2 || !sized(t, map[types.Type]bool{}) || strings.HasPrefix(t.Obj().Name(), "_C") {
		return false
	}
	for i := range u.NumFields() {
		if u.Field(i).Name() == "_" {
			return false
		}
	}
	return true
}

// sized reports whether the type's size depends on no type parameter.
func sized(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] {
		return true
	}
	seen[t] = true
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for i := range u.NumFields() {
			if !sized(u.Field(i).Type(), seen) {
				return false
			}
		}
	case *types.Array:
		return sized(u.Elem(), seen)
	}
	return true
}

// add counts what the better order saves at a site.
func (o *ordering) add(s *site, m made) {
	from, to := float64(o.from.size), float64(o.to.size)
	if m.how == byNew || m.how == byInterface {
		from, to = float64(sizeClass(o.from.size, o.from.pointers > 0)), float64(sizeClass(o.to.size, o.to.pointers > 0))
	}
	smaller := 1 - to/from
	o.bytes = max(o.bytes, from-to)
	// In objects of up to 512 bytes the collector finds pointers by a bitmap, whose length is that of the object; larger ones it reads to their last pointer.
	unread := s.inuseBytes * s.scan * smaller
	if from > maxHeaderless {
		unread = s.inuseBytes / from * float64(o.from.pointers-o.to.pointers)
	}
	if smaller <= 0 && unread <= 0 {
		return
	}
	o.sites = append(o.sites, s)
	o.saved = o.saved.plus(toll{allocBytes: s.allocBytes * smaller, inuseBytes: s.inuseBytes * smaller, scanned: unread, cpu: s.zeroCPU * smaller, zero: s.zeroCPU * smaller})
}

func (o *ordering) finding(a *account, g Gain, inuse float64) Finding {
	name := o.typ.Obj().Name()
	t := a.sum(o.sites)
	f := a.finding(o.sites, g)
	f.Evidence["type"] = o.typ.String()
	f.Evidence["size_bytes"] = o.from.size
	f.Evidence["reordered_size_bytes"] = o.to.size
	f.Evidence["pointer_bytes"] = o.from.pointers
	f.Evidence["reordered_pointer_bytes"] = o.to.pointers
	if inuse > 0 {
		f.Evidence["live_bytes_share"] = round(t.inuseBytes / inuse)
		f.Evidence["saved_live_bytes"] = round(o.saved.inuseBytes)
	}
	f.Detail = fmt.Sprintf("%s takes %d bytes, of which the collector reads the first %d; with its fields in another order %d and %d.",
		shortName(o.typ.Obj().Pkg().Path()+"."+name), o.from.size, o.from.pointers, o.to.size, o.to.pointers)
	// Overlap with what a remedy does to these sites is small: most of their cost stays.
	f.Remedy = Remedy{
		Text: "Put the fields in this order: pointers first, then from wide to narrow. Literals without field names, encoding/binary, C and code that relies on neighbouring fields " +
			"(cache lines, atomic access on 32 bits) notice.",
		Snippet: structText(name, o.better, types.RelativeTo(o.typ.Obj().Pkg())),
	}
	f.Check = []string{
		"unsafe.Sizeof of the type in a test, so that the next field does not undo it.",
		"The bytes in use of " + shortName(f.Site.Func) + " in a heap profile.",
	}
	return f
}
