// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/terminal"
)

const (
	// jsonShare is the least share of CPU time that encoding or decoding must take, allocation
	// included.
	jsonShare = 0.05
	// jsonReflection is the least part of that time that must be spent in package reflect, or below
	// functions that make trees of any. Generated code has little of either: it asks once for the
	// type. Allocation through reflect does not count, because other code allocates that way, too.
	jsonReflection = 0.08
	// jsonAny is the least part of decoding that must make maps and slices of any for the decoding to
	// count as decoding into them.
	jsonAny = 0.3
	// jsonDoubt is the uncertain part of the gain: decoders differ by that much from the cost of
	// one pass over the text.
	jsonDoubt = 0.2
	// jsonArena is the most that arenajson takes of encoding/json's CPU time on documents with structure,
	// as freehold bench -run decode/struct measures it.
	jsonArena = 0.2
)

// jsonUse is the cost of one place's calls of a package for JSON that works by reflection.
type jsonUse struct {
	*bundle
	entry   *stack.Frame // the function of the package that it calls
	inner   float64
	reflect float64 // CPU time in reflect, and for trees of any
	check   float64 // CPU time of a pass that only checks whether the text is valid
	numbers float64 // CPU time that parses and prints numbers
	any     float64 // CPU time below functions that decode into any
	// sites are all sites below the calls; boxes are those that make the tree of any.
	boxes []*site
}

// findJSON finds encoding and decoding of JSON by reflection. The same profile shows the cost
// without reflection: encoding/json checks a document before it decodes it, and the check costs as
// much as one pass over the text. The cost of the values and of parsing numbers remains, too. The
// cost of values of any does not remain, because code that knows its fields does not need them.
func findJSON(a *account) []Finding {
	pkgs := jsonPackages(a)
	inPackage := stack.Matching(func(f *stack.Frame) bool { return pkgs[f.Package] })
	uses := map[string]*jsonUse{}
	var list []*jsonUse
	useOf := func(frames []*stack.Frame) (*jsonUse, int) {
		i := stack.Outermost(frames, inPackage)
		if i < 0 || i+1 == len(frames) {
			return nil, -1
		}
		owner := stack.Caller(frames, i+1)
		// Encoding and decoding have their own lines and remedies.
		key := owner.Func + " encodes"
		if decodes(frames[i]) {
			key = owner.Func + " decodes"
		}
		u := uses[key]
		if u == nil {
			u = &jsonUse{bundle: &bundle{owner: owner}, entry: frames[i]}
			uses[key] = u
			list = append(list, u)
		}
		return u, i
	}
	for _, st := range a.samples {
		if u, i := useOf(st.frames); u != nil && !st.class.IsGC() && st.class != stack.Profiler {
			u.spend(st, i, inPackage)
		}
	}
	for _, s := range a.free() {
		if u, i := useOf(s.frames); u != nil {
			u.sites = append(u.sites, s)
			if slices.ContainsFunc(s.frames[:i], decodesAny) {
				u.boxes = append(u.boxes, s)
			}
		}
	}
	var found []Finding
	for _, u := range list {
		if a.share(u.spent) < jsonShare || u.reflect < jsonReflection*u.spent {
			continue
		}
		if u.anyTree() && a.lines.PassesResult(u.owner, calledAs(u.entry)) {
			continue // A tree of any that others want; a struct would not do.
		}
		found = append(found, u.finding(a))
	}
	return ranked(found)
}

// jsonPackages are the profile's packages for JSON. A package counts if its path contains "json",
// or if it has the types of encoding/json, as copies of it under another name do. For the user's
// own packages only the types count, because their paths may contain the word for other reasons.
func jsonPackages(a *account) map[string]bool {
	pkgs := map[string]bool{}
	for f := range a.code.Frames() {
		switch {
		case f.Runtime:
		case strings.Contains(f.Func, ".(*decodeState)."), strings.Contains(f.Func, ".(*encodeState)."):
			pkgs[f.Package] = true
		case !f.User && strings.Contains(f.Package, "json"):
			pkgs[f.Package] = true
		}
	}
	return pkgs
}

// spend adds a sample's time. frames[i] is the outermost one of the package.
func (u *jsonUse) spend(st *sample, i int, inPackage func(*stack.Frame) bool) {
	u.spent += st.ns
	if st.site == nil || st.class == stack.Mutator {
		u.inner += st.ns
	}
	var reflects, checks, numbers, boxed bool
	for _, f := range st.frames[:i+1] {
		reflects = reflects || strings.HasPrefix(f.Package, "reflect") || strings.HasSuffix(f.Package, "/reflect2")
		boxed = boxed || decodesAny(f)
		if inPackage(f) {
			name := f.Func[len(f.Package):]
			checks = checks || name == ".checkValid" || strings.HasSuffix(name, ".CheckNextValue")
			continue
		}
		numbers = numbers || strings.HasSuffix(f.Package, "strconv")
	}
	if reflects && st.class == stack.Mutator && st.site == nil || boxed {
		u.reflect += st.ns
	}
	if boxed {
		u.any += st.ns
	}
	switch mutator := st.site == nil || st.class == stack.Mutator; {
	case !mutator:
	case checks:
		u.check += st.ns
	case numbers:
		u.numbers += st.ns
	}
}

// decodesAny reports whether a function decodes into any: its results are maps, slices and values
// in interfaces.
func decodesAny(f *stack.Frame) bool {
	for _, name := range []string{"objectInterface", "arrayInterface", "literalInterface", "unmarshalObjectAny", "unmarshalArrayAny", "unmarshalValueAny", "makeInterfaceArshaler"} {
		if strings.Contains(f.Func, "."+name) {
			return true
		}
	}
	return false
}

