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
	"golang.org/x/mod/semver"

	"github.com/freehold-go/freehold/cmd/compare/child"
)

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

// moduleFiles gives v module files of its own in dir, if it needs other ones than the user's.
func (v *variant) moduleFiles(ctx context.Context, dir, path, at string) error {
	if path == "" && v.goLine == "" {
		return nil
	}
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
	return child.GoOutput(ctx, v.dir, v.env, args...)
}

// run is the environment in which v's program runs: that of its build, without what only the go command reads.
func (v *variant) run() []string {
	return slices.DeleteFunc(slices.Clone(v.env), func(e string) bool {
		return strings.HasPrefix(e, "GOTOOLCHAIN=") || strings.HasPrefix(e, "GOWORK=")
	})
}
