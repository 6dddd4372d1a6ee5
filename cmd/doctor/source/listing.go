// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// listed is a package as "go list" describes it, which needs no compiler.
type listed struct {
	ImportPath, Dir string
	Standard        bool // of Go itself
	DepOnly         bool // only an import of the packages that were asked for
	GoFiles         []string
	CgoFiles        []string
	HFiles          []string
	Imports         []string
	ImportMap       map[string]string // of vendored packages
	Module          struct {
		Path, GoVersion string
		Main            bool
	}
	Incomplete bool // it or an import cannot be read
}

// listing are the packages of a program, with all that they import.
type listing struct {
	settings settings
	packages map[string]*listed
	ids      map[string]string // of packages, by import path
}

// list asks the go command for the packages that match the patterns, and all that these import.
func list(ctx context.Context, s settings, patterns []string) (*listing, error) {
	args := []string{"list", "-e", "-deps", "-json=ImportPath,Dir,Standard,DepOnly,GoFiles,CgoFiles,HFiles,Imports,ImportMap,Module,Incomplete", "--"}
	out, err := s.command(ctx, append(args, patterns...)...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%s\n%w", exit.Stderr, err)
	}
	if err != nil {
		return nil, err
	}
	l := &listing{settings: s, packages: map[string]*listed{}, ids: map[string]string{}}
	for lines := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		if err := lines.Decode(p); errors.Is(err, io.EOF) {
			return l, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		l.packages[p.ImportPath] = p
	}
}

// key is the name under which a package's facts are kept: a hash of all that they depend on. It is
// "" if not all of that is known.
func (l *listing) key(p *listed) string {
	if l.settings.identity == "" || p.Incomplete {
		return ""
	}
	id := l.id(p.ImportPath)
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(cacheFormat + "\n" + l.settings.identity + "\n" + id))
	return hex.EncodeToString(sum[:16])
}

// id identifies the source of a package and of all that it imports: those decide the sizes of its
// structs. It is "" if a file cannot be read.
//
// A package of the cache of modules never changes, and its folder has its version. Go's own packages
// have the version of Go, which is in every key. All others are known by the contents of their files.
func (l *listing) id(path string) string {
	if id, ok := l.ids[path]; ok {
		return id
	}
	l.ids[path] = "" // an import of itself is an error that the go command reports
	p := l.packages[path]
	switch {
	case path == "C" || path == "unsafe" || p != nil && p.Standard && !inside(l.settings.root, p.Dir):
		l.ids[path] = path
		return path
	case p == nil:
		return ""
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %v\n", path, p.Module.Path, p.Module.GoVersion, p.Module.Main)
	if inside(l.settings.modules, p.Dir) {
		fmt.Fprintf(h, "%q\n", p.Dir)
	} else if !hashFiles(h, p.Dir, slices.Concat(p.GoFiles, p.CgoFiles, p.HFiles)) {
		return ""
	}
	for _, imported := range p.imported() {
		id := l.id(imported)
		if id == "" {
			return ""
		}
		fmt.Fprintf(h, "%q %s\n", imported, id)
	}
	l.ids[path] = hex.EncodeToString(h.Sum(nil))
	return l.ids[path]
}

// imported lists the import paths of a package's imports.
func (p *listed) imported() []string {
	paths := slices.Clone(p.Imports)
	for i, path := range paths {
		if vendored, ok := p.ImportMap[path]; ok {
			paths[i] = vendored
		}
	}
	return paths
}

// inside reports whether a folder is in another.
func inside(outer, dir string) bool {
	rel, err := filepath.Rel(outer, dir)
	return err == nil && outer != "" && filepath.IsLocal(rel)
}

// hashFiles adds the names and contents of files to a hash.
func hashFiles(h io.Writer, dir string, names []string) bool {
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return false
		}
		fmt.Fprintf(h, "%q %d\n%s", name, len(text), text)
	}
	return true
}

// firstLine is the first line of an error that says something. The go command writes many lines,
// with the package's name above.
func firstLine(err error) string {
	text := err.Error()
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return "no reason given"
}
