package source

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// EscapeReason says why the allocation at a frame is on the heap. It is "" if the compiler gives no
// reason, or reasons for several allocations of the kind. Append and maps need no reason: they
// always allocate on the heap. want is the kind of expression that allocates, "" if that is not
// known.
func (s *Module) EscapeReason(at *stack.Frame, want Kind) string {
	f := s.file(at)
	if f == nil {
		return ""
	}
	if _, ok := f.function(at); !ok {
		return ""
	}
	key := fmt.Sprintf("%s/%s:%d", f.pkg.PkgPath, path.Base(filepath.ToSlash(f.pkg.Fset.Position(f.syntax.Package).Filename)), at.Line)
	var best *escape
	list, chosen := s.Expressions(at), ""
	if want == "" && expressions(list) > 1 {
		return ""
	}
	for i := range s.escapes[key] {
		e := &s.escapes[key][i]
		// In an inlined function, names have their package.
		what := strings.ReplaceAll(e.What, f.pkg.Name+".", "")
		switch {
		case what == "", want != "" && kindEscaping(what, list) != want: // a repetition without text, or another kind
		case best == nil:
			best, chosen = e, what
		case chosen != what:
			return "" // either may be the one
		case len(e.Flow) > len(best.Flow):
			// A longer flow says more: for the function itself it ends with "return", for the copy
			// inlined into a caller it shows the use of the result.
			best = e
		}
	}
	if best == nil {
		return ""
	}
	return best.reason()
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