// anyTree reports whether the decoder mostly makes maps and slices of any.
func (u *jsonUse) anyTree() bool { return u.decoding() && u.any >= jsonAny*u.spent }

// decoding reports whether the place decodes.
func (u *jsonUse) decoding() bool { return decodes(u.entry) || u.check > 0 }

// decodes reports whether a function of a package for JSON decodes, by its name.
func decodes(entry *stack.Frame) bool {
	name := strings.ToLower(entry.Func[len(entry.Package):])
	return strings.Contains(name, "decode") || strings.Contains(name, "unmarshal")
}

func (u *jsonUse) finding(a *account) Finding {
	slices.SortStableFunc(u.sites, func(s, t *site) int { return cmp.Compare(t.cpuNow(), s.cpuNow()) })
	gone, outside := u.sites, u.reflectOutside()
	anyTree := u.anyTree()
	switch {
	case u.decoding() && u.check > 0:
		outside = u.inner - u.check - u.numbers
		if anyTree {
			outside, gone = u.inner-u.check, u.sites
		} else {
			gone = nil // the values stay
		}
	case u.decoding() && !anyTree:
		gone = nil
	case u.decoding():
		gone = u.boxes
	}
	if u.inArena(anyTree) {
		gone, outside = u.sites, max(u.inner-jsonArena*u.spent, 0) // The values are in the arena.
	}
	g := a.gainWith(a.sum(gone).dead(), outside, jsonDoubt)
	f := a.findingAt(u.owner, u.sites, g, u.inner)
	f.Site = siteAt(u.owner)
	f.Evidence["json_cpu_share"] = round(a.share(u.spent))
	f.Evidence["reflection_share"] = round(u.reflect / u.spent)
	f.Evidence["validation_cpu_share"] = round(a.share(u.check))
	f.Evidence["decodes_into_any"] = anyTree
	f.Evidence["entry"] = u.entry.Func
	u.remedy(&f, a, anyTree)
	return f
}

// reflectOutside is the CPU time of reflection outside the allocator. It serves for packages that
// do not check a document first.
func (u *jsonUse) reflectOutside() float64 {
	if u.spent == 0 {
		return 0
	}
	return u.reflect * u.inner / u.spent
}

func (u *jsonUse) remedy(f *Finding, a *account, anyTree bool) {
	verb := "encodes"
	if u.decoding() {
		verb = "decodes"
	}
	f.Detail = u.owner.Place() + " " + verb + " JSON by reflection, through " + stack.ShortName(u.entry.Func) + ": " + terminal.Percent(a.share(u.spent)) + " of the CPU time"
	switch {
	case anyTree:
		f.Detail += ", most of it for maps and slices of any."
		f.Remedy = Remedy{
			Text: "Decode into a struct with the fields that you read, or read the fields from the text with jsontext or gjson. Maps of any take an allocation for each value.",
			Snippet: "- var doc map[string]any\n+ var doc struct{ Amount float64 `json:\"amount\"` } // or gjson.GetBytes(data, \"amount\").Float()\n" +
				"  err := json.Unmarshal(data, &doc)\n- amount := doc[\"amount\"].(float64)\n+ amount := doc.Amount",
		}
	case u.decoding():
		f.Detail += "; " + terminal.Percent(a.share(u.check)) + " checks the text before it is decoded."
		f.Remedy = u.decoder()
	default:
		f.Detail += "."
		f.Remedy = Remedy{
			Text:    "Append the fields by hand to a slice that is reused (strconv.AppendInt, jsontext.AppendQuote), or use an encoder that prepares each type once, such as goccy/go-json.",
			Snippet: "- out, err := json.Marshal(v)\n+ buf = v.appendJSON(buf[:0]) // strconv.AppendInt, jsontext.AppendQuote",
		}
	}
	same := "A test that both encoders write the same text for your values, unusual ones included: nil, empty slices, large numbers, invalid UTF-8."
	if u.decoding() {
		same = "A test that both decoders return the same values for your documents, unusual ones included: unknown fields, null, large numbers, invalid UTF-8."
	}
	f.Check = []string{
		same,
		"The share of " + stack.PackageOf(u.entry.Func) + " in a new CPU profile.",
	}
}

// inArena reports whether arenajson can take the place of the decoder.
func (u *jsonUse) inArena(anyTree bool) bool {
	return u.decoding() && !anyTree && stack.PackageOf(u.entry.Func) == "encoding/json"
}

// decoder is the remedy for decoding into structs: another decoder.
func (u *jsonUse) decoder() Remedy {
	const others, bench = "a decoder that prepares each type once (goccy/go-json, sonic), or write one with jsontext.", " `go run . -full -run '^decode' -docs 'GLOB'` in freehold's folder benchmarks measures them on your documents."
	if !u.inArena(false) {
		return Remedy{Text: "Use " + others + bench, Snippet: "- import \"encoding/json\"\n+ import json \"github.com/goccy/go-json\""}
	}
	return Remedy{
		Text:    "Decode with arenajson.Unmarshal, which has the same meaning, into an arena if the values end together. Otherwise use " + others + bench,
		Snippet: "- err := json.Unmarshal(data, &doc)\n+ doc, err := arenajson.Unmarshal[order](a, data)\n  ...\n+ a.Reset(arena.Keep) // The values are no longer needed.",
	}
}
