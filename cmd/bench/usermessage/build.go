// SPDX-License-Identifier: Apache-2.0

package usermessage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/modfile"
)

const (
	library = "github.com/freehold-go/freehold"
	command = library + "/cmd"
	decoder = library + "/adapters/arenaproto"
	// leastGo is the Go version that the command's go.mod names.
	leastGo = "1.26.0"
	// folder is where the program lies in the user's module, by the overlay.
	folder = "freehold_bench_program"
)

// build builds the program for a type in the folder temp, and returns its file.
func build(ctx context.Context, temp, typ, release string) (string, error) {
	path, name, err := split(typ)
	if err != nil {
		return "", err
	}
	gomod, err := goOutput(ctx, "", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	if gomod == "" || gomod == os.DevNull {
		return "", errors.New("there is no module here: run the command in the folder of the module that has the type, or requires it")
	}
	if path, err = goOutput(ctx, "", "list", "-f", "{{.ImportPath}}", "--", path); err != nil {
		return "", err
	}
	if err := prepare(temp, gomod, path, name, release); err != nil {
		return "", err
	}
	program := filepath.Join(temp, "program")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	_, err = goOutput(ctx, filepath.Dir(gomod), "build", "-mod=mod", "-modfile="+filepath.Join(temp, "go.mod"), "-overlay="+filepath.Join(temp, "overlay.json"),
		"-o", program, "./"+folder)
	return program, err
}

// split splits a type into the import path of its package and its name.
func split(typ string) (path, name string, err error) {
	i := strings.LastIndexByte(typ, '.')
	if i <= strings.LastIndexByte(typ, '/') || !token.IsExported(typ[i+1:]) || !token.IsIdentifier(typ[i+1:]) {
		return "", "", errors.New("a type is the import path of its package, a dot and its name: example.com/orders/pb.Order")
	}
	return typ[:i], typ[i+1:], nil
}

// prepare writes the files that the build needs into temp.
func prepare(temp, gomod, path, name, release string) error {
	text, err := os.ReadFile(gomod)
	if err != nil {
		return err
	}
	checkout := source()
	if checkout == "" && (release == "" || release == "(devel)") {
		return fmt.Errorf("this build of freehold has no version, and its source is gone: install a release by go install %s/freehold@latest", command)
	}
	mod, err := withFreehold(text, release, checkout)
	if err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(filepath.Dir(gomod), folder, "main.go"): filepath.Join(temp, "main.go"),
	}})
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(strings.TrimSuffix(gomod, ".mod") + ".sum")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if checkout != "" {
		more, err := os.ReadFile(filepath.Join(checkout, "cmd", "go.sum"))
		if err != nil {
			return err
		}
		sums = append(sums, more...)
	}
	for file, text := range map[string][]byte{"go.mod": mod, "go.sum": sums, "main.go": []byte(fmt.Sprintf(mainFile, path, name)), "overlay.json": overlay} {
		if err := os.WriteFile(filepath.Join(temp, file), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

const mainFile = `package main

import (
	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/cmd/bench/messages"

	user %q
)

func main() { messages.Main(func() proto.Message { return new(user.%s) }) }
`

// withFreehold is a go.mod that requires the command besides: a release, or what lies in a checkout.
func withFreehold(gomod []byte, release, checkout string) ([]byte, error) {
	f, err := modfile.Parse("go.mod", gomod, nil)
	if err != nil {
		return nil, err
	}
	if f.Go == nil || version.Compare("go"+f.Go.Version, "go"+leastGo) < 0 {
		if err := f.AddGoStmt(leastGo); err != nil {
			return nil, err
		}
	}
	if checkout != "" {
		release = "v0.0.0"
		for _, r := range [][2]string{{library, ""}, {command, "cmd"}, {decoder, "adapters/arenaproto"}} {
			if err := f.AddReplace(r[0], "", filepath.Join(checkout, filepath.FromSlash(r[1])), ""); err != nil {
				return nil, err
			}
		}
	}
	if err := f.AddRequire(command, release); err != nil {
		return nil, err
	}
	f.Cleanup()
	f.SortBlocks()
	return f.Format()
}

// source is the checkout that this command was built in, or empty. A module that go install downloads is none.
func source() string {
	_, file, _, _ := runtime.Caller(0)
	for dir := filepath.Dir(file); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "cmd", "bench", "usermessage")); err == nil {
			return dir
		}
	}
	return ""
}

// goOutput runs the go command in a folder, outside any workspace. Its error has the go command's message.
func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", errors.New("there is no go command in PATH")
		}
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}
