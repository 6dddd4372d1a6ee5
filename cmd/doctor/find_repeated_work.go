// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/terminal"
)

const (
	// setupShare is the least share of CPU time that setups must take.
	setupShare = 0.02
	// setupDoubt is the uncertain part of the gain: looking up an existing value costs a little.
	setupDoubt = 0.1
	// workShare is the least share of CPU time that other repeated work must take.
	workShare = 0.05
	// usedShare is the least share of CPU time that the use of the work's result must take, if only
	// the stacks tell that the work is repeated.
	usedShare = 0.01
	// setupTime is the least CPU time that setups must take in all. A hundred regular expressions
	// take less, so a program that takes more makes the same ones repeatedly.
	setupTime = 50 * time.Millisecond
	// computedShare is the least share of CPU time of work whose input the line computes: it may be one
	// of a few values, or new each time.
	computedShare = 0.15
	// workDoubt is the uncertain part of the gain: some inputs may be new.
	workDoubt = 0.2
	// foreignPart is a part of a call's time. If more than that is in system calls and random numbers,
	// the result is another each time.
	foreignPart = 0.2
	// wholePart is the least part of a function's time that must be repeated work for the function as a
	// whole to be called once.
	wholePart = 0.8
)

// texts are words in the names of types that hold a text to be prepared. An engine's method takes the
// text as an argument.
var texts = []string{"query", "template", "expr", "script", "program", "statement", "stmt", "rule", "pattern", "filter", "policy"}

// isText reports whether a function is a method of such a type.
func isText(f *stack.Frame) bool {
	_, method, _ := strings.Cut(f.Func[len(f.Package):], "(*")
	receiver, _, ok := strings.Cut(strings.ToLower(method), ").")
	return ok && slices.ContainsFunc(texts, func(w string) bool { return strings.Contains(receiver, w) })
}

// A work is what a function of the user's repeats: calls that prepare, make or look up the same.
type work struct {
	*bundle
	calls []*call        // the dearest first
	makes *stack.Frame   // the function whose result is to be kept
	setup *setup         // of the standard library, nil for others
	same  bool           // the source says that the input is the same each time
	key   string         // the variable by which the result differs
	of    string         // the variable of the user's that all calls make together
	at    []*stack.Frame // the stack from the owner outwards
}

// findRepeatedSetup finds work that is repeated from the same input: known setups of the standard
// library, an expression, query or script that is compiled for each use, a value that is made anew
// with the same arguments, a result that few values of a key decide. The calls' arguments tell it if
// their source is at hand. Otherwise the stacks tell it where the same function of the user's has a
// library compile and run.
func findRepeatedSetup(a *account) (found []Finding) {
	list := a.calls()
	used := map[string]float64{} // time in the use of a library's results, by the user's function and the library
	for _, st := range a.samples {
		if user, lib := useOf(st.frames); user != "" && !st.class.IsGC() {
			used[user+" "+lib] += st.ns
		}
	}
	works := map[string]*work{}
	var all []*work
	for _, c := range list {
		c.read(a)
		w := a.repeats(c, used)
		if w == nil {
			continue
		}
		// All calls of a function that make one value are one work, and so are all lines of the
		// library below one call.
		k := c.owner.Func + " " + cmp.Or(w.of, c.to.Func)
		if before := works[k]; before != nil {
			before.bundle, before.calls = before.plus(w.bundle), append(before.calls, c)
			if c.To == w.of {
				before.makes = c.to
			}
		} else {
			works[k] = w
			all = append(all, w)
		}
	}
	for _, w := range all {
		least := workShare
		if w.setup != nil {
			least = setupShare
		}
		if a.share(w.spent) < least || w.spent < float64(setupTime) {
			continue
		}
		w.lift(a)
		found = append(found, w.finding(a))
	}
	return ranked(found)
}

