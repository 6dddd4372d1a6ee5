// SPDX-License-Identifier: Apache-2.0

// Command ristretto copies the ristretto that a program uses, makes the copy allocate with freehold,
// and replaces the module by the copy.
//
// So all that uses package z moves: badger, dgraph, and z's Buffer, Allocator and Tree. No line of
// ristretto changes but those of Calloc and Free.
//
//	cd the program's module
//	go run github.com/freehold-go/freehold/adapters/z/ristretto@latest
//
// With -buffer, z.Buffer becomes the Buffer of adapters/z, whose records never move. It has no
// NewBufferPersistent. Tree keeps the Buffer of ristretto, by another name.
//
// The copy lies in the folder ristretto-freehold, or in the one that -o names. Run the command again
// after each update of ristretto. "go mod edit -dropreplace" takes the copy out of use.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
)

const (
	module = "github.com/dgraph-io/ristretto/v2"
	ours   = "github.com/freehold-go/freehold/adapters/z"
)

// calloc takes the place of ristretto's calloc_jemalloc.go and calloc_nojemalloc.go.
//
//go:embed calloc.txt
var calloc []byte

// buffer is the Buffer of adapters/z, by its name in ristretto.
//
//go:embed buffer.txt
var buffer []byte

func main() {
	to := flag.String("o", "ristretto-freehold", "the `folder` for the copy")
	records := flag.Bool("buffer", false, "make z.Buffer the Buffer of adapters/z")
	flag.Parse()
	if err := install(".", *to, version(), *records); err != nil {
		fmt.Fprintln(os.Stderr, "ristretto:", err)
		os.Exit(1)
	}
	fmt.Printf("%s is replaced by ./%s. Now run go mod tidy.\n", module, *to)
}

// version is that of this command, and so of package z beside it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(info.Main.Version, "v") {
		return info.Main.Version
	}
	return "v0.1.0"
}

// install makes the copy of the module that the one in dir uses, in dir/to, and edits dir/go.mod. With
// records, the copy has the Buffer of adapters/z.
func install(dir, to, version string, records bool) error {
	from, err := run(dir, "go", "list", "-m", "-mod=mod", "-f", "{{if .Replace}}{{.Replace.Dir}}{{else}}{{.Dir}}{{end}}", module)
	if err != nil {
		return fmt.Errorf("this module does not use %s: %w", module, err)
	}
	if from == "" {
		return fmt.Errorf("%s is not in the module cache: run go mod download", module)
	}
	copied := filepath.Join(dir, to)
	if absolute, err := filepath.Abs(copied); err == nil && absolute == from {
		return errors.New("ristretto is replaced by the copy already; to renew it, drop the replace and remove the folder first")
	}
	if _, err := os.Lstat(copied); err == nil {
		return fmt.Errorf("%s exists: remove it, or name another folder with -o", copied)
	}
	if err := duplicate(from, copied); err != nil {
		return err
	}
	if records {
		if err := replaceBuffer(filepath.Join(copied, "z")); err != nil {
			return err
		}
	}
	if _, err := run(copied, "go", "mod", "edit", "-require="+ours+"@"+version); err != nil {
		return err
	}
	_, err = run(dir, "go", "mod", "edit", "-require="+ours+"@"+version, "-replace="+module+"=./"+filepath.ToSlash(to))
	return err
}

// duplicate copies the module, with the functions of package z that allocate from freehold. The files
// of the module cache are read-only; the copy's are not.
func duplicate(from, to string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	err := filepath.WalkDir(to, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.Type()&os.ModeSymlink != 0 {
			return err
		}
		mode := os.FileMode(0o666)
		if d.IsDir() {
			mode = 0o777
		}
		return os.Chmod(name, mode&^0o022)
	})
	if err != nil {
		return err
	}
	for _, name := range []string{"calloc_jemalloc.go", "calloc_nojemalloc.go"} {
		if err := os.Remove(filepath.Join(to, "z", name)); err != nil {
			return fmt.Errorf("this version of ristretto is not laid out as expected: %w", err)
		}
	}
	return os.WriteFile(filepath.Join(to, "z", "calloc_freehold.go"), calloc, 0o644)
}

// bufferNames are the names of ristretto's Buffer, and the other ones that its file gets instead.
var bufferNames = []struct {
	old *regexp.Regexp
	now string
}{
	{regexp.MustCompile(`\bNewBuffer(Persistent|Tmp|Slice)?\b`), "newTreeBuffer$1"},
	{regexp.MustCompile(`\bBuffer\b`), "treeBuffer"},
	{regexp.MustCompile(`\bLessFunc\b`), "treeLessFunc"},
}

// replaceBuffer puts the Buffer of adapters/z into a package z. The old one gets another name, for
// Tree, which needs it.
func replaceBuffer(z string) error {
	for _, name := range []string{"buffer.go", "btree.go"} {
		path := filepath.Join(z, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("this version of ristretto is not laid out as expected: %w", err)
		}
		for _, n := range bufferNames {
			text = n.old.ReplaceAll(text, []byte(n.now))
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(z, "buffer_freehold.go"), buffer, 0o644)
}

func run(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if e := new(exec.ExitError); errors.As(err, &e) {
		err = fmt.Errorf("%s: %s", strings.Join(cmd.Args, " "), strings.TrimSpace(string(e.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}
