// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bufio"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/pprof/profile"
)

// NoSource is the value of Options.Source with which no source is read.
const NoSource = "none"

// findSource sets where the program's source lies, if it is at hand: in Options.Source, else above
// the files of its main package or main module where the profiles name them, else in the module of
// the working directory if that is the program's.
func (c *collector) findSource() error {
	if c.Source != "" && c.Source != NoSource {
		root, module := moduleAbove(filepath.Join(c.Source, "go.mod"))
		if root == "" {
			return fmt.Errorf("doctor: -source %s: there is no go.mod in or above it", c.Source)
		}
		c.ev.Root = root
		if c.ev.Main == "" {
			c.ev.Main = module
		}
		return nil
	}
	if c.ev.Root == "" && !c.sourceAbove() {
		c.sourceHere()
	}
	if c.Source == NoSource {
		c.ev.Root = "" // the search has found the main module, which needs no reading
	}
	return nil
}

// functions yields the functions of all profiles.
func (c *collector) functions() iter.Seq[*profile.Function] {
	return func(yield func(*profile.Function) bool) {
		for _, p := range []*profile.Profile{c.ev.CPU, c.ev.Heap[1]} {
			if p == nil {
				continue
			}
			for _, f := range p.Function {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// sourceAbove searches the folders above the files of the main package, or of the main module if
// that is known.
func (c *collector) sourceAbove() bool {
	looked := map[string]bool{} // folders
	for f := range c.functions() {
		dir := filepath.Dir(f.Filename)
		ours := strings.HasPrefix(f.Name, "main.") || inModule(f.Name, c.ev.Main)
		if !ours || !filepath.IsAbs(f.Filename) || looked[dir] {
			continue
		}
		looked[dir] = true
		if _, err := os.Stat(f.Filename); err != nil {
			continue
		}
		root, module := moduleAbove(f.Filename)
		if root != "" && (c.ev.Main == "" || c.ev.Main == module) {
			c.ev.Root, c.ev.Main = root, module
			return true
		}
	}
	return false
}

// sourceHere takes the working directory's module as the source if the program was built from it,
// even on another machine.
func (c *collector) sourceHere() {
	root, module := moduleAbove("go.mod")
	if root == "" || c.ev.Main != "" && c.ev.Main != module {
		return
	}
	for f := range c.functions() {
		// The main package's functions have no path in their names, but, if it was built with
		// -trimpath, in their files'.
		if inModule(f.Name, module) || strings.HasPrefix(f.Name, "main.") && inModule(f.Filename, module) {
			c.ev.Root, c.ev.Main = root, module
			return
		}
	}
}

// inModule reports whether a function or a file is of a module, by the path that its name begins
// with.
func inModule(name, module string) bool {
	rest, ok := strings.CutPrefix(name, module)
	return ok && module != "" && rest != "" && (rest[0] == '/' || rest[0] == '.')
}

// moduleAbove is the folder of the module that a file belongs to, and the module's path; "" if
// there is none.
func moduleAbove(file string) (root, module string) {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return "", ""
	}
	for {
		if module := modulePath(filepath.Join(dir, "go.mod")); module != "" {
			return dir, module
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", ""
		}
		dir = up
	}
}

// modulePath reads the module line of a go.mod file.
func modulePath(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) >= 2 && fields[0] == "module" {
			return strings.Trim(fields[1], `"`)
		}
	}
	return ""
}
