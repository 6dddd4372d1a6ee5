// SPDX-License-Identifier: Apache-2.0

package source

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// mirror is a module proxy in a folder, with the module example.com/dep.
func mirror(t *testing.T) string {
	t.Helper()
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for name, text := range map[string]string{"go.mod": depMod, "dep.go": depCode} {
		w, err := z.Create("example.com/dep@v1.0.0/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeFiles(t, filepath.Join(dir, "example.com/dep/@v"), map[string]string{
		"list": "v1.0.0\n", "v1.0.0.info": `{"Version":"v1.0.0"}`, "v1.0.0.mod": depMod, "v1.0.0.zip": archive.String(),
	})
	return "file:///" + strings.TrimPrefix(filepath.ToSlash(dir), "/")
}

const (
	depMod  = "module example.com/dep\n\ngo 1.25\n"
	depCode = "package dep\n\nfunc New() *int { return new(int) }\n"
	appMod  = "module example.com/app\n\ngo 1.25\n\nrequire example.com/dep v1.0.0\n"
	appCode = "package app\n\nimport \"example.com/dep\"\n\nvar kept *int\n\nfunc Use() {\n\tkept = dep.New()\n\tmore = new([]byte)\n}\n"
	tagged  = "//go:build special\n\npackage app\n\nvar more *[]byte\n"
)

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// openApp opens a module of the files, for a user who lets the go command fetch modules and write
// go.sum. It returns the module's folder and the cache of modules.
func openApp(t *testing.T, files map[string]string) (s *Module, root, cache string) {
	t.Helper()
	root, cache = t.TempDir(), t.TempDir()
	writeFiles(t, root, files)
	for name, value := range map[string]string{
		"GOPROXY": mirror(t), "GOMODCACHE": cache, "GOFLAGS": "-tags=special -mod=mod -modcacherw", "GONOSUMDB": "*", "GOSUMDB": "off", "GOWORK": "off",
	} {
		t.Setenv(name, value)
	}
	s, err := Open(t.Context(), Options{Root: root, Limit: patient}, []*stack.Frame{{Func: "example.com/app.Use", File: "/build/app/app.go", Line: 9}})
	if err != nil {
		t.Fatal(err)
	}
	return s, root, cache
}

// TestSourceFetchesNothing: reading the source fetches no module that is missing and changes no
// file of the module, whatever the user's settings of the go command allow.
func TestSourceFetchesNothing(t *testing.T) {
	s, root, cache := openApp(t, map[string]string{"go.mod": appMod, "app.go": appCode, "special.go": tagged})
	for _, problem := range s.Problems {
		if !strings.Contains(problem, "example.com/dep") || !strings.HasSuffix(problem, "; the doctor fetches nothing: run go mod tidy and go mod download") {
			t.Errorf("the problem is not told: %q", problem)
		}
	}
	if len(s.Problems) == 0 {
		t.Error("there is no problem")
	}
	if _, err := os.Stat(filepath.Join(root, "go.sum")); err == nil {
		t.Error("there is a go.sum now")
	}
	_ = filepath.WalkDir(cache, func(path string, _ fs.DirEntry, _ error) error {
		if strings.Contains(path, "dep") {
			t.Errorf("the cache has %s now", path)
		}
		return nil
	})
	cmd := exec.Command("go", "mod", "download") // so that it could have been fetched
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go mod download: %v\n%s", err, out)
	}
}

// A folder vendor is read, by the user's build tags.
func TestSourceVendored(t *testing.T) {
	s, _, _ := openApp(t, map[string]string{
		"go.mod": appMod, "app.go": appCode, "special.go": tagged,
		"vendor/modules.txt": "# example.com/dep v1.0.0\n## explicit; go 1.25\nexample.com/dep\n", "vendor/example.com/dep/dep.go": depCode,
	})
	if len(s.Problems) > 0 {
		t.Errorf("problems: %q", s.Problems)
	}
	at := &stack.Frame{Func: "example.com/app.Use", File: "/build/app/app.go", Line: 9}
	if got := s.Expressions(at); len(got) != 1 || got[0].Text != "new([]byte)" {
		t.Errorf("expressions %+v", got)
	}
}

func TestOffline(t *testing.T) {
	t.Setenv("GOWORK", "off")
	t.Setenv("GOENV", "off")
	root, vendored := t.TempDir(), t.TempDir()
	writeFiles(t, root, map[string]string{"go.mod": depMod})
	writeFiles(t, vendored, map[string]string{"go.mod": depMod, "vendor/modules.txt": ""})
	value := func(env []string, name string) string {
		for _, v := range slices.Backward(env) {
			if v, ok := strings.CutPrefix(v, name+"="); ok {
				return strings.TrimSpace(v)
			}
		}
		return ""
	}
	for _, c := range []struct{ root, flags, want string }{
		{root, "", "-mod=readonly"},
		{root, "-mod=mod", "-mod=readonly"},
		{root, "-tags=a,b --mod=vendor -modfile=x.mod", "-tags=a,b -modfile=x.mod -mod=readonly"},
		{root, "'-mod=mod' '-ldflags=-s -w'", "'-ldflags=-s -w' -mod=readonly"},
		{vendored, "-mod=mod -trimpath", "-trimpath"},
		{vendored, "-mod=mod", ""},
	} {
		t.Setenv("GOFLAGS", c.flags)
		env := offline(t.Context(), c.root).env
		if got := value(env, "GOFLAGS"); got != c.want {
			t.Errorf("GOFLAGS=%q becomes %q, want %q", c.flags, got, c.want)
		}
		for name, want := range map[string]string{"GOPROXY": "off", "GONOPROXY": "none", "GOVCS": "*:off", "GOTOOLCHAIN": "local"} {
			if got := value(env, name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
}
