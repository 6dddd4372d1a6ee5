// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"errors"
	"fmt"
	"go/version"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// One program, built in two ways: by two releases of Go, with two versions of a module, or in two environments. Each side has module
// files of its own in the workshop's folder, so that go.mod, go.sum and go.work stay as they are.

// Versions say how the two sides are built from one program.
type Versions struct {
	// Go has the releases of Go for A and B ("1.26.8"), or one for both.
	Go []string
	// GoLine sets the go line of each side to its release, and so the defaults of GODEBUG. Otherwise both keep those of the go line
	// that go.mod or go.work has.
	GoLine bool
	// With has a module with its versions for A and B: "example.com/m@v1.2.0,v1.3.0".
	With string
	// Env are variables that B has, "NAME=value", when it is built and when it runs.
	Env []string
}

// any reports whether the sides are made from one program.
func (v *Versions) any() bool { return len(v.Go) > 0 || v.With != "" || len(v.Env) > 0 || v.GoLine }

// check refuses versions that make no sense.
func (v *Versions) check() error {
	if len(v.Go) > 2 {
		return fmt.Errorf("compare: -go has %d releases; want two, or one for both sides", len(v.Go))
	}
	for i, release := range v.Go {
		v.Go[i] = "go" + strings.TrimPrefix(strings.TrimSpace(release), "go")
		if !version.IsValid(v.Go[i]) {
			return fmt.Errorf("compare: -go %q is no release of Go; want 1.27.4 or 1.28rc1", release)
		}
	}
	if v.GoLine && len(v.Go) == 0 {
		return errors.New("compare: -goline sets the go line to the release that -go names, and there is none")
	}
	for _, e := range v.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" {
			return fmt.Errorf("compare: -env %q: want NAME=value", e)
		}
	}
	_, versions, err := v.module()
	if err != nil {
		return err
	}
	if len(v.Go) < 2 && len(versions) < 2 && len(v.Env) == 0 {
		return errors.New("compare: A and B would be the same; name two releases with -go, two versions with -with, or a variable with -env")
	}
	return nil
}

// module is the module of With, and its versions.
func (v *Versions) module() (path string, versions []string, err error) {
	if v.With == "" {
		return "", nil, nil
	}
	path, list, ok := strings.Cut(v.With, "@")
	versions = strings.Split(list, ",")
	if err := module.CheckPath(path); !ok || err != nil || len(versions) > 2 || slices.Contains(versions, "") {
		return "", nil, fmt.Errorf("compare: -with %q: want a module and two versions, such as example.com/m@v1.2.0,v1.3.0", v.With)
	}
	return path, versions, nil
}

// of is the value of side i in a list of one or two.
func of(list []string, i int) string {
	if len(list) == 0 {
		return ""
	}
	return list[min(i, len(list)-1)]
}

// A variant is one side's way to build and run.
type variant struct {
	name   string // in messages
	label  string // what is special about it
	dir    string // the go command runs here
	env    []string
	flags  []string // of go build and go test
	goLine string   // the release for the go line, or ""
	uses   map[string]moduleUse
}

// A moduleUse is a module that a build contains.
type moduleUse struct{ version, goLine string }

// variants prepares both sides for the package.
func (w *workshop) variants(ctx context.Context, pkg, dir string, o *Options) (both [2]*variant, notes []string, err error) {
	path, versions, _ := o.module()
	for i := range both {
		v := &variant{name: "compare: " + sideNames[i], dir: dir}
		var labels []string
		release := of(o.Go, i)
		if o.GoLine {
			v.goLine = release
		}
		if of(versions, i) != "" {
			labels = append(labels, path+" "+of(versions, i))
		}
		o.progress(v.name + ": preparing " + strings.TrimSpace(strings.Join(append(slices.Clone(labels), release), " ")))
		if err := w.moduleFiles(ctx, i, v, path, of(versions, i)); err != nil {
			return both, nil, err
		}
		if v.uses, err = v.modules(ctx, pkg, o.Bench != ""); err != nil {
			return both, nil, err
		}
		if release != "" {
			labels = append(labels, release)
			if err := v.use(ctx, release); err != nil {
				return both, nil, err
			}
		}
		if i == 1 && len(o.Env) > 0 {
			labels, v.env = append(labels, strings.Join(o.Env, " ")), append(v.env, o.Env...)
		}
		v.label = strings.Join(labels, ", ")
		both[i] = v
	}
	return both, differences(both[0].uses, both[1].uses), nil
}

