// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strconv"
	"strings"
)

// nested are the modules that live in folders of their own and stand on the library.
var nested = []string{"cmd", "adapters", "sink", "benchmarks"}

// standardAdapters are packages of the library that connect it to the standard library. They may
// import the packages that they connect.
var standardAdapters = []string{"httparena", "expvarstats", "slogleaks"}

// decoders are packages of the library that fill arenas. They may import package arena.
var decoders = []string{"arenajson"}

// thirdParty are the modules that the library itself may import.
var thirdParty = []string{"golang.org/x/sys"}

// trial is the one package of ours that alloctest may import: it stands on the standard library
// alone, too.
const trial = "internal/checks/trial"

// blackBox is the suite that runs in every configuration. It sees what users see.
const blackBox = "internal/checks/suite"

// Arrows checks which package imports which. Arrows point down: nested modules, then the library's
// packages, then offheap, then the root package, then internal.
func Arrows(r *Repo) (found []Finding) {
	r.goFiles(func(f *File) {
		for _, spec := range f.Syntax.Imports {
			to, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue // the parser has seen to it
			}
			if why := forbidden(f, to); why != "" {
				found = append(found, f.find(spec.Pos(), "imports %s: %s", to, why))
			}
		}
	})
	return found
}

// forbidden says why the file may not import the path, or "".
func forbidden(f *File, to string) string {
	from := f.Dir()
	own, ours := strings.CutPrefix(to+"/", ModulePath+"/")
	own = strings.TrimSuffix(own, "/")
	switch {
	case !ours && inside(from, nested...):
		return "" // the list of dependencies has a golden file of its own
	case !ours:
		return forbiddenForeign(f, to)
	case inside(from, nested...):
		return forbiddenNested(from, own)
	case inside(own, nested...):
		return "nothing in the library imports a nested module"
	case from == blackBox && inside(own, "internal") && !inside(own, "internal/checks"):
		return "this suite sees what users see"
	case f.IsTest():
		return "" // a test may import the packages above its own
	}
	return forbiddenSideways(from, own)
}

// forbiddenNested judges imports of ours in a nested module.
func forbiddenNested(from, own string) string {
	switch {
	case inside(own, "internal"):
		return "a nested module never imports the library's internal packages"
	case inside(from, "adapters") && inside(own, nested...) && !inside(own, from):
		return "an adapter is a module of its own, which brings no other along"
	case inside(from, "sink/examples") && inside(own, "sink/internal"):
		return "an example imports what its readers can import"
	}
	return ""
}

// forbiddenForeign judges imports of the library's from outside it.
func forbiddenForeign(f *File, to string) string {
	first, _, _ := strings.Cut(to, "/")
	if !strings.Contains(first, ".") {
		return "" // the standard library
	}
	if inside(f.Dir(), "alloctest", trial) {
		return "alloctest stands on the standard library alone, because it ends up in its users' tests"
	}
	if inside(to, thirdParty...) {
		return ""
	}
	return "the library depends on the standard library and " + strings.Join(thirdParty, ", ") + " alone"
}

// forbiddenSideways judges imports within the library. own is the imported folder, "" for the root
// package.
func forbiddenSideways(from, own string) string {
	room, _, _ := strings.Cut(from, "/")
	switch {
	case from == trial:
		return "alloctest's tests end up with it: it stands on the standard library alone"
	case inside(from, "internal/checks"):
		// They hold the library to its word, and stand above it.
	case inside(own, "internal/checks") && !(room == "alloctest" && own == trial):
		return "internal/checks is for tests alone"
	case room == "internal":
		if !inside(own, "internal") {
			return "internal packages import internal packages only"
		}
	case room == ".":
		if !inside(own, "internal") {
			return "the root package imports internal packages only"
		}
	case room == "alloctest":
		if !inside(own, "alloctest", trial) {
			return "alloctest stands on the standard library alone, because it ends up in its users' tests"
		}
	case room == "examples":
		if inside(own, "internal") {
			return "an example imports what its readers can import"
		}
	case inside(from, standardAdapters...) && inside(own, "arena", "gctune", "arenajson"):
	case inside(from, decoders...) && inside(own, "arena"):
	case own == "" || inside(own, "internal", "offheap", room):
	default:
		return "no library package imports one beside it, except offheap, the root and internal"
	}
	return ""
}
