// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// hotPathID names the finding about allocations that no arena, pool or size suits.
const hotPathID = "allocation-hot-path"

const (
	// hotPathPart is the saving of a change that is not known, as a part of the cost of the place's
	// allocations.
	hotPathPart = 0.75
	// hotPathWork is that saving as a part of the other time below the call, at most as much as is saved of
	// the memory's cost.
	hotPathWork = 0.25
	// hotPathGain is the least gain at which a place without a known remedy is reported.
	hotPathGain = 0.05
	// guessGain is the least gain at which such a place is more than information.
	guessGain = 0.15
	// hotPathDoubt is the uncertain part of that gain.
	hotPathDoubt = 0.5
	// copyPart is the part of a call's cost that goes if what it copies is changed in place.
	copyPart = 0.85
	// treePart is the part of a parser's own time that building the tree takes, beside the tree's memory.
	treePart = 0.5
)

// findHotPath finds the places that allocate much which is dropped soon, where no other finding has
// a remedy of its own: the user's lines that call the code of others, and the user's own code.
func findHotPath(a *account) (found []Finding) {
	dropped := func(s *site) bool { return a.shortLived(s) && !s.refillsPool() }
	for _, c := range a.calls() {
		c.sites = slices.DeleteFunc(c.sites, func(s *site) bool { return !dropped(s) })
		t := a.sum(c.sites).dead()
		if most := a.gainOf(t, 0); hotPathPart*most.Best() < max(hotPathGain, most.Error) {
			continue
		}
		c.read(a)
		w := a.wayOf(c)
		work := w.work * c.ns
		if w.guess { // A call that hardly allocates may have work that nothing saves.
			work = min(work, a.gainOf(t.times(w.part), 0).Best()*a.total)
		}
		g := a.gainWith(t.times(w.part), work, 0)
		if w.guess {
			g.Error = hotPathDoubt * g.Best()
		}
		f := a.findingAt(c.owner, c.sites, g, c.ns)
		f.Site = siteAt(c.owner)
		f.Detail = fmt.Sprintf("%s calls %s, which takes %s of the CPU time and makes %s; %s.", c.owner.Place(), c.name(), terminal.Percent(a.share(c.spent)), strings.ToLower(a.made(t)[:1])+a.made(t)[1:], lifetime(a, c.sites))
		f.Remedy = Remedy{Text: w.text, Snippet: w.snippet}
		if !w.info { // In an info, only the library decides what it allocates.
			f.Remedy.Text += a.sortOffer(c.owner)
		}
		if w.info || w.guess && g.Best() < guessGain {
			f.Severity = SeverityInfo
		}
		found = append(found, a.hot(f, t))
	}
	var own []*site
	for _, s := range a.free() {
		if s.at.User && dropped(s) {
			own = append(own, s)
		}
	}
	for _, g := range a.groups(own, a.cost, minGain/3*a.total) {
		t := a.sum(g.sites)
		most := a.gainOf(t, 0)
		gain := Gain{SameGOGC: hotPathPart * most.SameGOGC, SameMemory: hotPathPart * most.SameMemory}
		gain.Error = hotPathDoubt * gain.Best()
		if gain.Best() < max(hotPathGain, most.Error) {
			continue
		}
		f := a.finding(g.sites, gain)
		if _, known := a.ageOf(g.sites); !known || gain.Best() < guessGain {
			f.Severity = SeverityInfo // What lives on is not for reuse.
		}
		f.Detail = fmt.Sprintf("%s from %s%s; %s.", a.made(t), a.places(g.sites), a.under(g), lifetime(a, g.sites))
		_, f.Evidence["no_arena_because"] = a.arenaUnit(g)
		f.Remedy = Remedy{
			Text: "Allocate less in " + g.sites[0].at.Place() + ": reuse what the caller keeps, and use values and numbers in place of pointers and strings. " +
				"Skip the work whose result is not used, do it once for equal input, and give slices and maps their size." + a.sortOffer(g.sites[0].owner),
			Snippet: "- func (s *server) names(list []item) []string { out := []string{}; … }\n" +
				"+ func (s *server) appendNames(out []string, list []item) []string { … } // the caller keeps out",
		}
		found = append(found, a.hot(f, t))
	}
	return ranked(found)
}

// hot adds what both kinds of findings have.
func (a *account) hot(f Finding, t toll) Finding {
	f.Evidence["mean_object_bytes"] = meanSize(t)
	f.Check = []string{
		"The objects and bytes of these lines in a new heap profile (-sample_index=alloc_space).",
		"CPU per operation before and after: freehold compare.",
	}
	return f
}

// A callWay is what to do about a call whose memory is dropped soon: which part of its memory goes, and of
// its other work. A guess is a remedy that the call's library may not have, info one that the user
// cannot carry out.
type callWay struct {
	text, snippet string
	part, work    float64
	guess, info   bool
}

