package source

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

	"golang.org/x/tools/go/packages"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// sourcePackages is the number of packages that are read: a diagnosis is to end in seconds, and the packages of
// the sites that matter are few.
const sourcePackages = 12

// A Module is the program's source at hand: the packages of the frames that it was opened for, with types, and
// what the compiler says of their allocations. It does not guess: a line whose function has another name than
// in the profile is of another version, and is left out.
type Module struct {
	// Problems says what could not be read, and why, in one line each.
	Problems []string

	root     string
	env      []string                     // of the go command
	module   string                       // the module's path
	packages map[string]*packages.Package // by import path
	files    map[string]*sourceFile       // by import path, a slash, and the file's name
	escapes  map[string][]escape          // by import path, a slash, the file's name, a colon, and the line
}

// sourceFile is a parsed file and the package that it belongs to.
type sourceFile struct {
	pkg    *packages.Package
	syntax *ast.File
}

// Open reads the packages of the frames from the module at root, at most twelve of them, the first ones first.
// It runs the go command there, which may compile what the packages import; ctx ends it. Open fails if root is
// no module; parts that cannot be read are in Module.Problems.
func Open(ctx context.Context, root string, hot []*stack.Frame) (*Module, error) {
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return nil, fmt.Errorf("no source: %s holds no go.mod; name the folder of the program's module", root)
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

// compare notes files that have other functions on the profile's lines.
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

// patterns says how the go command calls the packages of the frames, each once.
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

// folder finds the folder below the root that has the file, which may have been compiled elsewhere: by the longest end of its path that exists
// here.
func (s *Module) folder(file string) (string, bool) {
	if rel, err := filepath.Rel(s.root, file); err == nil && filepath.IsLocal(rel) {
		file = rel
	}
	// The separator is that of the machine that compiled the program.
	parts := strings.Split(stack.Slashed(file), "/")
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

// file returns the file of a frame, or nil if it is not at hand. A package main is known by its folder, since profiles call it nothing else.
func (s *Module) file(at *stack.Frame) *sourceFile {
	base := path.Base(stack.Slashed(at.File))
	if pkg := importPath(at.Func); pkg != "main" {
		return s.files[pkg+"/"+base]
	}
	dir, ok := s.folder(at.File)
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
func (f *sourceFile) function(at *stack.Frame) (decl *ast.FuncDecl, ok bool) {
	want := DeclaredName(at.Func)
	for _, d := range f.syntax.Decls {
		if f.line(d.Pos()) > at.Line || at.Line > f.line(d.End()) {
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
func importPath(fn string) string { return strings.ReplaceAll(stack.PackageOf(fn), "%2e", ".") }

// DeclaredName is the declared function that a symbol belongs to, as declName writes it: closures and wrappers carry the name of what they stand in.
func DeclaredName(fn string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(fn, stack.PackageOf(fn)), ".")
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
