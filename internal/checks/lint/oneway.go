// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/types"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// OneWay checks that references between the files of a package run one way: a reader who begins
// with the file that names no other, and goes on to those that name only files already read, needs
// no file before its turn. The list has the packages in which files name each other in circles, as
// lines "package arrows": the number of pairs of files in which one names the other and lies in a
// circle with it. It may fall, which must be written down too, but not rise.
//
// Tests are left out, and so are files that linux/amd64 without tags does not compile. Packages of
// other modules are not loaded: a reference through the result of a function of such a package is
// not seen.
func OneWay(r *Repo, list string) (found []Finding) {
	allowed, found := parseCircles(list)
	for _, dir := range r.packageDirs() {
		circles := r.circles(dir)
		switch n := len(circles); {
		case n > allowed[dir]:
			found = append(found, Finding{Path: dir, Text: fmt.Sprintf("%d references run in circles of files, the list has %d: %s",
				n, allowed[dir], strings.Join(circles, "; "))})
		case n < allowed[dir]:
			found = append(found, Finding{Path: dir, Text: fmt.Sprintf("%d references run in circles of files, fewer than the %d of the list: lower it in testdata/circles.txt", n, allowed[dir])})
		}
		delete(allowed, dir)
	}
	for dir := range allowed {
		found = append(found, Finding{Path: dir, Text: "the list of circles has it, but there is no such package"})
	}
	return found
}

// parseCircles reads a list of circles.
func parseCircles(list string) (allowed map[string]int, found []Finding) {
	allowed = map[string]int{}
	for i, line := range slices.Collect(strings.Lines(list)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		n := 0
		if len(fields) == 2 {
			n, _ = strconv.Atoi(fields[1])
		}
		if n <= 0 {
			found = append(found, Finding{Path: "circles", Line: i + 1, Text: "want a package and a number of pairs of files"})
			continue
		}
		allowed[fields[0]] = n
	}
	return allowed, found
}

// lowered returns the list with the numbers that have fallen. It raises none and adds no package: a
// package with more circles must be changed, and not the list.
func (r *Repo) lowered(list string) string {
	allowed, _ := parseCircles(list)
	text := "# The packages whose files name each other in circles, and by how many pairs of files; see OneWay. Numbers fall, and no package joins the list.\n"
	for _, dir := range r.packageDirs() {
		if n := min(len(r.circles(dir)), allowed[dir]); n > 0 {
			text += fmt.Sprintf("%s %d\n", dir, n)
		}
	}
	return text
}

// circles lists the references of a package by which files name each other in circles, each as
// "a.go → b.go (name)".
func (r *Repo) circles(dir string) (list []string) {
	arrows := r.references(dir)
	reach := map[string]map[string]bool{} // the files that can be reached from a file
	var walk func(from, at string)
	walk = func(from, at string) {
		for to := range arrows[at] {
			if !reach[from][to] {
				reach[from][to] = true
				walk(from, to)
			}
		}
	}
	for from := range arrows {
		reach[from] = map[string]bool{}
		walk(from, from)
	}
	for from := range arrows {
		for to, name := range arrows[from] {
			if reach[to][from] {
				list = append(list, fmt.Sprintf("%s → %s (%s)", path.Base(from), path.Base(to), name))
			}
		}
	}
	slices.Sort(list)
	return list
}

// references maps each file of a package to the other files of it that declare what it names, and
// one such name for each.
func (r *Repo) references(dir string) map[string]map[string]string {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	p := r.check(dir, info)
	arrows := map[string]map[string]string{}
	for id, object := range info.Uses {
		if object.Pkg() != p || !object.Pos().IsValid() {
			continue
		}
		from, to := r.fset.Position(id.Pos()).Filename, r.fset.Position(object.Pos()).Filename
		if from == to {
			continue
		}
		if arrows[from] == nil {
			arrows[from] = map[string]string{}
		}
		if name := arrows[from][to]; name == "" || id.Name < name {
			arrows[from][to] = id.Name
		}
	}
	return arrows
}

// check finds the types of a package, as far as they do not depend on another module.
func (r *Repo) check(dir string, info *types.Info) *types.Package {
	var files []*ast.File
	r.goFiles(func(f *File) {
		if f.Dir() == dir && !f.IsTest() && f.compiled() {
			files = append(files, f.Syntax)
		}
	})
	c := types.Config{Importer: inRepo{r}, FakeImportC: true, Error: func(error) {}}
	p, _ := c.Check(path.Join(ModulePath, dir), r.fset, files, info)
	return p
}

// inRepo imports packages of the repository.
type inRepo struct{ *Repo }

// errElsewhere makes go/types ignore each name of the package.
var errElsewhere = errors.New("lint: a package of another module")

func (i inRepo) Import(name string) (*types.Package, error) {
	dir, ok := strings.CutPrefix(name, ModulePath)
	if !ok {
		return nil, errElsewhere
	}
	dir = path.Clean(strings.TrimPrefix("./"+dir, "/"))
	if i.types[dir] == nil {
		i.types[dir] = i.check(dir, nil)
	}
	return i.types[dir], nil
}

// packageDirs lists the folders with packages.
func (r *Repo) packageDirs() (dirs []string) {
	r.goFiles(func(f *File) {
		if !f.IsTest() {
			dirs = append(dirs, f.Dir())
		}
	})
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// compiled reports whether linux/amd64 compiles the file with the tags.
func (f *File) compiled(tags ...string) bool {
	c := build.Default
	c.GOOS, c.GOARCH, c.CgoEnabled, c.BuildTags = "linux", "amd64", false, tags
	c.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(f.Text)), nil }
	match, err := c.MatchFile(f.Dir(), path.Base(f.Path))
	return match && err == nil
}
