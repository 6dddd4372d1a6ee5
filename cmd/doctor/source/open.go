// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/packages"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// sourcePackages is the number of packages that are read: a diagnosis should take seconds, and the
// important sites are in few packages.
const sourcePackages = 12

// Options are where the source lies, and what reading it may take.
type Options struct {
	Root  string        // the folder of the program's module
	Cache string        // the folder for what was read, such as CacheFolder; "" keeps nothing
	Limit time.Duration // on types
}

// Open reads the packages of the frames from the module at the root, at most twelve of them, the
// first ones first. Packages that are not in the cache take the go command there, which may compile
// imported packages; ctx ends it. Open fails if the root is no module; parts that cannot be read
// are in Module.Problems.
func Open(ctx context.Context, o Options, hot []*stack.Frame) (*Module, error) {
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, fmt.Errorf("no source: %w", err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return nil, fmt.Errorf("no source: %s has no go.mod; name the folder of the program's module", root)
	}
	s := &Module{
		root: root, cache: &cache{dir: o.Cache, bound: cacheBytes, now: time.Now},
		packages: map[string]*pkg{}, own: map[string]bool{}, folders: map[string]string{},
	}
	patterns := s.patterns(hot)
	if len(patterns) == 0 {
		return s, nil
	}
	limited, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	s.settings = offline(limited, root)
	err = s.read(limited, patterns)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("no source: %w", ctx.Err())
	case limited.Err() != nil:
		s.Problems = append(s.Problems, fmt.Sprintf("reading the types took longer than %v, so those of %s are missing; -source none reads none", o.Limit, s.unread()))
	case err != nil:
		return nil, fmt.Errorf("no source: %s in %s", firstLine(err), root)
	}
	for i, problem := range s.Problems {
		s.Problems[i] = withCause(problem)
	}
	s.compare(hot)
	return s, nil
}

// read reads the packages that match the patterns.
func (s *Module) read(ctx context.Context, patterns []string) error {
	l, err := list(ctx, s.settings, patterns)
	if err != nil {
		return err
	}
	var missing []string
	for path, p := range l.packages {
		if p.Dir != "" && (!p.Standard || !p.DepOnly) {
			s.folders[p.Dir] = path
		}
		s.own[path] = p.Module.Main
		if p.DepOnly {
			continue
		}
		known, f := &pkg{listed: *p, key: l.key(p)}, &facts{}
		s.packages[path] = known
		if s.cache.get(known.key, f) {
			known.facts = f
			continue
		}
		missing = append(missing, path)
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return s.load(ctx, missing)
}

// unread names the packages that were not read.
func (s *Module) unread() string {
	var names []string
	for path, p := range s.packages {
		if p.facts == nil {
			names = append(names, path)
		}
	}
	if len(names) == 0 {
		return "all packages" // they are not even known
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// compare notes as problems the files that have other functions on the profile's lines.
func (s *Module) compare(hot []*stack.Frame) {
	noted := map[string]bool{} // files
	for _, at := range hot {
		p := s.packageOf(at)
		if p == nil {
			continue
		}
		file := p.ImportPath + "/" + fileName(at.File)
		if _, ok := p.declaration(at); !ok && !noted[file] {
			noted[file] = true
			s.Problems = append(s.Problems, fmt.Sprintf("%s: line %d is not in %s; the profiled program was built from another version", stack.Base(at.File), at.Line, stack.ShortName(at.Func)))
		}
	}
}

// patterns are the patterns by which the go command finds the packages of the frames, each once. It does
// not find the packages of external tests.
func (s *Module) patterns(hot []*stack.Frame) (patterns []string) {
	seen := map[string]bool{}
	for _, at := range hot {
		pattern := importPath(at.Func)
		if pattern == "main" {
			dir, ok := s.folder(at.File)
			if !ok {
				continue
			}
			pattern = "./" + filepath.ToSlash(dir)
		}
		if pattern == "" || seen[pattern] || strings.HasSuffix(pattern, "_test") && strings.HasSuffix(at.File, "_test.go") || len(patterns) == sourcePackages {
			continue
		}
		seen[pattern] = true
		patterns = append(patterns, pattern)
	}
	return patterns
}

// load parses packages and checks their types. Their imports come from the compiler's export data.
func (s *Module) load(ctx context.Context, paths []string) error {
	// The go command compiles imports that the build cache does not have. Under process.Own its
	// compilers end with ctx; those of packages.Load would not. An error is reported by Load.
	_ = s.settings.command(ctx, append([]string{"list", "-e", "-deps", "-compiled", "-export", "-pgo=off", "-f={{\"\"}}", "--"}, paths...)...).Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	loaded, err := packages.Load(&packages.Config{
		Context: ctx,
		Dir:     s.root,
		Env:     s.settings.env,
		Fset:    token.NewFileSet(),
		Mode: packages.NeedName | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedExportFile |
			packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule,
	}, paths...)
	if err != nil {
		return err
	}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			s.Problems = append(s.Problems, fmt.Sprintf("%s: %s", p.PkgPath, firstLine(errors.New(p.Errors[0].Msg))))
		}
		known := s.packages[p.PkgPath]
		if p.TypesInfo == nil || p.TypesSizes == nil || known == nil {
			continue
		}
		known.facts = extract(p)
		if len(p.Errors) > 0 {
			known.key = "" // The error may have a cause that is not in the key.
		}
		s.cache.put(known.key, known.facts)
	}
	return nil
}