// Functions by the beginnings of their names: those that turn an input into a tree, those that the
// program's work happens in, and those that turn a value into bytes or back.
var (
	reading  = []string{"parse", "read", "load", "from", "build", "new", "decode", "query"}
	serving  = []string{"run", "exec", "eval", "call", "do", "serve", "listen", "start", "wait", "handle", "main", "process", "work"}
	encoding = []string{"marshal", "encode", "unmarshal", "decode", "parse", "format", "compress"}
)

// wayOf is what to do about a call.
func (a *account) wayOf(c *call) callWay {
	has := func(like func(name string) bool) (names []string) {
		for _, name := range a.lines.Exports(c.to) {
			if like(name) && len(names) < 2 {
				names = append(names, name)
			}
		}
		return names
	}
	name, pkg := calledAs(c.to), stack.ShortName(c.to.Package+".")
	if c.Copies != "" {
		w := callWay{part: copyPart, work: copyPart, snippet: "- for _, x := range list {\n-     sum = set.Or(sum, x) // a new sum each time\n- }\n+ for _, x := range list {\n+     sum.Or(x) // in place\n+ }"}
		w.text = fmt.Sprintf("Change %s in place, or pass all inputs in one call: %s copies %s for each of them.", c.Copies, c.name(), c.Copies)
		if forms := has(func(e string) bool { return e != name && (strings.HasSuffix(e, ")."+name) || combines(e, name)) }); len(forms) > 0 {
			w.text += " The package has " + strings.Join(forms, " and ") + "."
		}
		return w
	}
	if stream := has(streams); len(stream) > 0 && c.To != "" && verb(c.to, reading) {
		return callWay{part: 1, work: treePart, snippet: "- tree, err := lib.Parse(r)\n- walk(tree)\n+ for tokens := lib.NewTokenizer(r); tokens.Next(); { … }",
			text: fmt.Sprintf("Read the input piece by piece with %s%s: the tree of %s is walked once and dropped.", pkg, stream[0], c.name())}
	}
	kept := has(func(e string) bool { return verb(c.to, encoding) && (fills(e, name) || resets(e, name)) })
	if len(kept) > 0 {
		return callWay{part: hotPathPart, work: 0, text: fmt.Sprintf("Use %s%s with memory that you keep, in place of %s, which makes it anew.", pkg, kept[0], c.name()),
			snippet: "- out, err := lib.Marshal(v)\n+ buf, err = lib.MarshalAppend(buf[:0], v)"}
	}
	w := callWay{part: hotPathPart, work: hotPathWork, guess: true, snippet: "- for _, v := range list {\n-     out, err := lib.Do(v)\n- }\n+ out, err := lib.DoAll(buf[:0], list)"}
	w.text = fmt.Sprintf("Ask less of %s: leave out what is not used, call it once for several inputs, or pass it memory that you keep.", c.name())
	loops, known := a.lines.Loops(c.owner)
	if w.info = verb(c.to, serving) || strings.Contains(c.to.Func, ".func") || verb(c.to, using) || known && loops == 0 && runsOnce(c.frames, 0); w.info {
		w.snippet = ""
		w.text = fmt.Sprintf("What %s allocates is its own; only options of package %s and the settings of the collector change that.", c.name(), c.to.Package)
	}
	return w
}

// combines reports whether an exported function does what another does, for many inputs or in place.
func combines(e, name string) bool {
	return strings.Contains(e, name) && slices.ContainsFunc([]string{"Many", "All", "Batch", "Fast", "InPlace", "Multi"}, func(w string) bool { return strings.Contains(e, w) })
}

// streams reports whether an exported function reads an input piece by piece, by its name.
func streams(e string) bool {
	return slices.ContainsFunc([]string{"NewTokenizer", "NewScanner", "NewLexer", "NewStream", "NewCursor", "NewIterator", "NewPullParser"}, func(w string) bool { return strings.HasPrefix(e, w) })
}

// fills reports whether an exported function or method does what another does, into memory of the
// caller's, by its name.
func fills(e, name string) bool {
	own := e[strings.LastIndexByte(e, '.')+1:]
	rest, found := strings.CutPrefix(strings.Replace(own, "Append", "", 1), name)
	return own != name && found && (own != rest && strings.Contains(own, "Append") || rest == "To" || rest == "Into" || rest == "Buffer")
}

// resets reports whether an exported method resets a value that does what a function does: that of an
// Encoder for Encode and Marshal.
func resets(e, name string) bool {
	receiver, ok := strings.CutSuffix(strings.ToLower(e), ").reset")
	stem := strings.TrimSuffix(strings.ToLower(name), "e")
	if stem = strings.Replace(stem, "unmarshal", "decod", 1); strings.HasPrefix(stem, "marshal") {
		stem = "encod"
	}
	return ok && strings.HasPrefix(receiver, "(*"+stem)
}
