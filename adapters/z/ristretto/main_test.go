// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	library  = "github.com/freehold-go/freehold"
	version1 = "v0.1.0"
)

// user makes the module of a program that uses ristretto, and the function that runs the go command
// there.
func user(t *testing.T) (dir string, command func(args ...string) string) {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	command = func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(slices.Clone(os.Environ()), "PWD="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	write(t, dir, "go.mod", "module example.com/user\n\ngo 1.26.0\n\nrequire (\n\t"+module+" v2.4.2\n\tgolang.org/x/sys v0.47.0\n)\n\nreplace (\n\t"+
		library+" => "+root+"\n\t"+ours+" => "+filepath.Join(root, "adapters/z")+"\n)\n")
	write(t, dir, "main.go", "package main\n\nimport \""+module+"/z\"\n\nfunc main() {\n\tb := z.NewBuffer(1<<20, \"user\")\n"+
		"\tb.Write([]byte(\"off the heap\"))\n\tprintln(string(b.Bytes()), z.Leaks())\n\tb.Release()\n\tprintln(z.Leaks())\n}\n")
	return dir, command
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// outside skips a test that downloads modules and runs the tests of other people.
func outside(t *testing.T) {
	t.Helper()
	if testing.Short() || os.Getenv("FREEHOLD_TEST_OUTSIDE") == "" {
		t.Skip("it downloads modules and runs their tests: set FREEHOLD_TEST_OUTSIDE=1")
	}
}

// TestInstall: a Buffer of ristretto lies off the heap, and ristretto's own tests of what allocates
// pass.
func TestInstall(t *testing.T) {
	outside(t)
	dir, command := user(t)
	command("list", "-deps", ".") // Downloads what there is to copy.
	if err := install(dir, "copied", version1, false); err != nil {
		t.Fatal(err)
	}
	if got := command("run", "."); !strings.Contains(got, "off the heap") || !strings.Contains(got, "bytes for user\n") ||
		!strings.Contains(got, "No memory of Calloc is in use.") {
		t.Errorf("the program printed %s", got)
	}
	if err := install(dir, "copied", version1, false); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second time: %v", err)
	}
	out := command("test", "-count=1", "-v", "-run", "^(TestCalloc|TestAllocat.*|TestBuffer.*|TestTree.*)$", module+"/z")
	for _, name := range []string{"TestCalloc", "TestAllocate", "TestBuffer"} {
		if !strings.Contains(out, "--- PASS: "+name) {
			t.Errorf("%s has not passed:\n%s", name, out)
		}
	}
}

// TestForeignBuffer: with -buffer, ristretto's own tests of its Buffer and of its Tree pass. One thing
// changes in buffer_test.go: the names of subtests have a constant for the field bufType, which the
// Buffer of adapters/z does not have.
func TestForeignBuffer(t *testing.T) {
	outside(t)
	dir, command := user(t)
	write(t, dir, "main.go", "package main\n\nimport \""+module+"/z\"\n\nfunc main() {\n\tb := z.NewBuffer(1<<20, \"user\")\n"+
		"\tb.WriteSlice([]byte(\"a record\"))\n\tp, _ := b.Slice(b.StartOffset())\n\tprintln(string(p), z.Leaks())\n\tb.Release()\n\tprintln(z.Leaks())\n}\n")
	command("list", "-deps", ".") // Downloads what there is to copy.
	if err := install(dir, "copied", version1, true); err != nil {
		t.Fatal(err)
	}
	if got := command("run", "."); !strings.Contains(got, "a record") || !strings.Contains(got, "bytes for user\n") ||
		!strings.Contains(got, "No memory of Calloc is in use.") {
		t.Errorf("the program printed %s", got)
	}
	path := filepath.Join(dir, "copied/z/buffer_test.go")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.ReplaceAll(string(text), "buf.bufType", `"records"`)
	write(t, filepath.Dir(path), "buffer_test.go", changed)
	out := command("test", "-count=1", "-v", "-run", "^(Test.*Buffer.*|TestTree.*|TestAllocat.*)$", module+"/z")
	tests := regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(changed, -1)
	for _, name := range tests {
		if !strings.Contains(out, "--- PASS: "+name[1]+" ") {
			t.Errorf("%s has not passed:\n%s", name[1], out)
		}
	}
	if len(tests) < 8 || !strings.Contains(out, "--- PASS: TestTree ") {
		t.Errorf("%d tests of buffer_test.go, and those of Tree:\n%s", len(tests), out)
	}
}

// TestBadger: badger's own tests pass on freehold's memory, with the Buffer of adapters/z.
func TestBadger(t *testing.T) {
	testBadger(t, true, badger, badger+"/skl", badger+"/table", badger+"/y")
}

// TestBadgerOwnBuffer: badger's tests of what uses z.Buffer pass with ristretto's Buffer, too.
func TestBadgerOwnBuffer(t *testing.T) {
	testBadger(t, false, "-run=^Test(Stream|Backup|WriteBatch)", badger)
}

const badger = "github.com/dgraph-io/badger/v4"

func testBadger(t *testing.T, records bool, args ...string) {
	outside(t)
	dir, command := user(t)
	write(t, dir, "main.go", "package main\n\nimport _ \""+badger+"\"\n\nfunc main() {}\n")
	command("get", badger+"@v4.9.0")
	if err := install(dir, "copied", version1, records); err != nil {
		t.Fatal(err)
	}
	out := command(append([]string{"test", "-short", "-count=1", "-timeout=20m"}, args...)...)
	t.Log(out)
}

func TestNoRistretto(t *testing.T) {
	dir, _ := user(t)
	write(t, dir, "go.mod", "module example.com/user\n\ngo 1.26.0\n")
	if err := install(dir, "copied", version1, false); err == nil || !strings.Contains(err.Error(), "does not use") {
		t.Errorf("a module without ristretto: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "copied")); err == nil {
		t.Error("a folder was made all the same")
	}
}