// use makes v build with a release of Go, which must not be older than a go line.
func (v *variant) use(ctx context.Context, release string) error {
	oldest, who := "", ""
	for path, m := range v.uses {
		if m.goLine != "" && (oldest == "" || version.Compare("go"+m.goLine, oldest) > 0 || "go"+m.goLine == oldest && path < who) {
			oldest, who = "go"+m.goLine, path
		}
	}
	if oldest != "" && version.Compare(release, oldest) < 0 {
		return fmt.Errorf("%s: %s is older than the go line of %s, which wants %s at least", v.name, release, who, oldest)
	}
	v.env = append(v.env, "GOTOOLCHAIN="+release)
	if _, err := v.goCommand(ctx, "version"); err != nil {
		return fmt.Errorf("%s: %s cannot be had (by GOTOOLCHAIN=%s go version%s): %w", v.name, release, release, proxyHint(), err)
	}
	return nil
}

// moduleFiles gives v module files of its own, if it needs other ones than the user's.
func (w *workshop) moduleFiles(ctx context.Context, i int, v *variant, path, at string) error {
	if path == "" && v.goLine == "" {
		return nil
	}
	dir := filepath.Join(w.temp, sideNames[i]+".mod")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	work, err := v.goCommand(ctx, "env", "GOWORK")
	if err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	if work != "" && work != "off" {
		return v.ownWorkspace(work, dir, path, at)
	}
	mod, err := v.goCommand(ctx, "env", "GOMOD")
	if err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	if mod == "" || mod == os.DevNull {
		return fmt.Errorf("%s: this folder is in no module, and -with and -goline change module files", v.name)
	}
	return v.ownModule(ctx, mod, dir, path, at)
}

