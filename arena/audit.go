// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/freehold-go/freehold/internal/graph"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A Report lists the memory outside an arena that the arena's values point to. [Audit] makes it.
type Report struct {
	Arena  uint64 // ID.
	Made   string // Function, file and line of the call that made it.
	Values int64  // With pointers, that were examined.
	// Inside counts pointers to the arena's own memory. Constant counts pointers to package-level
	// variables, constants and memory off the heap. Neither costs anything.
	Inside, Constant int64
	// Exits are the other pointers, by field, those with the most bytes first.
	Exits []Exit
	// Note gives the reason if the report may be empty although values have pointers.
	Note string
}

// An Exit is one field of one type through which values in the arena point out of it.
type Exit struct {
	// Path names the field: "node.tags[]" stands for the elements of an array in it.
	Path string
	// Type is the field's type, or that of the value in it if it is an interface.
	Type reflect.Type
	// To is the target: "Go heap", "arena 7", or "freed arena" for stale pointers.
	To string
	// Pointers counts the values of the field that lead there, Objects the different addresses.
	Pointers, Objects int64
	// Bytes is the least size of the objects: the memory at the address itself, without memory that
	// it leads to in turn. For a map it is keys and elements, for a function 0.
	Bytes int64
}

// Bytes is the sum over all exits.
func (r *Report) Bytes() (n int64) {
	for _, l := range r.Exits {
		n += l.Bytes
	}
	return n
}

// String is a table for people.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "arena %d, made by %s: %d values with pointers", r.Arena, r.Made, r.Values)
	if len(r.Exits) == 0 {
		b.WriteString(", none of which leads out of it.\n")
	} else {
		fmt.Fprintf(&b, " keep at least %s outside of it:\n\n", bytesText(r.Bytes()))
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintf(w, "  bytes\tobjects\tpointers\tlead to\tfield\ttype\tinstead\n")
		for _, l := range r.Exits {
			fmt.Fprintf(w, "  %s\t%d\t%d\t%s\t%s\t%s\t%s\n", bytesText(l.Bytes), l.Objects, l.Pointers, l.To, l.Path, l.Type, l.instead())
		}
		w.Flush()
	}
	if r.Note != "" {
		fmt.Fprintf(&b, "\n%s\n", r.Note)
	}
	return b.String()
}

// instead is what to do about an exit.
func (l *Exit) instead() string {
	if l.To == toFreed {
		return "a bug: the memory may be another value's by now"
	}
	switch l.Type.Kind() {
	case reflect.String:
		return "arena.String"
	case reflect.Slice:
		return "arena.MakeSlice, Append"
	case reflect.Map:
		return "arena.Map"
	case reflect.Pointer:
		return "arena.New"
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return "-"
	}
	return "arena.New, and a pointer to it"
}

