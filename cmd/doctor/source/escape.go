package source

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// escape is what the compiler says of one allocation: what goes to the heap, and by which way it gets out of the function.
type escape struct {
	What string // the expression, as the compiler writes it: &node{...}
	Line int    // where it stands, or where the function was inlined that has it
	Flow []step // from the expression to where it escapes
}

// step is one assignment on the way.
type step struct {
	Code string // return x
	Why  string // return, assign, call parameter, interface-converted, too large for stack ...
}

// reason says in one line why the value is on the heap.
func (e escape) reason() string {
	for i := len(e.Flow) - 1; i >= 0; i-- {
		if s := e.Flow[i]; s.Why != "spill" {
			return fmt.Sprintf("%s escapes to the heap by %s (%s)", e.What, s.Code, s.Why)
		}
	}
	return e.What + " escapes to the heap"
}

// diagnostic is a line of the compiler's -json output: a diagnostic of the language server protocol, lines counted from 1.
type diagnostic struct {
	File    string   `json:"file"` // in the first line of a file only
	Range   location `json:"range"`
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Related []struct {
		Location struct {
			URI   string   `json:"uri"`
			Range location `json:"range"`
		} `json:"location"`
		Message string `json:"message"`
	} `json:"relatedInformation"`
}

type location struct {
	Start struct {
		Line int `json:"line"`
	} `json:"start"`
}

// askCompiler compiles the packages once more with -json=0, which writes what the compiler knows of each line, and returns what it says of
// allocations. The results of the build are thrown away.
func (s *Module) askCompiler(ctx context.Context, patterns []string) map[string][]escape {
	dir, err := os.MkdirTemp("", "freehold-escapes-")
	if err != nil {
		s.Problems = append(s.Problems, "no escape reasons: "+err.Error())
		return nil
	}
	defer os.RemoveAll(dir)
	// The folder's name is new, so the build cache cannot answer in the compiler's place, which would write nothing.
	out := filepath.Join(dir, "json")
	args := append([]string{"build", "-o", os.DevNull, "-gcflags=-json=0," + out}, patterns...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = s.root, s.env
	if text, err := cmd.CombinedOutput(); err != nil {
		// What was compiled before the failure is of use all the same.
		s.Problems = append(s.Problems, "no escape reasons of some packages: "+firstLine(fmt.Errorf("%s\n%w", text, err)))
	}
	return s.readEscapes(out)
}

// readEscapes reads what the compiler wrote: a folder for each package, a file in it for each of its files.
func (s *Module) readEscapes(dir string) map[string][]escape {
	found := map[string][]escape{}
	folders, err := os.ReadDir(dir)
	if err != nil {
		return found // nothing was compiled, which has been said
	}
	for _, folder := range folders {
		files, err := os.ReadDir(filepath.Join(dir, folder.Name()))
		if err != nil {
			s.Problems = append(s.Problems, "no escape reasons: "+err.Error())
			continue
		}
		for _, f := range files {
			text, err := os.ReadFile(filepath.Join(dir, folder.Name(), f.Name()))
			if err == nil {
				err = s.parseEscapes(text, found)
			}
			if err != nil {
				s.Problems = append(s.Problems, "no escape reasons: "+err.Error())
			}
		}
	}
	return found
}

// parseEscapes adds what one file of the compiler's says. The key is that of files, a colon and the line.
func (s *Module) parseEscapes(text []byte, found map[string][]escape) error {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 16<<20)
	key := ""
	for lines.Scan() {
		var d diagnostic
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			return fmt.Errorf("the compiler's -json output: %w", err)
		}
		if d.File != "" {
			key = s.keyOf(d.File)
			continue
		}
		if key == "" || d.Code != "escape" {
			continue
		}
		e := escape{What: strings.TrimSuffix(d.Message, " escapes to heap"), Line: d.Range.Start.Line}
		places := []string{fmt.Sprintf("%s:%d", key, e.Line)}
		inlined := true
		for _, r := range d.Related {
			if r.Message == "inlineLoc" {
				// An allocation in an inlined function is told at the call, and where it stands in the source before anything else; the profile has it there.
				// Later places are those of steps.
				if file, err := uriFile(r.Location.URI); inlined && err == nil {
					if k := s.keyOf(file); k != "" {
						places = append(places, fmt.Sprintf("%s:%d", k, r.Location.Range.Start.Line))
					}
				}
				continue
			}
			inlined = false
			if st, ok := parseStep(r.Message); ok {
				e.Flow = append(e.Flow, st)
			}
		}
		for _, p := range places {
			found[p] = append(found[p], e)
		}
	}
	return lines.Err()
}

// keyOf is the key of a file of this machine in source.files, or "" if its package was not asked for.
func (s *Module) keyOf(file string) string {
	for key, f := range s.files {
		if f.pkg.Fset.Position(f.syntax.Package).Filename == file {
			return key
		}
	}
	return ""
}

// parseStep reads "escflow:      from return x (return)".
func parseStep(message string) (step, bool) {
	text, ok := strings.CutPrefix(message, "escflow:")
	if !ok {
		return step{}, false
	}
	text, ok = strings.CutPrefix(strings.TrimSpace(text), "from ")
	open := strings.LastIndex(text, " (")
	if !ok || open < 0 {
		return step{}, false
	}
	return step{Code: text[:open], Why: strings.TrimSuffix(text[open+2:], ")")}, true
}

func uriFile(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", err
	}
	return filepath.FromSlash(u.Path), nil
}

// EscapeReason says why the allocation at a frame is on the heap. It is "" if the compiler does not know, or
// knows several of the kind. What append and maps allocate could be nowhere else. want is the kind of
// expression that allocates, "" if that is not known.
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
			// A way of more steps tells more: the copy inlined into a caller says what becomes of the result, where the function itself says "return".
			best = e
		}
	}
	if best == nil {
		return ""
	}
	return best.reason()
}

// expressions is how many of what a line makes can be the one that the compiler tells of: not what append and maps allocate, nor variables, which stand beside
// the expression that they are set to.
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
		return "" // a constant beside what is boxed
	}
	return KindInterface
}

// KindOf returns the kind of expression that took most of the time in the allocator, "" if the entries do not
// tell. Entries are the times by the runtime's function that the program called. KindAppend is the answer only
// if there is no other kind, because the compiler says nothing about what append and maps allocate.
func KindOf(entries map[string]float64) Kind {
	kinds := map[Kind]float64{}
	for entry, ns := range entries {
		kinds[kindOfEntry(entry)] += ns
	}
	best := Kind("")
	for _, k := range []Kind{KindNew, KindSlice, KindString, KindInterface, KindMap} {
		if kinds[k] > kinds[best] || best == "" && kinds[k] > 0 {
			best = k
		}
	}
	if best == "" && kinds[KindAppend] > 0 {
		best = KindAppend
	}
	return best
}

// kindOfEntry is the kind of expression that comes to the allocator by a function of the runtime.
func kindOfEntry(entry string) Kind {
	for _, k := range []struct {
		prefix string
		kind   Kind
	}{
		{"runtime.newobject", KindNew}, {"runtime.malloc", KindNew}, {"runtime.makeslice", KindSlice}, {"runtime.convT", KindInterface}, {"runtime.makemap", KindMap},
		{"runtime.growslice", KindAppend}, {"runtime.mapassign", KindAppend},
	} {
		if strings.HasPrefix(entry, k.prefix) {
			return k.kind
		}
	}
	if stack.MakesText(entry) {
		return KindString
	}
	return ""
}
