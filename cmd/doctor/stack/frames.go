// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"fmt"
	"iter"
	"maps"
	"path"
	"strings"

	"github.com/google/pprof/profile"
)

// A Frame is a line of a function on a stack, inlined calls included. A [Table] has one Frame for
// each line, so frames are compared by their address, and a line is classified once.
type Frame struct {
	// Func is the function's name with its package's path, as in
	// encoding/json.(*decodeState).object.
	Func string
	File string
	Line int

	ID      int    // the function's number in its Table, from 0
	Package string // import path, "main" for the main package
	// Runtime says that the function belongs to the runtime: by its name, or by its file if another
	// package has it by linkname. Std says that it belongs to the standard library, User to the
	// main module.
	Runtime, Std, User bool

	rank     int  // index in oneOf, len(oneOf) for none
	entry    bool // matches allocEntry
	core     bool // matches allocCore
	activity int  // index in activities, len(activities) for none
}

// IsProfiler reports whether the function is part of the CPU or the heap profiler.
func (f *Frame) IsProfiler() bool { return f.rank == rankProfiler }

// lineKey identifies a frame.
type lineKey struct {
	fn, file string
	line     int
}

// A Table holds the frames of one program, and knows which module each belongs to. It is for one
// goroutine at a time.
type Table struct {
	main   string // path of the main module, "" if not known
	goroot string // directory of the standard library's source with a slash behind it, "" if file names do not show it
	known  map[lineKey]*Frame
	ids    map[string]int // functions' ids
}

// NewTable returns an empty table for a program whose main module is main, "" if that is not known.
// The profiles tell it where the standard library's source lies; any of them may be nil.
func NewTable(main string, profiles ...*profile.Profile) *Table {
	t := &Table{main: main, known: map[lineKey]*Frame{}, ids: map[string]int{}}
	for _, p := range profiles {
		if p == nil {
			continue
		}
		for _, f := range p.Function {
			dir, ok := strings.CutSuffix(path.Dir(Slashed(f.Filename)), "/runtime")
			if ok && PackageOf(f.Name) == "runtime" {
				t.goroot = dir + "/"
				return t
			}
		}
	}
	return t
}

// Frame returns the table's frame for a line, and makes it at the first call.
func (t *Table) Frame(fn, file string, line int) *Frame {
	key := lineKey{fn, file, line}
	f := t.known[key]
	if f == nil {
		id, ok := t.ids[fn]
		if !ok {
			id = len(t.ids)
			t.ids[fn] = id
		}
		f = &Frame{Func: fn, File: file, Line: line, ID: id, Package: PackageOf(fn)}
		f.Runtime = IsRuntime(fn, file)
		f.Std, f.User = t.isStd(f), t.isUser(f)
		f.rank, f.activity = rankOf(fn), activityRank(fn)
		f.entry, f.core = allocEntry.MatchString(fn), allocCore.MatchString(fn)
		t.known[key] = f
	}
	return f
}

// Frames iterates over all frames of the table, in no order.
func (t *Table) Frames() iter.Seq[*Frame] { return maps.Values(t.known) }

// Functions is the number of functions in the table. Frame.ID is less.
func (t *Table) Functions() int { return len(t.ids) }

// Stacks returns the stack of each sample of a profile, in the order of the samples, innermost
// frame first.
func (t *Table) Stacks(p *profile.Profile) [][]*Frame {
	lines := make(map[*profile.Location][]*Frame, len(p.Location))
	for _, loc := range p.Location {
		list := make([]*Frame, 0, len(loc.Line))
		for _, l := range loc.Line {
			if l.Function != nil {
				list = append(list, t.Frame(l.Function.Name, l.Function.Filename, int(l.Line)))
			}
		}
		lines[loc] = list
	}
	total := 0
	for _, s := range p.Sample {
		for _, loc := range s.Location {
			total += len(lines[loc])
		}
	}
	all := make([]*Frame, 0, total)
	stacks := make([][]*Frame, len(p.Sample))
	for i, s := range p.Sample {
		start := len(all)
		for _, loc := range s.Location {
			all = append(all, lines[loc]...)
		}
		stacks[i] = all[start:len(all):len(all)]
	}
	return stacks
}

func (t *Table) isStd(f *Frame) bool {
	if f.Package == "main" || Within(f.Package, "cmd") || t.main != "" && Within(f.Package, t.main) {
		return false // cmd is Go's own commands
	}
	if t.goroot != "" {
		return strings.HasPrefix(Slashed(f.File), t.goroot) || f.Runtime
	}
	first, _, _ := strings.Cut(f.Package, "/")
	return !strings.Contains(first, ".")
}

// OfUser reports whether a package belongs to the main module, as far as its name tells.
func (t *Table) OfUser(pkg string) bool {
	return pkg == "main" || t.main != "" && Within(pkg, t.main)
}

// isUser reports whether the frame is of the main module. If the module's path is not known, all
// frames count that belong neither to the standard library nor to a dependency. A dependency's file
// names contain a version or lie below vendor.
func (t *Table) isUser(f *Frame) bool {
	if f.Package == "main" {
		return true
	}
	if file := Slashed(f.File); strings.Contains(file, "/vendor/") {
		return false
	}
	if t.main != "" {
		return Within(f.Package, t.main)
	}
	return !t.isStd(f) && !f.Runtime && !strings.Contains(f.File, "@v")
}

// Place writes a frame for a sentence: its function, file and line.
func (f *Frame) Place() string {
	if f.File == "" {
		return ShortName(f.Func)
	}
	return fmt.Sprintf("%s (%s:%d)", ShortName(f.Func), Base(f.File), f.Line)
}