// ownModule copies go.mod and go.sum, for the flag -modfile.
func (v *variant) ownModule(ctx context.Context, mod, dir, path, at string) error {
	file := filepath.Join(dir, "go.mod")
	if err := copyFile(mod, file); err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	if err := copyFile(strings.TrimSuffix(mod, ".mod")+".sum", filepath.Join(dir, "go.sum")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	v.flags = []string{"-modfile=" + file, "-mod=mod"}
	if v.goLine != "" {
		if _, err := v.goCommand(ctx, "mod", "edit", "-go="+strings.TrimPrefix(v.goLine, "go"), "-toolchain=none", file); err != nil {
			return fmt.Errorf("%s: -goline: %w", v.name, err)
		}
	}
	if path == "" {
		return nil
	}
	if _, err := v.goCommand(ctx, "get", "-modfile="+file, path+"@"+at); err != nil {
		return fmt.Errorf("%s: -with %s@%s%s: %w", v.name, path, at, proxyHint(), err)
	}
	return nil
}

// ownWorkspace copies go.work and go.work.sum. A workspace has no flag -modfile, so its copy replaces the module by the version.
func (v *variant) ownWorkspace(work, dir, path, at string) error {
	data, err := os.ReadFile(work)
	if err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	f, err := modfile.ParseWork(work, data, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	absolute := func(p string) string {
		if filepath.IsAbs(p) {
			return p
		}
		return filepath.Join(filepath.Dir(work), filepath.FromSlash(p))
	}
	for _, u := range slices.Clone(f.Use) {
		old := u.Path
		err = errors.Join(err, f.DropUse(old), f.AddUse(absolute(old), u.ModulePath))
	}
	for _, r := range slices.Clone(f.Replace) {
		old, to := r.Old, r.New
		switch {
		case old.Path == path:
			err = errors.Join(err, f.DropReplace(old.Path, old.Version))
		case modfile.IsDirectoryPath(to.Path):
			err = errors.Join(err, f.AddReplace(old.Path, old.Version, absolute(to.Path), ""))
		}
	}
	if path != "" {
		err = errors.Join(err, f.AddReplace(path, "", path, at))
		if !semver.IsValid(at) {
			err = fmt.Errorf("-with %s@%s: a workspace needs a full version, such as v1.2.3", path, at)
		}
	}
	if v.goLine != "" {
		err = errors.Join(err, f.AddGoStmt(strings.TrimPrefix(v.goLine, "go")))
		f.DropToolchainStmt()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	f.Cleanup()
	file := filepath.Join(dir, "go.work")
	if err := os.WriteFile(file, modfile.Format(f.Syntax), 0o600); err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	if err := copyFile(work+".sum", file+".sum"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	v.env = append(v.env, "GOWORK="+file)
	return nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// proxyHint says why a module may not be there.
func proxyHint() string {
	if os.Getenv("GOPROXY") == "off" {
		return " (GOPROXY is off, so only what is in the module cache can be used)"
	}
	return ""
}

// modules are the modules that a build of the package contains.
func (v *variant) modules(ctx context.Context, pkg string, test bool) (map[string]moduleUse, error) {
	args := []string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Version}}{{with .Replace}} => {{.Path}} {{.Version}}{{end}}\t{{.GoVersion}}{{end}}"}
	if test {
		args = append(args, "-test")
	}
	out, err := v.goCommand(ctx, append(append(args, v.flags...), "--", pkg)...)
	if err != nil {
		return nil, fmt.Errorf("%s: list the modules of %s%s: %w", v.name, pkg, proxyHint(), err)
	}
	uses := map[string]moduleUse{}
	for line := range strings.Lines(out) {
		if fields := strings.Split(strings.TrimSpace(line), "\t"); len(fields) >= 2 {
			uses[fields[0]] = moduleUse{version: strings.ReplaceAll(fields[1], " => "+fields[0], " =>"), goLine: of(fields[2:], 0)}
		}
	}
	return uses, nil
}

// differences are the notes on modules whose versions differ.
func differences(a, b map[string]moduleUse) []string {
	var list []string
	shown := func(m moduleUse, ok bool) string {
		if !ok {
			return "none"
		}
		_, replaced, isReplaced := strings.Cut(m.version, "=> ")
		if isReplaced {
			return replaced
		}
		return m.version
	}
	for path, m := range a {
		if n, ok := b[path]; !ok || n.version != m.version {
			list = append(list, fmt.Sprintf("%s %s → %s", path, shown(m, true), shown(n, ok)))
		}
	}
	for path, n := range b {
		if _, ok := a[path]; !ok {
			list = append(list, fmt.Sprintf("%s none → %s", path, shown(n, true)))
		}
	}
	slices.Sort(list)
	if len(list) == 0 {
		return nil
	}
	return []string{"the builds differ in " + strings.Join(list, ", ")}
}

// goCommand runs the go command as v does.
func (v *variant) goCommand(ctx context.Context, args ...string) (string, error) {
	return goOutputIn(ctx, v.dir, v.env, args...)
}

// versionContests prepares the contests of one program in two versions.
func (w *workshop) versionContests(ctx context.Context, o *Options) ([]*contest, []string, error) {
	if o.Bench != "" {
		dir, err := goOutput(ctx, "", "list", "-f", "{{.Dir}}", "--", o.A)
		if err != nil {
			return nil, nil, fmt.Errorf("compare: %q is no package: %w", o.A, err)
		}
		both, notes, err := w.variants(ctx, ".", dir, o)
		if err != nil {
			return nil, nil, err
		}
		var binaries [2]*testBinary
		for i, v := range both {
			o.progress(v.name + ": building the tests with " + v.label)
			if binaries[i], err = w.build(ctx, i, ".", v); err != nil {
				return nil, nil, err
			}
			binaries[i].pkg = o.A
			o.label(i, v.label)
		}
		contests, more, err := benchContests(ctx, binaries, o)
		return contests, append(notes, more...), err
	}
	env, args, err := parseWords(o.A)
	if err != nil {
		return nil, nil, fmt.Errorf("compare: %q: %w", o.A, err)
	}
	name, err := goOutput(ctx, "", "list", "-f", "{{.Name}}", "--", args[0])
	isMain := err == nil && name == "main"
	if !isMain && (len(o.Go) > 0 || o.With != "") {
		return nil, nil, fmt.Errorf("compare: %q is no main package; -go and -with build what they compare: name a package such as ./cmd/program, or with -bench one that has benchmarks", args[0])
	}
	both, notes := [2]*variant{{name: "compare: A"}, {name: "compare: B", env: o.Env, label: strings.Join(o.Env, " ")}}, []string(nil)
	if isMain {
		if both, notes, err = w.variants(ctx, args[0], "", o); err != nil {
			return nil, nil, err
		}
	}
	var sides [2]side
	for i, v := range both {
		program := args[0]
		if isMain {
			o.progress(v.name + ": building " + args[0] + " with " + v.label)
			program = filepath.Join(w.temp, sideNames[i]+".exe")
			if _, err := v.goCommand(ctx, slices.Concat([]string{"build", "-o", program}, v.flags, []string{"--", args[0]})...); err != nil {
				return nil, nil, fmt.Errorf("%s: build %s: %w", v.name, args[0], err)
			}
		}
		o.label(i, v.label)
		sides[i] = &commandSide{process{name: v.name, args: append([]string{program}, args[1:]...), env: append(slices.Clone(env), v.run()...)}}
	}
	return []*contest{{per: "process", pair: inTurn(sides), traces: true, warm: true}}, notes, nil
}

// run is the environment in which v's program runs: that of its build, without what only the go command reads.
func (v *variant) run() []string {
	return slices.DeleteFunc(slices.Clone(v.env), func(e string) bool {
		return strings.HasPrefix(e, "GOTOOLCHAIN=") || strings.HasPrefix(e, "GOWORK=")
	})
}

// label notes in the report what is special about a side.
func (o *Options) label(i int, text string) {
	if text == "" {
		text = "as it is"
	}
	o.labels[i] = text
}
