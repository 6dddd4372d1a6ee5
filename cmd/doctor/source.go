package doctor

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/tools/go/packages"
)

// How much of the source is looked at: a diagnosis is to end in seconds, and the packages of the sites that matter are few.
const sourcePackages = 12

// sourceTimeout is how long reading the source may take. Tests set more: with an empty build cache the go command compiles what is imported.
var sourceTimeout = 60 * time.Second

// source is the program's source at hand: the packages of its hot sites, with types, and what the compiler says of their allocations.
// What it does not know it does not guess: a line whose function has another name than in the profile is of another version, and is left out.
type source struct {
	root     string
	env      []string                     // of the go command
	module   string                       // the module's path
	packages map[string]*packages.Package // by import path
	files    map[string]*sourceFile       // by import path, a slash, and the file's name
	escapes  map[string][]escape          // by import path, a slash, the file's name, a colon, and the line
	problems []string                     // one line each: what could not be read, and why
}

// sourceFile is a parsed file and the package that it belongs to.
type sourceFile struct {
	pkg    *packages.Package
	syntax *ast.File
}

// openSource reads the packages of the frames from the module at root, the first ones first. It runs the go command there, which may compile what
// the packages import. Parts that cannot be read are listed as problems; the error is for a root that is no module at all.
func openSource(ctx context.Context, root string, hot []*frame) (*source, error) {
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return nil, fmt.Errorf("no source: %s holds no go.mod; name the folder of the program's module", root)
	}
	s := &source{root: root, packages: map[string]*packages.Package{}, files: map[string]*sourceFile{}}
	patterns := s.patterns(hot)
	if len(patterns) == 0 {
		return s, nil
	}
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	s.env = offline(ctx, root)
	if err := s.load(ctx, patterns); err != nil {
		return nil, err
	}
	s.escapes = s.askCompiler(ctx, patterns)
	for i, problem := range s.problems {
		s.problems[i] = withCause(problem)
	}
	s.compare(hot)
	return s, nil
}

// compare notes files that have other functions on the profile's lines.
func (s *source) compare(hot []*frame) {
	noted := map[*sourceFile]bool{}
	for _, at := range hot {
		f := s.file(at)
		if f == nil || noted[f] {
			continue
		}
		if _, ok := f.function(at); !ok {
			noted[f] = true
			s.problems = append(s.problems, fmt.Sprintf("%s: line %d is not in %s; the profiled program was built from another version", base(at.file), at.line, shortName(at.fn)))
		}
	}
}

// patterns says how the go command calls the packages of the frames, each once.
func (s *source) patterns(hot []*frame) (patterns []string) {
	seen := map[string]bool{}
	for _, at := range hot {
		pattern := importPath(at.fn)
		if pattern == "main" {
			dir, ok := s.folder(at.file)
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

// folder finds the folder below the root that has the file, which may have been compiled elsewhere: by the longest end of its path that exists
// here.
func (s *source) folder(file string) (string, bool) {
	if rel, err := filepath.Rel(s.root, file); err == nil && filepath.IsLocal(rel) {
		file = rel
	}
	// The separator is that of the machine that compiled the program.
	parts := strings.Split(slashed(file), "/")
	for i := range parts {
		rel := filepath.Join(parts[i:]...)
		if rel == "" || !filepath.IsLocal(rel) {
			continue
		}
		if info, err := os.Stat(filepath.Join(s.root, rel)); err == nil && info.Mode().IsRegular() {
			return filepath.Dir(rel), true
		}
	}
	return "", false
}

// load parses the packages and checks their types. What they import comes from the compiler's export data.
func (s *source) load(ctx context.Context, patterns []string) error {
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
			s.problems = append(s.problems, fmt.Sprintf("%s: %s", p.PkgPath, firstLine(p.Errors[0])))
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

// file returns the file of a frame, or nil if it is not at hand. A package main is known by its folder, since profiles call it nothing else.
func (s *source) file(at *frame) *sourceFile {
	base := path.Base(slashed(at.file))
	if pkg := importPath(at.fn); pkg != "main" {
		return s.files[pkg+"/"+base]
	}
	dir, ok := s.folder(at.file)
	if !ok {
		return nil
	}
	for _, f := range s.files {
		name := f.pkg.Fset.Position(f.syntax.Package).Filename
		if rel, err := filepath.Rel(s.root, name); err == nil && rel == filepath.Join(dir, base) {
			return f
		}
	}
	return nil
}

// function returns the declaration around a frame's line if it is the one that the profile names. For the initialiser of a package's variable there is none, and
// that is ok.
func (f *sourceFile) function(at *frame) (decl *ast.FuncDecl, ok bool) {
	want := declaredName(at.fn)
	for _, d := range f.syntax.Decls {
		if f.line(d.Pos()) > at.line || at.line > f.line(d.End()) {
			continue
		}
		fn, isFunc := d.(*ast.FuncDecl)
		if !isFunc {
			return nil, want == "glob" || want == "init"
		}
		return fn, want == declName(fn)
	}
	return nil, false
}

// text returns an expression as one short line.
func (f *sourceFile) text(e ast.Expr) string { return types.ExprString(e) }

func (f *sourceFile) line(p token.Pos) int { return f.pkg.Fset.Position(p).Line }

// declName is a function's name, behind its receiver's type if it is a method.
func declName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch e := t.(type) {
		case *ast.StarExpr:
			t = e.X
		case *ast.ParenExpr:
			t = e.X
		case *ast.IndexExpr:
			t = e.X
		case *ast.IndexListExpr:
			t = e.X
		case *ast.Ident:
			return e.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// importPath is the path of a function's package as it is written in source. Symbols escape dots in its last element.
func importPath(fn string) string { return strings.ReplaceAll(packageOf(fn), "%2e", ".") }

// declaredName is the declared function that a symbol belongs to, as declName writes it: closures and wrappers carry the name of what they stand in.
func declaredName(fn string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(fn, packageOf(fn)), ".")
	name = strings.TrimSuffix(withoutTypes(name), "-fm")
	if rest, isPointer := strings.CutPrefix(name, "(*"); isPointer {
		name = strings.Replace(rest, ")", "", 1)
		return firstTwo(name)
	}
	parts := strings.Split(name, ".")
	if len(parts) > 1 && !wrapped(parts[1]) {
		return parts[0] + "." + parts[1]
	}
	return parts[0]
}

// wrapped reports whether a part of a symbol was made up by the compiler: func1, gowrap2, deferwrap1, a number, or nothing.
func wrapped(part string) bool {
	part = strings.TrimRight(part, "0123456789")
	return part == "" || part == "func" || part == "gowrap" || part == "deferwrap"
}

func firstTwo(name string) string {
	parts := strings.SplitN(name, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// withoutTypes takes type arguments out: Map[...].Get becomes Map.Get.
func withoutTypes(name string) string {
	var b strings.Builder
	depth := 0
	for _, c := range name {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case depth == 0:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// firstLine is what an error says first; the go command writes many lines, with the package's name above.
func firstLine(err error) string {
	text := err.Error()
	if e := (packages.Error{}); errors.As(err, &e) {
		text = e.Msg
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return "no reason given"
}
