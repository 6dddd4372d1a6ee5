// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/terminal"
)

const (
	// setupShare is the least share of CPU time that setups must take.
	setupShare = 0.02
	// setupDoubt is the uncertain part of the gain: looking up an existing value costs a little.
	setupDoubt = 0.1
)

// A setup is a function of the standard library, or of a copy of it, that makes a value which all
// goroutines can use for good.
type setup struct {
	pkg, fn string // last element of the package's path; function
	what    string
	snippet string
}

var setups = []setup{
	{"regexp", "compile", "regular expressions", "- re := regexp.MustCompile(`^a+$`) // in the function\n+ var re = regexp.MustCompile(`^a+$`) // at package level"},
	{"template", "(*Template).Parse", "templates", "- t := template.Must(template.New(\"page\").Parse(text)) // in the function\n+ var page = template.Must(template.New(\"page\").Parse(text)) // at package level"},
	{"strings", "(*Replacer).build", "replacers", "- s = strings.NewReplacer(\"<\", \"&lt;\").Replace(s)\n+ var escape = strings.NewReplacer(\"<\", \"&lt;\") // at package level\n+ s = escape.Replace(s)"},
	{"time", "LoadLocation", "time zones", "- zone, err := time.LoadLocation(name) // reads a file each time\n+ zone, err := zones.get(name)         // a map, filled once for each name"},
}

// setupOf is the setup that a function does, nil if it does none.
func setupOf(f *stack.Frame) *setup {
	name := strings.TrimPrefix(f.Func[len(f.Package):], ".")
	for i := range setups {
		s := &setups[i]
		if name == s.fn && (f.Package == s.pkg || strings.HasSuffix(f.Package, "/"+s.pkg)) {
			return s
		}
	}
	return nil
}

// setupUse is the cost of one kind of setup in one function of the user's.
type setupUse struct {
	*bundle
	kind  *setup
	by    *stack.Frame // the library's function that makes it, nil if the user's code does
	lines map[*stack.Frame]float64
}

// findRepeatedSetup finds what should be made once and is made for each request: known setups of the
// standard library, and work that a library repeats from the same input.
func findRepeatedSetup(a *account) []Finding {
	found, of := findRepeatedWork(a)
	for _, f := range found {
		for _, s := range f.sites {
			s.claimed = "repeated-setup"
		}
	}
	return ranked(append(found, knownSetups(a, of)...))
}

// knownSetups finds the setups of the table, but for those in calls that are repeated as a whole.
func knownSetups(a *account, not map[callKey]bool) []Finding {
	type key struct {
		owner, by string // by is a library's package
		kind      *setup
	}
	uses := map[key]*setupUse{}
	var list []*setupUse
	does := stack.Matching(func(f *stack.Frame) bool { return setupOf(f) != nil })
	useOf := func(frames []*stack.Frame) *setupUse {
		i := stack.Outermost(frames, does)
		if i < 0 || i+1 == len(frames) || slices.ContainsFunc(frames[i:], initialises) {
			return nil
		}
		user := slices.IndexFunc(frames, func(f *stack.Frame) bool { return f.User })
		if user > 0 && not[callKey{frames[user], frames[user-1].Func}] {
			return nil
		}
		owner, kind := stack.Caller(frames, i+1), setupOf(frames[i])
		by, k := beyondStd(frames[i+1:]), key{owner: owner.Func, kind: kind}
		if by != nil && by.User {
			by = nil
		}
		if by != nil {
			k.by = by.Package
		}
		if uses[k] == nil {
			uses[k] = &setupUse{bundle: &bundle{owner: owner}, kind: kind, by: by, lines: map[*stack.Frame]float64{}}
			list = append(list, uses[k])
		}
		uses[k].lines[owner] = max(uses[k].lines[owner], 0)
		return uses[k]
	}
	for _, st := range a.samples {
		if u := useOf(st.frames); u != nil && !st.class.IsGC() && st.class != stack.Profiler {
			u.spent += st.ns
			u.lines[stack.Caller(st.frames, stack.Outermost(st.frames, does)+1)] += st.ns
			if st.class == stack.Mutator {
				u.ns += st.ns
			}
		}
	}
	for _, s := range a.free() {
		if u := useOf(s.frames); u != nil {
			u.sites = append(u.sites, s)
		}
	}
	var found []Finding
	for _, u := range list {
		if a.share(u.spent) >= setupShare && u.spent >= float64(setupTime) {
			found = append(found, u.finding(a))
		}
	}
	return ranked(found)
}

func (u *setupUse) finding(a *account) Finding {
	slices.SortStableFunc(u.sites, func(s, t *site) int { return cmp.Compare(t.cpuNow(), s.cpuNow()) })
	at := u.owner
	for line, ns := range u.lines {
		if ns > u.lines[at] || ns == u.lines[at] && line.Line < at.Line {
			at = line
		}
	}
	f := a.findingAt(at, u.sites, a.gainWith(a.sum(u.sites).dead(), u.ns, setupDoubt), u.ns)
	f.Site = siteAt(at)
	f.Evidence["setup_cpu_share"] = round(a.share(u.spent))
	f.Evidence["makes"] = u.kind.what
	f.Detail = fmt.Sprintf("%s creates %s repeatedly, which takes %s of the CPU time.", at.Place(), u.kind.what, terminal.Percent(a.share(u.spent)))
	f.Remedy = Remedy{
		Text:    "Create it once, at package level or at the program's start: all goroutines can use it. If it depends on one of a few values, keep one for each value in a map.",
		Snippet: u.kind.snippet,
	}
	if u.by != nil {
		f.Detail = fmt.Sprintf("%s has %s create %s repeatedly, which takes %s of the CPU time.", at.Place(), stack.ShortName(u.by.Func), u.kind.what, terminal.Percent(a.share(u.spent)))
		f.Remedy.Text = fmt.Sprintf("Package %s creates them. Look there for a function or an option that prepares them once, and otherwise avoid its function that needs them.", u.by.Package)
		f.Remedy.Snippet = "- out, err := engine.Run(input)               // creates them each time\n+ program, err := engine.Program(text, opts)  // with an option that prepares them, once\n+ out, err := program.Run(input)"
	}
	f.Check = []string{
		"Its share in a new CPU profile.",
		"The size of such a map has a bound if the values come from outside.",
	}
	return f
}
