package source

import (
	"context"
	"fmt"
	"go/token"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/tools/go/packages"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// sourcePackages is the number of packages that are read: a diagnosis should take seconds, and the
// important sites are in few packages.
const sourcePackages = 12

// Open reads the packages of the frames from the module at root, at most twelve of them, the first
// ones first. It runs the go command there, which may compile imported packages; ctx ends it. Open
// fails if root is no module; parts that cannot be read are in Module.Problems.
func Open(ctx context.Context, root string, hot []*stack.Frame) (*Module, error) {
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return nil, fmt.Errorf("no source: %s has no go.mod; name the folder of the program's module", root)
	}
	s := &Module{root: root, packages: map[string]*packages.Package{}, files: map[string]*sourceFile{}}
	patterns := s.patterns(hot)
	if len(patterns) == 0 {
		return s, nil
	}
	s.env = offline(ctx, root)
	if err := s.load(ctx, patterns); err != nil {
		return nil, err
	}
	s.escapes = s.askCompiler(ctx, patterns)
	for i, problem := range s.Problems {
		s.Problems[i] = withCause(problem)
	}
	s.compare(hot)
	return s, nil
}

// compare notes as problems the files that have other functions on the profile's lines.
func (s *Module) compare(hot []*stack.Frame) {
	noted := map[*sourceFile]bool{}
	for _, at := range hot {
		f := s.file(at)
		if f == nil || noted[f] {
			continue
		}
		if _, ok := f.function(at); !ok {
			noted[f] = true
			s.Problems = append(s.Problems, fmt.Sprintf("%s: line %d is not in %s; the profiled program was built from another version", stack.Base(at.File), at.Line, stack.ShortName(at.Func)))
		}
	}
}

// patterns are the patterns by which the go command finds the packages of the frames, each once.
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
		if pattern == "" || seen[pattern] || len(patterns) == sourcePackages {
			continue
		}
		seen[pattern] = true
		patterns = append(patterns, pattern)
	}
	return patterns
}

// load parses the packages and checks their types. Their imports come from the compiler's export
// data.
func (s *Module) load(ctx context.Context, patterns []string) error {
	loaded, err := packages.Load(&packages.Config{
		Context: ctx,
		Dir:     s.root,
		Env:     s.env,
		Fset:    token.NewFileSet(),
		Mode: packages.NeedName | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedExportFile |
			packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule,
	}, patterns...)
	if err != nil {
		return fmt.Errorf("no source: %s in %s", firstLine(err), s.root)
	}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			s.Problems = append(s.Problems, fmt.Sprintf("%s: %s", p.PkgPath, firstLine(p.Errors[0])))
		}
		if p.TypesInfo == nil || p.TypesSizes == nil {
			continue
		}
		s.packages[p.PkgPath] = p
		if p.Module != nil && p.Module.Main {
			s.module = p.Module.Path
		}
		for _, f := range p.Syntax {
			s.files[p.PkgPath+"/"+path.Base(filepath.ToSlash(p.Fset.Position(f.Package).Filename))] = &sourceFile{p, f}
		}
	}
	return nil
}
