// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	library  = "github.com/freehold-go/freehold"
	version1 = "v0.1.0"
)

// user makes the module of a program that uses ristretto, with what it needs from the module cache
// alone. It returns the function that runs the go command there.
func user(t *testing.T) (dir string, command func(args ...string) string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds programs")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOSUMDB", "off")
	command = func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(slices.Clone(os.Environ()), "PWD="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil && strings.Contains(string(out), "GOPROXY=off") {
			t.Skipf("the module cache lacks ristretto, or what its tests need: %s", out)
		}
		if err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	for name, text := range map[string]string{
		"go.mod": "module example.com/user\n\ngo 1.25.0\n\nrequire " + module + " v2.4.2\n\nreplace (\n\t" + library + " => " + root +
			"\n\t" + ours + " => " + filepath.Join(root, "adapters/z") + "\n)\n",
		"main.go": "package main\n\nimport \"" + module + "/z\"\n\nfunc main() {\n\tb := z.NewBuffer(1<<20, \"user\")\n\tb.Write([]byte(\"off the heap\"))\n" +
			"\tprintln(string(b.Bytes()), z.Leaks())\n\tb.Release()\n\tprintln(z.Leaks())\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, command
}

// TestInstall: a Buffer of ristretto lies off the heap, and ristretto's own tests of what allocates
// pass.
func TestInstall(t *testing.T) {
	dir, command := user(t)
	command("list", "-deps", ".") // Whether the module cache has all of it.
	if err := install(dir, "copied", version1); err != nil {
		t.Fatal(err)
	}
	if got := command("run", "."); !strings.Contains(got, "off the heap") || !strings.Contains(got, "bytes for user\n") ||
		!strings.Contains(got, "No memory of Calloc is in use.") {
		t.Errorf("the program printed %s", got)
	}
	if err := install(dir, "copied", version1); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second time: %v", err)
	}
	out := command("test", "-count=1", "-v", "-run", "^(TestCalloc|TestAllocat.*|TestBuffer.*|TestTree.*)$", module+"/z")
	for _, name := range []string{"TestCalloc", "TestAllocate", "TestBuffer"} {
		if !strings.Contains(out, "--- PASS: "+name) {
			t.Errorf("%s has not passed:\n%s", name, out)
		}
	}
}

// TestBadger: badger's own tests pass on freehold's memory.
func TestBadger(t *testing.T) {
	if os.Getenv("FREEHOLD_TEST_OUTSIDE") == "" {
		t.Skip("it downloads badger and runs its tests, some minutes: set FREEHOLD_TEST_OUTSIDE=1")
	}
	proxy, err := exec.Command("go", "env", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir, command := user(t)
	t.Setenv("GOPROXY", strings.TrimSpace(string(proxy)))
	const badger = "github.com/dgraph-io/badger/v4"
	program := "package main\n\nimport _ \"" + badger + "\"\n\nfunc main() {}\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	command("get", badger+"@v4.9.0")
	if err := install(dir, "copied", version1); err != nil {
		t.Fatal(err)
	}
	out := command("test", "-short", "-count=1", "-timeout=20m", badger, badger+"/skl", badger+"/table", badger+"/y")
	t.Log(out)
}

func TestNoRistretto(t *testing.T) {
	dir, _ := user(t)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/user\n\ngo 1.25.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := install(dir, "copied", version1); err == nil || !strings.Contains(err.Error(), "does not use") {
		t.Errorf("a module without ristretto: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "copied")); err == nil {
		t.Error("a folder was made all the same")
	}
}