// repeats is the work that a call repeats, nil if nothing shows that it does.
func (a *account) repeats(c *call, used map[string]float64) *work {
	whole := &work{bundle: c.bundle, calls: []*call{c}, makes: c.to, same: true, at: c.frames}
	fresh := c.foreign > foreignPart*c.spent
	switch {
	case !c.known || fresh:
	case c.Of != "" && c.Constant: // it completes a value that is made anew
		whole.of = c.Of
		return whole
	case c.Of != "" && c.caching.spent > 0:
		whole.bundle, whole.of = &c.caching.bundle, c.Of
		whole.owner = c.owner
		return whole
	case c.to.Std || !c.Used:
	case c.Function && c.Constant, c.Function && c.Fixed && !c.Table && verb(c.to, making):
		whole.of = c.To
		return whole
	case c.Function && c.Key != "" && verb(c.to, finding) && a.share(c.spent) >= workShare:
		whole.same, whole.key = false, c.Key
		return whole
	}
	return a.prepares(c, used)
}

// prepares is the part of a call that prepares its input, if the input is the same each time.
func (a *account) prepares(c *call, used map[string]float64) *work {
	p := &c.preparing
	if c.preparing.spent == 0 {
		if p = &c.parsing; !c.known || !c.Text || topFrame(p.by) == nil || topFrame(p.by).Func == c.to.Func && !c.Fixed {
			return nil
		}
	}
	w := &work{bundle: &p.bundle, calls: []*call{c}, makes: topFrame(p.by), at: c.frames}
	if w.makes == nil {
		return nil
	}
	if p == &c.preparing {
		w.bundle = p.plus(&c.parsing.bundle) // what is compiled was parsed before
	}
	w.owner, w.setup = c.owner, setupOf(w.makes)
	w.same = c.known && (c.Fixed || c.Text && p == &c.parsing || c.Receiver && isText(c.to))
	switch {
	case w.same, w.setup != nil:
	case c.known && (c.PassesOn || a.share(w.spent) < computedShare):
		return nil
	case a.share(used[c.owner.Func+" "+module(w.makes)]) < usedShare:
		return nil
	}
	return w
}

// lift moves a work to the line that calls its function, as long as the function does nothing else and
// has no input.
func (w *work) lift(a *account) {
	for i := 0; i+1 < len(w.at) && w.at[i+1].User; i++ {
		inside := 0.0
		for _, st := range a.samples {
			if !st.class.IsGC() && slices.ContainsFunc(st.frames, func(f *stack.Frame) bool { return f.Func == w.at[i].Func }) {
				inside += st.ns
			}
		}
		from, known := a.lines.Call(w.at[i+1], calledAs(w.at[i]))
		if nothing, _ := a.lines.ReturnsNothing(w.at[i]); !known || nothing || !from.Used || !from.Constant || w.spent < wholePart*inside {
			return
		}
		w.owner, w.makes = w.at[i+1], w.at[i]
	}
}

// useOf are the user's function and the library of a stack in which the library uses a result, ""
// for others.
func useOf(frames []*stack.Frame) (user, lib string) {
	i := slices.IndexFunc(frames, func(f *stack.Frame) bool { return f.User })
	if k := slices.IndexFunc(frames[:max(i, 0)], func(f *stack.Frame) bool { return !f.Std && !f.Runtime && verb(f, preparing) }); k >= 0 {
		return "", ""
	}
	for k := i - 1; k >= 0; k-- {
		if f := frames[k]; !f.Std && !f.Runtime && verb(f, using) {
			return frames[i].Func, module(f)
		}
	}
	return "", ""
}

// module is the part of a package's path that its module has in common with others, as far as the
// path tells: host, owner and name.
func module(f *stack.Frame) string {
	parts := strings.SplitN(f.Package, "/", 4)
	return strings.Join(parts[:min(3, len(parts))], "/")
}