func bytesText(n int64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d B", n)
	case n < 10<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 10<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

const (
	toHeap  = "Go heap"
	toFreed = "freed arena"
)

// Audit reports the memory outside a that the values in a point to, above all strings and slices
// that were not allocated in the arena. The collector must mark and sweep each of them, and they
// live as long as the arena. The time is proportional to the number of values with pointers. The
// program must not change these values meanwhile.
//
// An identity, such as a *time.Location or a reflect.Type (see [DeepClone]), is no exit, nor is
// memory outside the Go heap. If all values of an arena are on the Go heap (the nil arena, or the
// kill switch), its report has a note.
func Audit(a *Arena) *Report {
	if a == nil {
		return &Report{Made: "nobody", Note: "The nil arena allocates on the Go heap and knows no values."}
	}
	r := &Report{}
	a.check("Audit")
	if a.kind == kindShared {
		defer a.lockAll("Audit")()
	}
	r.Arena, r.Made = a.id, a.place()
	switch {
	case a.rec.kind == kindHeap:
		r.Note = "With FREEHOLD=heap every value is on the Go heap by itself, and the arena knows none."
	case a.rec.kind.offHeap():
		r.Note = "An arena off the Go heap holds no Go pointers."
	default:
		au := &auditor{report: r, id: a.id, found: make(map[exitKey]*exit)}
		au.arena(a)
		for _, p := range a.parts {
			au.arena(&p.Arena)
		}
		au.finish()
	}
	return r
}

// An auditor gathers a report.
type auditor struct {
	report  *Report
	id      uint64
	dynamic cloner // For the types in interfaces.
	found   map[exitKey]*exit
	desc    *typeDesc // Of the value that is being examined.
	value   uintptr   // Its address.
}

// An exitKey is a field: its place in values of a type, with index 0 for all elements of an array,
// and the kind of its content.
type exitKey struct {
	desc   *typeDesc
	offset uintptr
	typ    reflect.Type
	to     string
}

type exit struct {
	Exit
	seen map[uintptr]int64 // Bytes by address.
}

// arena examines every value of the arena that may hold pointers.
func (au *auditor) arena(a *Arena) {
	if a.asleep() {
		a.wake()
	}
	for _, b := range a.typed {
		p := auditPlans.plan(b.desc.typ)
		if p.flat() {
			continue
		}
		au.desc = b.desc
		if b.chunk != &noChunk {
			au.chunk(p, b.chunk)
		}
		for _, list := range []*chunk{b.full, b.large} {
			for c := list; c != nil; c = c.next {
				au.chunk(p, c)
			}
		}
	}
}

func (au *auditor) chunk(p *plan, c *chunk) {
	size := p.size * p.units
	for u := uintptr(0); u+size <= c.used; u += size {
		au.report.Values++
		at := unsafex.Add(c.base, u)
		for n := range p.units {
			au.unit(p, unsafex.Add(at, n*p.size), 0)
		}
	}
}

// unit examines one unit. offset is where it, or the first of its array, stands in the value.
func (au *auditor) unit(p *plan, at unsafex.Ptr, offset uintptr) {
	for i := range p.ops {
		o := &p.ops[i]
		w, field := unsafex.Add(at, o.off), offset+o.off
		switch o.kind {
		case opPointer, opMap:
			au.lead(o.typ, w, field, bytesAt)
		case opString, opSlice:
			if *unsafex.As[uintptr](unsafex.Add(w, wordSize)) != 0 || o.kind == opSlice {
				au.lead(o.typ, w, field, bytesAt)
			}
		case opInterface:
			au.inInterface(o, w, field)
		case opRepeat:
			for n := range o.n {
				au.unit(o.to, unsafex.Add(w, n*o.to.size), field)
			}
		case opRefuse:
			switch o.typ.Kind() {
			case reflect.Chan, reflect.Func, reflect.UnsafePointer:
				au.lead(o.typ, w, field, bytesAt)
			}
		}
	}
}

// inInterface examines the value in the interface at w.
func (au *auditor) inInterface(o *op, w unsafex.Ptr, field uintptr) {
	au.dynamic.plans = &auditPlans
	p := au.dynamic.dynamicPlan(o, w)
	if p == nil {
		return
	}
	data := unsafex.Add(w, wordSize)
	switch {
	case !p.direct:
		if p.size != 0 {
			au.lead(p.whole, data, field, bytesInBox)
		}
	case p.whole.Kind() == reflect.Pointer || p.whole.Kind() == reflect.Map:
		if !p.flat() && p.ops[0].kind != opKeep {
			au.lead(p.whole, data, field, bytesAt)
		}
	default:
		au.unit(p, data, field)
	}
}

// lead counts the pointer at w, with which a value of type t begins. bytes says how much it leads
// to.
func (au *auditor) lead(t reflect.Type, w unsafex.Ptr, field uintptr, bytes func(reflect.Type, unsafex.Ptr) int64) {
	q := load(w)
	if q == nil {
		return
	}
	var to string
	if owner, known := ownerOf(unsafex.PtrAddr(q)); known {
		switch owner {
		case au.id:
			au.report.Inside++
			return
		case 0:
			to = toFreed
		default:
			to = fmt.Sprintf("arena %d", owner)
		}
	} else if g := au.dynamic.grounds.Of(q); g == graph.OnHeap || g == graph.InGoArena {
		to = toHeap
	} else {
		au.report.Constant++
		return
	}
	k := exitKey{au.desc, field, t, to}
	l := au.found[k]
	if l == nil {
		l = &exit{Exit{Path: exitPath(au.desc.typ, field), Type: t, To: to}, make(map[uintptr]int64)}
		au.found[k] = l
	}
	l.Pointers++
	l.seen[unsafex.PtrAddr(q)] = max(l.seen[unsafex.PtrAddr(q)], bytes(t, w))
}

// bytesAt is how many bytes what the t at w leads to has at least.
func bytesAt(t reflect.Type, w unsafex.Ptr) int64 {
	switch t.Kind() {
	case reflect.String:
		return int64(*unsafex.As[uintptr](unsafex.Add(w, wordSize)))
	case reflect.Slice:
		return int64(*unsafex.As[uintptr](unsafex.Add(w, 2*wordSize)) * t.Elem().Size())
	case reflect.Pointer:
		return int64(t.Elem().Size())
	case reflect.Map:
		return int64(uintptr(reflect.NewAt(t, w).Elem().Len()) * (t.Key().Size() + t.Elem().Size()))
	case reflect.Chan:
		return int64(uintptr(reflect.NewAt(t, w).Elem().Cap()) * t.Elem().Size())
	}
	return 0
}

// bytesInBox is how many bytes the t has whose address stands at w, with those of a string.
func bytesInBox(t reflect.Type, w unsafex.Ptr) int64 {
	n := int64(t.Size())
	if t.Kind() == reflect.String {
		n += bytesAt(t, load(w))
	}
	return n
}

// exitPath names the field at an offset of a t, without the indices of arrays.
func exitPath(t reflect.Type, offset uintptr) string {
	path, _ := graph.FieldPath(t, offset, nil)
	var b strings.Builder
	b.WriteString(t.String())
	for i := 0; i < len(path); i++ {
		b.WriteByte(path[i])
		if path[i] == '[' {
			i += strings.IndexByte(path[i:], ']')
			b.WriteByte(']')
		}
	}
	return b.String()
}

// finish sorts the leaks.
func (au *auditor) finish() {
	for _, l := range au.found {
		l.Objects = int64(len(l.seen))
		for _, n := range l.seen {
			l.Bytes += n
		}
		au.report.Exits = append(au.report.Exits, l.Exit)
	}
	slices.SortFunc(au.report.Exits, func(x, y Exit) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(y.Pointers, x.Pointers), strings.Compare(x.Path, y.Path),
			strings.Compare(x.Type.String(), y.Type.String()), strings.Compare(x.To, y.To))
	})
}
