// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/freehold-go/freehold/cmd/doctor/source"
	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/terminal"
)

const (
	// workShare is the least share of CPU time that the work must take.
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
	workDoubt = 0.3
)

// preparing are the beginnings of names of functions that turn text into something which can be used
// many times, whatever the library, and using those of functions that use it. Parsing is not among
// them: most of what is parsed is data, which is new each time.
var (
	preparing = []string{"compile", "mustcompile", "prepare"}
	using     = []string{"run", "exec", "eval", "match", "render", "query", "apply", "execute", "find", "replace", "next"}
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

// verb reports whether a function's own name begins with one of the words.
func verb(f *stack.Frame, words []string) bool {
	name := strings.ToLower(calledAs(f))
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(name, w) })
}

// work is what one line of the user's spends in preparing something by one function of a library.
type work struct {
	*bundle
	call     *stack.Frame // the library's function that the line calls
	prepares *stack.Frame // the outermost function below it that prepares
	fixed    bool         // the source says that the same text is prepared each time
}

// findRepeatedWork finds preparation that is repeated from the same input: an expression, query,
// script or template that is compiled for each use. The call's arguments tell it if their source is
// at hand: they are fixed. Otherwise the stacks tell it where the same function of the user's has a
// library compile and run.
func findRepeatedWork(a *account) []Finding {
	type key struct{ line, prepares *stack.Frame }
	works := map[key]*work{}
	var list []*work
	used := map[string]float64{} // time in the use of a library's results, by the user's function and the library
	workOf := func(frames []*stack.Frame) *work {
		i := slices.IndexFunc(frames, func(f *stack.Frame) bool { return f.User })
		if i <= 0 || slices.ContainsFunc(frames[i:], initialises) {
			return nil
		}
		call, at := frames[i-1], -1
		for k := i - 1; k >= 0 && at < 0; k-- {
			if !frames[k].Std && !frames[k].Runtime && verb(frames[k], preparing) {
				at = k
			}
		}
		if at < 0 {
			return nil
		}
		k := key{frames[i], frames[at]}
		if works[k] == nil {
			works[k] = &work{bundle: &bundle{owner: frames[i]}, call: call, prepares: frames[at]}
			list = append(list, works[k])
		}
		return works[k]
	}
	for _, st := range a.samples {
		if st.class.IsGC() || st.class == stack.Profiler {
			continue
		}
		if w := workOf(st.frames); w != nil {
			w.spent += st.ns
			if st.class == stack.Mutator {
				w.ns += st.ns
			}
		} else if user, lib := useOf(st.frames); user != "" {
			used[user+" "+lib] += st.ns
		}
	}
	for _, s := range a.free() {
		if w := workOf(s.frames); w != nil {
			w.sites = append(w.sites, s)
		}
	}
	var found []Finding
	for _, w := range list {
		if a.share(w.spent) < workShare || w.spent < float64(setupTime) {
			continue
		}
		fixed, known := a.lines.FixedCall(w.owner, calledAs(w.call))
		if known && !fixed && isText(w.call) {
			fixed = a.lines.FixedReceiver(w.owner, calledAs(w.call))
		}
		switch {
		case known && fixed:
			w.fixed = true
		case known && a.share(w.spent) < computedShare:
			continue
		case known && a.lines.PassesOn(w.owner, calledAs(w.call)):
			continue
		case a.share(used[w.owner.Func+" "+module(w.prepares)]) < usedShare:
			continue
		}
		found = append(found, w.finding(a))
	}
	return ranked(found)
}

// useOf are the user's function and the library of a stack in which the library uses a result, ""
// for others.
func useOf(frames []*stack.Frame) (user, lib string) {
	i := slices.IndexFunc(frames, func(f *stack.Frame) bool { return f.User })
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

// calledAs is a function's name as calls of it in source have it.
func calledAs(f *stack.Frame) string {
	name := source.DeclaredName(f.Func)
	return name[strings.LastIndexByte(name, '.')+1:]
}

func (w *work) finding(a *account) Finding {
	slices.SortStableFunc(w.sites, func(s, t *site) int { return cmp.Compare(t.cpuNow(), s.cpuNow()) })
	f := a.findingAt(w.owner, w.sites, a.gainWith(a.sum(w.sites).dead(), w.ns, workDoubt), w.ns)
	f.Site = siteAt(w.owner)
	f.Evidence["setup_cpu_share"] = round(a.share(w.spent))
	f.Evidence["makes"] = "the result of " + stack.ShortName(w.prepares.Func)
	f.Evidence["same_arguments"] = w.fixed
	f.Detail = fmt.Sprintf("%s has %s prepare its input each time, which takes %s of the CPU time", w.owner.Place(), stack.ShortName(w.prepares.Func), terminal.Percent(a.share(w.spent)))
	if w.fixed {
		f.Detail += "; what is prepared is the same each time."
	} else {
		f.Detail += ", and then uses the result."
	}
	f.Remedy = Remedy{
		Text: fmt.Sprintf("Call %s once for each input and keep its result: at the program's start, or in a map by the input. Look in package %s for a function or an option that prepares, and one that runs what was prepared.",
			stack.ShortName(w.prepares.Func), w.prepares.Package),
		Snippet: "- out, err := engine.Run(text, input)  // prepares text each time\n+ program, err := engine.Compile(text)  // once\n+ out, err := program.Run(input)",
	}
	f.Check = []string{
		"Its share in a new CPU profile.",
		"Whether several goroutines may use the result at once: the library's documentation says so.",
		"The size of such a map has a bound if the inputs come from outside.",
	}
	return f
}

// initialises reports whether a function runs once, before main. A function literal in an init may
// run later.
func initialises(f *stack.Frame) bool {
	name := f.Func[len(f.Package):]
	return name == ".init" || strings.HasPrefix(name, ".init.") && !strings.Contains(name, ".func") || strings.HasPrefix(f.Func, "runtime.doInit")
}
