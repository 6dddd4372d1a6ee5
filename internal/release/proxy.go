package release

import (
	"archive/zip"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Module is one module of the repository.
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

// tracked lists the files that git knows or would add.
func tracked(root string) ([]string, error) {
	out, err := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return nil, fmt.Errorf("release: git ls-files: %w", err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
}

// pack writes a module's zip: its files under path@version/, without those of modules nested in it.
func pack(root, file string, m Module, version string, files []string) (err error) {
	nested := map[string]bool{}
	for _, name := range files {
		if path.Base(name) == "go.mod" && path.Dir(name) != path.Clean(m.Dir) {
			nested[path.Dir(name)] = true
		}
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w := zip.NewWriter(f)
	prefix := ""
	if m.Dir != "" {
		prefix = m.Dir + "/"
	}
	for _, name := range files {
		inner, ok := strings.CutPrefix(name, prefix)
		if !ok || within(name, m.Dir, nested) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if os.IsNotExist(err) {
			continue // deleted, not yet committed
		}
		if err != nil {
			return err
		}
		to, err := w.Create(m.Path + "@" + version + "/" + inner)
		if err != nil {
			return err
		}
		if _, err := to.Write(b); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}

// within reports whether a folder between the module's and the file is a module of its own.
func within(name, module string, nested map[string]bool) bool {
	for dir := path.Dir(name); dir != "." && dir != module; dir = path.Dir(dir) {
		if nested[dir] {
			return true
		}
	}
	return false
}
