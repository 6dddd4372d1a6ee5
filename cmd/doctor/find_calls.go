// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/source"
	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// preparing are the beginnings of names of functions that turn text into something which can be used
// many times, whatever the library, and using those of functions that use it. What parsing functions
// read is data more often, which is new each time, so the text must be constant. Finding functions
// look something up by a key, and making ones make a value.
var (
	preparing = []string{"compile", "mustcompile", "prepare"}
	parsing   = []string{"parse", "mustparse", "validate"}
	using     = []string{"run", "exec", "eval", "match", "render", "query", "apply", "execute", "find", "replace", "next"}
	finding   = []string{"match", "get", "lookup", "find", "resolve", "detect", "guess", "select", "for", "by", "load", "parse"}
	making    = []string{"new", "make", "must", "build", "create", "default", "init", "open"}
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

// A call is what one line of the user's spends below a function of others that it calls. The line is
// the owner.
type call struct {
	*bundle
	to     *stack.Frame
	frames []*stack.Frame // of the first stack, from the owner outwards
	// Parts of it, each by the outermost function of its kind: preparing has what prepares an input,
	// parsing what parses or validates one, caching what fills a cache.
	preparing, parsing, caching part
	// foreign is the time in system calls and in random numbers: a call that takes much of it gives
	// another result each time.
	foreign float64
	source.Call
	known bool // the source has the call
}

// A part is what a call spends below functions of a kind.
type part struct {
	bundle
	by map[*stack.Frame]float64 // the time of each line
}

func (p *part) add(f *stack.Frame, st *sample) {
	p.take(st)
	if p.by == nil {
		p.by = map[*stack.Frame]float64{}
	}
	p.by[f] += st.ns
}

// take adds a sample's time.
func (b *bundle) take(st *sample) {
	b.spent += st.ns
	if st.class == stack.Mutator {
		b.ns += st.ns
	}
}

// plus is both bundles together.
func (b *bundle) plus(c *bundle) *bundle {
	return &bundle{owner: b.owner, sites: slices.Concat(b.sites, c.sites), ns: b.ns + c.ns, spent: b.spent + c.spent}
}

// callKey is a line of the user's, and a function that it calls.
type callKey struct {
	line *stack.Frame
	to   string
}

// calls are the calls from the user's lines to the code of others, the dearest first. Time of the
// collector is in the cost of their sites, which are those that no finding has claimed.
func (a *account) calls() []*call {
	by := map[callKey]*call{}
	var list []*call
	of := func(frames []*stack.Frame) (*call, int) {
		i := slices.IndexFunc(frames, func(f *stack.Frame) bool { return f.User })
		if i <= 0 || frames[i-1].Runtime || slices.ContainsFunc(frames[i:], initialises) {
			return nil, 0
		}
		k := callKey{frames[i], frames[i-1].Func}
		if by[k] == nil {
			by[k] = &call{bundle: &bundle{owner: frames[i]}, to: frames[i-1], frames: frames[i:]}
			list = append(list, by[k])
		}
		return by[k], i
	}
	for _, st := range a.samples {
		if st.class.IsGC() || st.class == stack.Profiler {
			continue
		}
		if c, i := of(st.frames); c != nil {
			c.take(st)
			if f, p := c.partOf(st.frames[:i]); p != nil {
				p.add(f, st)
			}
			if st.class == stack.Mutator && (stack.ActivityOf(st.frames[:i]) == stack.Syscalls || slices.ContainsFunc(st.frames[:i], random)) {
				c.foreign += st.ns
			}
		}
	}
	for _, s := range a.free() {
		if c, i := of(s.frames); c != nil {
			c.sites = append(c.sites, s)
			if _, p := c.partOf(s.frames[:i]); p != nil {
				p.sites = append(p.sites, s)
			}
		}
	}
	slices.SortStableFunc(list, func(c, d *call) int { return cmp.Compare(d.spent, c.spent) })
	return list
}

// partOf is the part of a call that the functions below the user's line belong to, and the outermost
// function that decides it; nil for none.
func (c *call) partOf(below []*stack.Frame) (*stack.Frame, *part) {
	for _, kind := range []struct {
		is func(*stack.Frame) bool
		of *part
	}{
		{func(f *stack.Frame) bool { return setupOf(f) != nil || !f.Std && verb(f, preparing) }, &c.preparing},
		{func(f *stack.Frame) bool { return !f.Std && verb(f, parsing) }, &c.parsing},
		{func(f *stack.Frame) bool { return !f.Std && caches(f) }, &c.caching},
	} {
		if i := stack.Outermost(below, func(f *stack.Frame) bool { return !f.Runtime && kind.is(f) }); i >= 0 {
			return below[i], kind.of
		}
	}
	return nil, nil
}

// caches reports whether a function fills a cache, by its name or that of its receiver.
func caches(f *stack.Frame) bool {
	return strings.Contains(strings.ToLower(f.Func[len(f.Package):]), "cache")
}

// random reports whether a function makes random numbers.
func random(f *stack.Frame) bool { return f.Std && strings.Contains(f.Package, "rand") }

// verb reports whether a function's own name begins with one of the words.
func verb(f *stack.Frame, words []string) bool {
	name := strings.ToLower(calledAs(f))
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(name, w) })
}

// calledAs is a function's name as calls of it in source have it.
func calledAs(f *stack.Frame) string {
	name := source.DeclaredName(f.Func)
	return name[strings.LastIndexByte(name, '.')+1:]
}

// read asks the source about a call.
func (c *call) read(a *account) {
	c.Call, c.known = a.lines.Call(c.owner, calledAs(c.to))
}

// name is what the user's line calls, as a sentence has it.
func (c *call) name() string { return stack.ShortName(c.to.Func) }

// initialises reports whether a function runs once, before main. A function literal in an init may
// run later.
func initialises(f *stack.Frame) bool {
	name := f.Func[len(f.Package):]
	return name == ".init" || strings.HasPrefix(name, ".init.") && !strings.Contains(name, ".func") || strings.HasPrefix(f.Func, "runtime.doInit")
}
