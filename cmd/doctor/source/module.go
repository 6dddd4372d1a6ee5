// SPDX-License-Identifier: Apache-2.0

package source

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// A Module is the source of a program: the packages of the frames that it was opened for, with
// types. It does not guess: if a line's function has another
// name than in the profile, the source is of another version, and the line is left out. A Module is
// for one goroutine at a time.
type Module struct {
	// Problems says what could not be read, and why, in one line each.
	Problems []string

	root     string
	settings settings
	cache    *cache
	packages map[string]*pkg   // by import path
	folders  map[string]string // import paths by folder, of all packages that the program may have
	own      map[string]bool   // import paths of the module's own packages
}

// Owns reports whether a package is the module's own, as far as that was read.
func (s *Module) Owns(path string) bool { return s.own[path] }

// folder finds the folder below the root that has the file.
func (s *Module) folder(file string) (string, bool) { return folderOf(s.root, file) }

// folderOf finds the folder below a root that has the file. The file may have been compiled
// elsewhere, so folderOf takes the longest end of its path that exists below the root.
func folderOf(root, file string) (string, bool) {
	if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
		file = rel
	}
	// The separator is that of the machine that compiled the program.
	parts := strings.Split(stack.Slashed(file), "/")
	for i := range parts {
		rel := filepath.Join(parts[i:]...)
		if rel == "" || !filepath.IsLocal(rel) {
			continue
		}
		if info, err := os.Stat(filepath.Join(root, rel)); err == nil && info.Mode().IsRegular() {
			return filepath.Dir(rel), true
		}
	}
	return "", false
}

// packageOf returns the package of a frame, or nil if the frame's file was not read. It finds a
// package main by its folder, because profiles have only the name "main" for it.
func (s *Module) packageOf(at *stack.Frame) *pkg {
	path := importPath(at.Func)
	if !strings.HasSuffix(at.File, ".go") {
		return nil // the lines of a generator's input
	}
	if path == "main" {
		dir, ok := s.folder(at.File)
		if !ok {
			return nil
		}
		path = s.folders[filepath.Join(s.root, dir)]
	}
	p := s.packages[path]
	if p == nil || p.facts == nil || p.facts.Files[fileName(at.File)] == nil {
		return nil
	}
	return p
}
