package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/freehold-go/freehold/benchmarks/internal/proof"
)

// harness builds and runs programs.
type harness struct {
	options
	ctx  context.Context
	root string // folder of this command's source
}

func newHarness(ctx context.Context, o options) (*harness, error) {
	root, err := proof.ModuleRoot()
	return &harness{options: o, ctx: ctx, root: filepath.Join(root, "foreign")}, err
}

// Folders in the kept one.
func (h *harness) source(p program) string { return filepath.Join(h.keep, "build", "programs", p.name) }
func (h *harness) bin() string             { return filepath.Join(h.keep, "build", "bin") }
func (h *harness) dir(p program) string    { return filepath.Join(h.keep, p.name) }
func (h *harness) input(p program) string  { return filepath.Join(h.keep, p.name, "input") }

// binary is the path of a built program.
func (h *harness) binary(p program) (string, error) {
	if p.command != nil && p.command.path != nil {
		return p.command.path()
	}
	return filepath.Join(h.bin(), p.name), nil
}

// build builds or installs a program. Go verifies the modules with its checksum database.
func (h *harness) build(p program) error {
	if err := os.MkdirAll(h.bin(), 0o777); err != nil {
		return err
	}
	if p.kind == command {
		return h.install(p)
	}
	// The layout of the repository, so that the driver's replace line holds.
	for from, to := range map[string]string{
		filepath.Join(h.root, "load"):                 filepath.Join(h.keep, "build", "load"),
		filepath.Join(h.root, "programs", p.folder()): h.source(p),
	} {
		if err := copyFiles(from, to); err != nil {
			return err
		}
	}
	if err := h.goCommand(h.source(p), nil, "mod", "tidy"); err != nil {
		return err
	}
	return h.goCommand(h.source(p), nil, "build", "-o", filepath.Join(h.bin(), p.name), ".")
}

// install installs a command under the program's name.
func (h *harness) install(p program) error {
	if p.command.path != nil {
		return nil
	}
	into, err := os.MkdirTemp(h.bin(), "install")
	if err != nil {
		return err
	}
	defer os.RemoveAll(into)
	if err := h.goCommand(h.bin(), []string{"GOBIN=" + into}, "install", p.command.pkg+"@"+p.version); err != nil {
		return err
	}
	built, err := os.ReadDir(into)
	if err != nil {
		return err
	}
	if len(built) != 1 {
		return errors.New("go install left no binary")
	}
	return os.Rename(filepath.Join(into, built[0].Name()), filepath.Join(h.bin(), p.name))
}

// goCommand runs Go in an environment that does not depend on the machine's settings.
func (h *harness) goCommand(dir string, env []string, args ...string) error {
	cmd := exec.CommandContext(h.ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(append(proof.Clean(os.Environ()), "GOWORK=off", "GOTOOLCHAIN=local", "GOFLAGS=-buildvcs=false", "GOEXPERIMENT=", "CGO_ENABLED=0"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// copyFiles copies the files of a folder, without the folders in it, the tests, and go.sum.
func copyFiles(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasSuffix(e.Name(), "_test.go") || e.Name() == "go.sum" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, e.Name()), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}
