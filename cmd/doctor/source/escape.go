// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// EscapeReason says why the allocation at a frame is on the heap. It is "" if the compiler gives no
// reason, or reasons for several allocations of the kind. Append and maps need no reason: they
// always allocate on the heap. want is the kind of expression that allocates, "" if that is not
// known. Packages that the answer depends on are compiled, unless that was done before; ctx ends it.
func (s *Module) EscapeReason(ctx context.Context, at *stack.Frame, want Kind) string {
	p := s.packageOf(at)
	if p == nil {
		return ""
	}
	if _, ok := p.declaration(at); !ok {
		return ""
	}
	list := s.Expressions(at)
	if want == "" && expressions(list) > 1 {
		return ""
	}
	// A package that imports this one may have the copy of a function that was inlined, and has the
	// instances of generic functions.
	s.readEscapes(ctx, p)
	for _, path := range slices.Sorted(maps.Keys(s.packages)) {
		if c := s.packages[path]; c.imports[p.ImportPath] {
			s.readEscapes(ctx, c)
		}
	}
	var best *escape
	chosen := ""
	escapes := s.escapes[fmt.Sprintf("%s/%s:%d", p.ImportPath, fileName(at.File), at.Line)]
	for i := range escapes {
		e := &escapes[i]
		// In an inlined function, names have their package.
		what := strings.ReplaceAll(e.What, p.facts.Name+".", "")
		switch {
		case want != "" && kindEscaping(what, list) != want: // another kind
		case best == nil:
			best, chosen = e, what
		case chosen != what:
			return "" // either may be the one
		case e.Steps > best.Steps:
			best = e
		}
	}
	switch {
	case best == nil:
		return ""
	case best.Reason == "":
		return best.What + " escapes to the heap"
	}
	return best.What + " escapes to the heap by " + best.Reason
}

// expressions is the number of a line's expressions that the compiler's report can be about. Append
// and maps are not reported, and a variable stands beside the expression that it is set to.
func expressions(list []Expression) (n int) {
	for _, m := range list {
		if m.Kind != KindAppend && m.Kind != KindMapAssign && !strings.HasPrefix(m.Text, "variable ") {
			n++
		}
	}
	return n
}

// kindEscaping is the kind of the escaping expression, one of those on its line.
func kindEscaping(what string, list []Expression) Kind {
	for _, m := range list {
		if m.Text == what {
			return m.Kind
		}
	}
	begins := func(p string) bool { return strings.HasPrefix(what, p) }
	switch {
	case what == "... argument", what == "func literal", begins("&"), begins("new("):
		return KindNew
	case begins("make(map["), begins("map["):
		return KindMap
	case begins("[]") && strings.HasSuffix(what, "}"), begins("make([]"):
		return KindSlice
	case begins("string("), begins("[]byte("), begins("[]rune("):
		return KindString
	}
	if slices.ContainsFunc(list, func(m Expression) bool { return m.Kind == KindInterface }) {
		return "" // a constant beside the boxed value
	}
	return KindInterface
}
