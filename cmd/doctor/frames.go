package doctor

import (
	"path"
	"strings"

	"github.com/google/pprof/profile"
)

// A frame is a line of a function on a stack, inlined ones included. An account has one for each line, so that frames are compared
// by their address, and what is known of a line is found out once.
type frame struct {
	fn   string // with its package's path, as in encoding/json.(*decodeState).object
	file string
	line int

	id      int    // of the function, counted from 0
	pkg     string // import path, "main" for the main package
	runtime bool   // belongs to the runtime: by name, or by file where another package has it by linkname
	std     bool   // belongs to the standard library
	user    bool   // belongs to the main module
	rank    int    // index in oneOf, len(oneOf) for none
	entry   bool   // matches allocEntry
	core    bool   // matches allocCore
	kind    int    // index in kindsOf, len(kindsOf) for none
}

func (f *frame) site() Site { return Site{Func: f.fn, File: f.file, Line: f.line} }

// lineKey tells frames apart.
type lineKey struct {
	fn, file string
	line     int
}

// code knows the frames of a program, and whose they are.
type code struct {
	main   string // path of the main module, "" if not known
	goroot string // directory of the standard library's source with a slash behind it, "" if file names do not tell
	known  map[lineKey]*frame
	ids    map[string]int // functions' ids
}

// codeOf learns from the profiles where the standard library's source lies.
func codeOf(main string, profiles ...*profile.Profile) *code {
	c := &code{main: main, known: map[lineKey]*frame{}, ids: map[string]int{}}
	for _, p := range profiles {
		if p == nil {
			continue
		}
		for _, f := range p.Function {
			dir, ok := strings.CutSuffix(path.Dir(slashed(f.Filename)), "/runtime")
			if ok && packageOf(f.Name) == "runtime" {
				c.goroot = dir + "/"
				return c
			}
		}
	}
	return c
}

// frame is the one frame for a line.
func (c *code) frame(fn, file string, line int) *frame {
	key := lineKey{fn, file, line}
	f := c.known[key]
	if f == nil {
		id, ok := c.ids[fn]
		if !ok {
			id = len(c.ids)
			c.ids[fn] = id
		}
		f = &frame{fn: fn, file: file, line: line, id: id, pkg: packageOf(fn)}
		f.runtime, f.std, f.user = f.isRuntime(), c.isStd(f), c.isUser(f)
		f.rank, f.kind = rankOf(fn), kindOf(fn)
		f.entry, f.core = allocEntry.MatchString(fn), allocCore.MatchString(fn)
		c.known[key] = f
	}
	return f
}

// stacksOf are the frames of each sample of a profile, innermost first.
func (c *code) stacksOf(p *profile.Profile) [][]*frame {
	lines := make(map[*profile.Location][]*frame, len(p.Location))
	for _, loc := range p.Location {
		list := make([]*frame, 0, len(loc.Line))
		for _, l := range loc.Line {
			if l.Function != nil {
				list = append(list, c.frame(l.Function.Name, l.Function.Filename, int(l.Line)))
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
	all := make([]*frame, 0, total)
	stacks := make([][]*frame, len(p.Sample))
	for i, s := range p.Sample {
		start := len(all)
		for _, loc := range s.Location {
			all = append(all, lines[loc]...)
		}
		stacks[i] = all[start:len(all):len(all)]
	}
	return stacks
}

// packageOf is the import path in a function's name: the part before the first dot behind the last slash. Type arguments may hold slashes.
func packageOf(fn string) string {
	if i := strings.IndexByte(fn, '['); i >= 0 {
		fn = fn[:i]
	}
	slash := strings.LastIndexByte(fn, '/') + 1
	if dot := strings.IndexByte(fn[slash:], '.'); dot >= 0 {
		return fn[:slash+dot]
	}
	return fn
}

// isRuntime decides by the name, or, for functions that other packages have by linkname, by the file. Names without a package are assembly.
func (f *frame) isRuntime() bool {
	if within(f.pkg, "runtime/internal") || within(f.pkg, "internal/runtime") || f.pkg == "runtime" {
		return true
	}
	if !strings.Contains(f.fn, ".") {
		return strings.HasSuffix(f.file, ".s")
	}
	dir, _ := path.Split(slashed(f.file))
	return dir == "runtime/" || strings.HasSuffix(dir, "/src/runtime/")
}

// slashed is a file name with slashes, whichever system the program was built on.
func slashed(file string) string { return strings.ReplaceAll(file, `\`, "/") }

func (c *code) isStd(f *frame) bool {
	if f.pkg == "main" || within(f.pkg, "cmd") || c.main != "" && within(f.pkg, c.main) {
		return false // cmd is Go's own commands
	}
	if c.goroot != "" {
		return strings.HasPrefix(slashed(f.file), c.goroot) || f.runtime
	}
	first, _, _ := strings.Cut(f.pkg, "/")
	return !strings.Contains(first, ".")
}

// isUser reports whether the frame is of the main module. Where its path is not known, that is what is neither the standard library's
// nor a dependency's, whose file names bear a version or lie below vendor.
func (c *code) isUser(f *frame) bool {
	if f.pkg == "main" {
		return true
	}
	if file := slashed(f.file); strings.Contains(file, "/vendor/") {
		return false
	}
	if c.main != "" {
		return within(f.pkg, c.main)
	}
	return !c.isStd(f) && !f.isRuntime() && !strings.Contains(f.file, "@v")
}

// within reports whether a package is the module's. The package of external tests has _test behind its path.
func within(pkg, module string) bool {
	rest, ok := strings.CutPrefix(pkg, module)
	return ok && (rest == "" || rest[0] == '/' || rest == "_test")
}
