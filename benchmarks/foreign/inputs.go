package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Inputs of commands. All of them are the same on every machine, except Go's own source.

// output is what a tool of Go prints.
func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	return strings.TrimSpace(string(out)), err
}

// goTool returns how to find a tool of Go, such as its compiler.
func goTool(name string) func() (string, error) {
	return func() (string, error) { return output("go", "tool", "-n", name) }
}

// writeFile writes a file, and makes its folder.
func writeFile(text []byte, path ...string) error {
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o666)
}

// packageFiles leaves what the compiler needs for net/http: a list of its files, the export data of
// its imports, and a list of them. The data are copies: Go's cache drops old files.
func packageFiles(dir string) error {
	files, err := output("go", "list", "-f", `{{range .GoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}`, "net/http")
	if err != nil {
		return err
	}
	imports, err := output("go", "list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}}={{.Export}}{{end}}", "net/http")
	if err != nil {
		return err
	}
	var config bytes.Buffer
	for line := range strings.Lines(imports) {
		path, export, _ := strings.Cut(strings.TrimSpace(line), "=")
		data, err := os.ReadFile(export)
		if err != nil {
			return err
		}
		file := filepath.Join("imports", filepath.FromSlash(path)+".a")
		if err := writeFile(data, dir, file); err != nil {
			return err
		}
		fmt.Fprintf(&config, "packagefile %s=%s\n", path, file)
		if as, ok := strings.CutPrefix(path, "vendor/"); ok {
			fmt.Fprintf(&config, "importmap %s=%s\n", as, path)
		}
	}
	if err := writeFile([]byte(files), dir, "files"); err != nil {
		return err
	}
	return writeFile(config.Bytes(), dir, "importcfg")
}

// checkedPackages are packages of the standard library that import none of its internal ones.
var checkedPackages = []string{
	"compress/flate", "database/sql", "debug/dwarf", "encoding/json", "encoding/xml", "go/ast", "go/printer", "html",
	"index/suffixarray", "net/mail", "regexp", "regexp/syntax", "text/tabwriter", "text/template/parse",
}

// goModule leaves a module with copies of these packages, without their tests.
func goModule(dir string) error {
	for _, name := range checkedPackages {
		from, err := output("go", "list", "-f", "{{.Dir}}", name)
		if err != nil {
			return err
		}
		if err := copyFiles(from, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return writeFile([]byte("module example.org/input\n\ngo 1.26.0\n"), dir, "go.mod")
}

// caches is the parent folder of the caches of tools that run without results of earlier runs.
var caches = filepath.Join(os.TempDir(), "freehold-foreign-caches")

func cache(tool string) string { return filepath.Join(caches, tool) }

// emptyCache removes a tool's cache. The cache of Go's build, which the tools read, stays.
func emptyCache(tool string) {
	if err := os.RemoveAll(cache(tool)); err != nil {
		panic(err)
	}
}

// words makes text of n words out of few, as prose has them.
func words(r *rand.Rand, n int) string {
	const all = "the of and a to in is it server memory page request value order time list that with for on are from by this be system data write read cache"
	list := strings.Fields(all)
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(list[r.IntN(len(list))])
		if r.IntN(4) == 0 {
			fmt.Fprintf(&b, "-%d", r.IntN(2000))
		}
	}
	return b.String()
}
