// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/compare/child"
)

// A workshop makes test binaries in a folder. close removes the folder and all in it.
type workshop struct {
	temp    string
	closers []func()
}

func newWorkshop() (*workshop, error) {
	temp, err := os.MkdirTemp("", "freehold-compare-")
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return &workshop{temp: temp}, nil
}

// close removes worktrees, then the folder.
func (w *workshop) close() {
	for i := len(w.closers) - 1; i >= 0; i-- {
		w.closers[i]()
	}
	os.RemoveAll(w.temp)
}

// binary makes side i's test binary. The user named a test binary or a package.
func (w *workshop) binary(ctx context.Context, i int, what string, o *Options) (*testBinary, error) {
	name := "compare: " + sideNames[i]
	if info, err := os.Stat(what); err == nil && info.Mode().IsRegular() {
		file, err := filepath.Abs(what)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return &testBinary{name: name, file: file}, nil
	}
	o.progress(fmt.Sprintf("%s: building the tests of %s", name, what))
	dir, err := child.GoOutput(ctx, "", nil, "list", "-f", "{{.Dir}}", "--", what)
	if err != nil {
		return nil, fmt.Errorf("%s: %q is neither a test binary nor a package: %w", name, what, err)
	}
	if strings.Contains(dir, "\n") {
		return nil, fmt.Errorf("%s: %q is more than one package; name one", name, what)
	}
	t, err := w.build(ctx, i, what, &variant{name: name})
	if err != nil {
		return nil, err
	}
	t.dir = dir
	return t, nil
}

// revision makes side i's test binary of the package at a revision.
func (w *workshop) revision(ctx context.Context, i int, r *repository, revision, commit string, o *Options) (*testBinary, error) {
	name := fmt.Sprintf("compare: %s (%s)", sideNames[i], revision)
	o.progress(name + ": building the tests")
	dir := r.dir
	if revision != WorkingTree {
		temp := filepath.Join(w.temp, sideNames[i])
		if err := os.Mkdir(temp, 0o700); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		tree, remove, err := r.checkOut(ctx, temp, commit)
		if err != nil {
			return nil, err
		}
		w.closers = append(w.closers, remove)
		dir = tree
	}
	t, err := w.build(ctx, i, ".", &variant{name: "compare: " + sideNames[i], dir: dir})
	if err != nil {
		return nil, err
	}
	t.name, t.pkg = name, r.dir+" at "+revision
	return t, nil
}

// build runs go test -c. The package is named as seen from the variant's folder, in which its tests run.
func (w *workshop) build(ctx context.Context, i int, pkg string, v *variant) (*testBinary, error) {
	file := filepath.Join(w.temp, sideNames[i]+".test")
	args := slices.Concat([]string{"test", "-c", "-o", file}, v.flags, []string{pkg})
	if _, err := v.goCommand(ctx, args...); err != nil {
		return nil, fmt.Errorf("%s: build the tests of %s: %w", v.name, pkg, err)
	}
	if _, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("%s: package %s has no tests and no benchmarks", v.name, pkg)
	}
	return &testBinary{name: v.name, file: file, dir: v.dir, pkg: pkg, env: v.run()}, nil
}
