// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// load reads this repository.
func load(t *testing.T) (root string, r *Repo) {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	r, err = Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Files) < 10 {
		t.Fatalf("only %d files found under %s", len(r.Files), root)
	}
	return root, r
}

func TestRepository(t *testing.T) {
	_, r := load(t)
	for name, rule := range map[string]func(*Repo) []Finding{
		"Arrows":        Arrows,
		"Assumptions":   Assumptions,
		"UnsafePlaces":  UnsafePlaces,
		"UnsafeReasons": UnsafeReasons,
		"Names":         Names,
		"Marks":         Marks,
		"Licences":      Licences,
		"Modules":       Modules,
		"Docs":          Docs,
		"Twins":         Twins,
		"TypeParams":    TypeParams,
		"Lengths":       Lengths,
	} {
		t.Run(name, func(t *testing.T) {
			for _, f := range rule(r) {
				t.Error(f)
			}
		})
	}
}

func TestDependencies(t *testing.T) {
	_, r := load(t)
	for mod, got := range Dependencies(r) {
		name := strings.ReplaceAll(filepath.ToSlash(filepath.Dir(mod)), "/", "-")
		if name == "." {
			name = "library"
		}
		golden(t, filepath.Join("testdata", "dependencies", name+".txt"), got)
	}
}

func TestAPI(t *testing.T) {
	root, r := load(t)
	packages := map[string]string{"freehold": "."}
	for _, name := range []string{"offheap", "pool", "cache", "sortbuf", "arena", "gctune", "alloctest", "expvarstats", "httparena", "slogleaks", "arenajson"} {
		packages[name] = name
	}
	for _, name := range []string{"arenaproto", "arrowmem", "grpcarena", "grpcmem", "memprof", "otelstats", "promstats", "z"} {
		packages["adapters-"+name] = "adapters/" + name
	}
	for name, dir := range packages {
		got, err := API(r, dir)
		if err != nil {
			t.Fatal(err)
		}
		if got == "" {
			t.Errorf("package %s exports nothing", name)
		}
		golden(t, filepath.Join(root, "api", name+".txt"), got)
	}
}

// golden holds got against a file, or writes the file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("%v\nto write it: go test ./internal/checks/lint -update", err)
		return
	}
	if want := string(b); got != want {
		t.Errorf("%s is not what the code says\n%s\nif the change is meant: go test ./internal/checks/lint -update", file, difference(want, got))
	}
}

// difference lists the lines that only one of the texts has.
func difference(want, got string) string {
	count := map[string]int{}
	for line := range strings.Lines(want) {
		count[line]--
	}
	for line := range strings.Lines(got) {
		count[line]++
	}
	var b strings.Builder
	for line := range strings.Lines(want + got) {
		switch n := count[line]; {
		case n < 0:
			b.WriteString("- " + line)
		case n > 0:
			b.WriteString("+ " + line)
		}
		delete(count, line)
	}
	return b.String()
}
