package source

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// EscapeReason says why the allocation at a frame is on the heap. It is "" if the compiler does not
// know, or knows several of the kind. What append and maps allocate could be nowhere else. want is
// the kind of expression that allocates, "" if that is not known.
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
		// Where it was inlined, names have their package.
		what := strings.ReplaceAll(e.What, f.pkg.Name+".", "")
		switch {
		case what == "", want != "" && kindEscaping(what, list) != want: // a repetition without text, or another kind
		case best == nil:
			best, chosen = e, what
		case chosen != what:
			return "" // either may be the one
		case len(e.Flow) > len(best.Flow):
			// A way of more steps tells more: the copy inlined into a caller says what becomes of
			// the result, where the function itself says "return".
			best = e
		}
	}
	if best == nil {
		return ""
	}
	return best.reason()
}

// expressions is how many of what a line makes can be the one that the compiler tells of: not what
// append and maps allocate, nor variables, which stand beside the expression that they are set to.
func expressions(list []Expression) (n int) {
	for _, m := range list {
		if m.Kind != KindAppend && m.Kind != KindMapAssign && !strings.HasPrefix(m.Text, "variable ") {
			n++
		}
	}
	return n
}

// kindEscaping is the kind of expression that escapes, among those that its line makes.
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