func (w *work) finding(a *account) Finding {
	slices.SortStableFunc(w.sites, func(s, t *site) int { return cmp.Compare(t.cpuNow(), s.cpuNow()) })
	doubt := workDoubt
	if w.setup != nil {
		doubt = setupDoubt
	}
	f := a.findingAt(w.owner, w.sites, a.gainWith(a.sum(w.sites).dead(), w.ns, doubt), w.ns)
	f.Site = siteAt(w.owner)
	f.Evidence["setup_cpu_share"] = round(a.share(w.spent))
	f.Evidence["makes"] = "the result of " + stack.ShortName(w.makes.Func)
	f.Evidence["same_arguments"] = w.same
	f.Detail, f.Remedy = w.text(a)
	if !w.same && w.calls[0].known {
		f.Remedy.Text += " If the inputs come from outside, and repeat, a cache.Objects bounds what is kept (docs/cache.md)."
	}
	f.Detail = fmt.Sprintf("%s %s, which takes %s of the CPU time.", w.owner.Place(), f.Detail, terminal.Percent(a.share(w.spent)))
	f.Check = []string{
		"Its share in a new CPU profile.",
		"Whether several goroutines may use the result at once: the library's documentation says so.",
		"The size of such a map has a bound if the inputs come from outside.",
	}
	return f
}

// text says what the user's function does, and what to do.
func (w *work) text(a *account) (does string, r Remedy) {
	c, made := w.calls[0], stack.ShortName(w.makes.Func)
	const prepared = "- out, err := engine.Run(text, input)  // prepares text each time\n+ program, err := engine.Compile(text)  // once\n+ out, err := program.Run(input)"
	switch {
	case w.setup != nil && c.to.Package == w.makes.Package:
		return "creates " + w.setup.what + " repeatedly", Remedy{
			Text:    "Create it once, at package level or at the program's start: all goroutines can use it. If it depends on one of a few values, keep one for each value in a map.",
			Snippet: w.setup.snippet,
		}
	case w.setup != nil:
		return fmt.Sprintf("has %s create %s repeatedly", c.name(), w.setup.what), Remedy{
			Text:    fmt.Sprintf("Have %s prepare its %s once: look in package %s for an option or a function that does.", c.name(), w.setup.what, c.to.Package),
			Snippet: prepared,
		}
	case w.key != "":
		return fmt.Sprintf("calls %s for each use, where %s decides the result", made, w.key), Remedy{
			Text:    fmt.Sprintf("Keep what %s returns in a map by %s, or by the part of it that decides, and call it once for each.", made, w.key),
			Snippet: "- t := lib.Match(name)\n+ t, ok := known[kind] // filled once for each kind\n+ if !ok {\n+     t = lib.Match(name)\n+     known[kind] = t\n+ }",
		}
	case w.of != "":
		return fmt.Sprintf("makes %s anew each time, with %s", w.of, made), Remedy{
			Text:    fmt.Sprintf("Make %s once, with %s, and keep it: at the program's start, or in a sync.Pool if one goroutine at a time may use it.", w.of, made),
			Snippet: "- v := lib.New(options) // in the function\n+ var v = lib.New(options) // once",
		}
	case w.makes.Func == c.to.Func || w.makes.User:
		return fmt.Sprintf("calls %s with the same input each time", made), Remedy{
			Text:    fmt.Sprintf("Call %s once for each input and keep its result: at the program's start, or in a map by the input.", made),
			Snippet: "- v := lib.Make(text) // in the function\n+ var v = lib.Make(text) // once",
		}
	}
	r = Remedy{Text: fmt.Sprintf("Prepare the input of %s once, keep the result, and run that.", c.name()), Snippet: prepared}
	var ways []string
	for _, name := range a.lines.Exports(c.to) {
		if verb(&stack.Frame{Func: c.to.Package + "." + name, Package: c.to.Package}, preparing) && len(ways) < 3 {
			ways = append(ways, name)
		}
	}
	if len(ways) > 0 {
		r.Text += fmt.Sprintf(" Package %s has %s.", c.to.Package, strings.Join(ways, ", "))
	} else {
		r.Text += fmt.Sprintf(" Look in package %s for a function or an option that prepares, and one that runs what was prepared.", c.to.Package)
	}
	return fmt.Sprintf("has %s prepare its input each time", made), r
}
