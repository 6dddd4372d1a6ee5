// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// A Module is one module of the repository.
type Module struct {
	Path string // import path
	Dir  string // from the repository's root; "" is the root itself
}

var replaced = regexp.MustCompile(`(?m)^replace github\.com/freehold-go/freehold (v\S+) => \./$`)

// Version returns the next tag, which go.work names.
func Version(root string) (string, error) {
	b, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		return "", err
	}
	m := replaced.FindSubmatch(b)
	if m == nil {
		return "", fmt.Errorf("release: go.work replaces no version of the library")
	}
	return string(m[1]), nil
}

// Serve writes the modules into dir as a file: module proxy serves them, all at the same version.
func Serve(root, dir, version string, modules []Module) error {
	files, err := tracked(root)
	if err != nil {
		return err
	}
	for _, m := range modules {
		to := filepath.Join(dir, filepath.FromSlash(m.Path), "@v")
		if err := os.MkdirAll(to, 0o777); err != nil {
			return err
		}
		mod, err := os.ReadFile(filepath.Join(root, m.Dir, "go.mod"))
		if err != nil {
			return err
		}
		info := fmt.Sprintf(`{"Version":%q,"Time":%q}`, version, time.Now().UTC().Format(time.RFC3339))
		for name, text := range map[string]string{"list": version + "\n", version + ".info": info, version + ".mod": string(mod)} {
			if err := os.WriteFile(filepath.Join(to, name), []byte(text), 0o666); err != nil {
				return err
			}
		}
		if err := pack(root, filepath.Join(to, version+".zip"), m, version, files); err != nil {
			return err
		}
	}
	return nil
}

// tracked lists the files that git knows or would add, and that are there.
func tracked(root string) (names []string, err error) {
	out, err := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return nil, fmt.Errorf("release: git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name))); err == nil {
			names = append(names, name)
		}
	}
	return names, nil
}

// pack writes a module's zip. The files of modules nested in it are left out by package zip, which also refuses names and
// sizes that the go command would refuse. A module in a folder gets the repository's licence, as the go command gives it.
func pack(root, file string, m Module, version string, files []string) (err error) {
	var list []zip.File
	licensed := false
	for _, name := range files {
		inner, ok := name, true
		if m.Dir != "" {
			inner, ok = strings.CutPrefix(name, m.Dir+"/")
		}
		if ok {
			list = append(list, source{root, name, inner})
			licensed = licensed || inner == licence
		}
	}
	if !licensed {
		list = append(list, source{root, licence, licence})
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := zip.Create(f, module.Version{Path: m.Path, Version: version}, list); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return f.Close()
}

const licence = "LICENSE"

// A source is a file of the repository, under its name in the module. It is a [zip.File].
type source struct{ root, name, inner string }

func (s source) where() string { return filepath.Join(s.root, filepath.FromSlash(s.name)) }

// Path is the name within the module.
func (s source) Path() string { return path.Clean(s.inner) }

// Lstat describes the file.
func (s source) Lstat() (os.FileInfo, error) { return os.Lstat(s.where()) }

// Open opens the file.
func (s source) Open() (io.ReadCloser, error) { return os.Open(s.where()) }
