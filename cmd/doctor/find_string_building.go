// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

const (
	// stringEntry is the part of a site's CPU time that must be in making strings, or slices of
	// bytes and runes from strings.
	stringEntry = 0.5
	// stringKept is a part of the bytes. If more than that is in use, the strings count as kept, and
	// so as needed.
	stringKept = 0.5
	// stringDoubt is the part of the copying that may remain when the text is appended to a slice.
	stringDoubt = 0.3
)

// findStringBuilding finds strings that are made only to be copied into the next one, or read once:
// concatenation, fmt, strconv, conversions.
func findStringBuilding(a *account) []Finding {
	var all bundles
	for _, s := range a.free() {
		// A caller cannot avoid the strings that the code of others makes for itself.
		if s.calledByUser() && (s.at.User || intermediate(s)) && makesStrings(s) && s.inuseBytes < stringKept*s.allocBytes {
			u := all.add(s)
			u.ns += s.copyCPU
		}
	}
	var found []Finding
	for _, u := range all.list {
		if !slices.ContainsFunc(u.sites, intermediate) {
			continue
		}
		t := a.sum(u.sites)
		kept := 0.0
		if t.allocBytes > 0 {
			kept = min(t.inuseBytes/t.allocBytes, 1)
		}
		g := a.gainWith(t.dead().times(1-kept), u.ns*(1-kept), stringDoubt)
		f := a.findingAt(u.owner, u.sites, g, u.ns)
		kinds := stringKinds(u.sites)
		f.Evidence["copy_cpu_share"] = round(a.share(u.ns))
		f.Evidence["by"] = kinds
		f.Detail = fmt.Sprintf("%s in strings that are dropped at once, made by %s: %s.", a.madeBytes(t), u.sites[0].owner.Place(), strings.Join(kinds, ", "))
		f.Remedy = Remedy{
			Text: "Append the parts to a slice of bytes that is kept from call to call, and make one string at the end, or none: fmt.Appendf, strconv.AppendInt and " +
				"io.Writer take bytes. Skip text that has no reader, such as messages below the log's level.",
			Snippet: stringSnippet(kinds),
		}
		f.Check = []string{
			"The objects that this function allocates: a benchmark with b.ReportAllocs.",
			"No caller keeps the slice, or a string made of it without a copy, at its next use.",
		}
		found = append(found, f)
	}
	return ranked(found)
}

// intermediate reports whether the site makes text that becomes part of other text: by
// concatenation, by functions that format, or by copying a string to bytes. A conversion to a
// string does not count by itself: the string may be the result that the program needs.
func intermediate(s *site) bool {
	if s.at.Std {
		switch s.at.Package {
		case "fmt", "strconv", "internal/strconv", "strings":
			return true
		}
		return false
	}
	for entry := range s.entries {
		for _, p := range []string{"runtime.concat", "runtime.stringto", "runtime.intstring"} {
			if strings.HasPrefix(entry, p) {
				return true
			}
		}
	}
	return false
}

func makesStrings(s *site) bool {
	var text, all float64
	for entry, ns := range s.entries {
		all += ns
		if stack.MakesText(entry) {
			text += ns
		}
	}
	return all > 0 && text >= stringEntry*all
}

// stringKinds are the ways in which the sites make strings, in words, the most costly first.
func stringKinds(sites []*site) (kinds []string) {
	for _, s := range sites {
		for entry := range s.entries {
			kind := ""
			switch {
			case !s.at.User:
				kind = stack.ShortName(s.at.Func)
			case strings.HasPrefix(entry, "runtime.concat"):
				kind = "concatenation"
			case strings.Contains(entry, "tostring"):
				kind = "conversion to string"
			case strings.Contains(entry, "stringto"):
				kind = "conversion of a string"
			}
			if kind != "" && !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	if len(kinds) > 4 {
		kinds = append(kinds[:4:4], "others")
	}
	return kinds
}

func stringSnippet(kinds []string) string {
	for _, k := range kinds {
		switch {
		case strings.HasPrefix(k, "fmt."):
			return "- s := fmt.Sprintf(\"%s:%d\", name, id)\n- w.Write([]byte(s))\n+ buf = fmt.Appendf(buf[:0], \"%s:%d\", name, id)\n+ w.Write(buf)"
		case k == "conversion of a string":
			return "- h.Write([]byte(s))\n+ io.WriteString(h, s)"
		}
	}
	return "- s += name + \":\" + strconv.Itoa(id) + \";\"\n+ buf = append(append(buf, name...), ':')\n+ buf = append(strconv.AppendInt(buf, int64(id), 10), ';')\n  …\n+ s := string(buf) // once"
}
