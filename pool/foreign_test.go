// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// These tests run other people's tests on this package, in a temporary folder: those of bytes.Buffer
// and sync.Pool in Go's own source, and those of fasthttp with its pool of buffers replaced. They
// download fasthttp. make test-foreign-pool runs them.

// bufferExceptions are the tests of bytes.Buffer that say what pool.Buffer does not, and why.
var bufferExceptions = map[string]string{
	"TestNewBufferShallow":           "copies a Buffer, which panics here",
	"TestCapWithPreallocatedSlice":   "begins with a slice of the caller's, which lies on the Go heap",
	"TestCapWithSliceAndWrittenData": "does so, too",
	"TestReadFromNegativeReader":     "compares the text of a panic",
	"TestGrowOverflow":               "compares the value of a panic; here it is ErrOutOfMemory",
}

// poolExceptions are those of sync.Pool.
var poolExceptions = map[string]string{
	"TestPool":        "looks for victims, and for the order of sync.Pool's own caches",
	"TestPoolRelease": "expects that two collections empty a Pool; here one object stays, and the others fall by half",
	"TestPoolDequeue": "tests the inside of sync.Pool",
	"TestPoolChain":   "does so, too",
}

const fasthttp = "github.com/valyala/fasthttp"

func outside(t *testing.T) {
	if os.Getenv("FREEHOLD_TEST_OUTSIDE") == "" {
		t.Skip("set FREEHOLD_TEST_OUTSIDE: make test-foreign-pool")
	}
}

// command runs a command in dir and returns its output.
func command(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// module makes a module of that path in dir, with a shim, and with this library.
func module(t *testing.T, dir, path, shim string) {
	t.Helper()
	here, _ := filepath.Abs("..")
	write(t, filepath.Join(dir, "go.mod"), "module "+path+"\n\ngo 1.26.0\n\nrequire github.com/freehold-go/freehold v0.1.0\n\nreplace github.com/freehold-go/freehold => "+here+"\n")
	write(t, filepath.Join(dir, "go.sum"), read(t, "../go.sum"))
	write(t, filepath.Join(dir, "shim.go"), read(t, filepath.Join("testdata/foreign", shim, "shim.go")))
}

// standard runs the tests of a file of Go's source, but for the exceptions.
func standard(t *testing.T, pkg, file string, exceptions map[string]string) {
	outside(t)
	dir := t.TempDir()
	module(t, dir, "foreign", pkg)
	write(t, filepath.Join(dir, "testenv/testenv.go"), "package testenv\n\nimport \"testing\"\n\nfunc SkipIfOptimizationOff(testing.TB) {}\n")
	if pkg == "sync" {
		write(t, filepath.Join(dir, "cleanups_test.go"), cleanups)
	}
	source := read(t, filepath.Join(command(t, ".", "go", "env", "GOROOT"), "src", pkg, file))
	source = strings.Replace(source, `. "`+pkg+`"`, `. "foreign"`, 1)
	source = strings.Replace(source, `"internal/testenv"`, `"foreign/testenv"`, 1)
	for name := range exceptions {
		if !strings.Contains(source, "func "+name+"(") {
			t.Errorf("the exception %s is no test of %s any more", name, pkg)
		}
	}
	write(t, filepath.Join(dir, file), source)
	var skip []string
	for name := range exceptions {
		skip = append(skip, name)
	}
	// With one P, because a test pins its goroutine.
	out := command(t, dir, "go", "test", "-count=1", "-cpu=1", "-v", "-skip", "^("+strings.Join(skip, "|")+")$", ".")
	if n := strings.Count(out, "--- PASS: "); n < 2 {
		t.Fatalf("%d tests have run:\n%s", n, out)
	}
}

func TestForeignBuffer(t *testing.T) { standard(t, "bytes", "buffer_test.go", bufferExceptions) }

func TestForeignPool(t *testing.T) { standard(t, "sync", "pool_test.go", poolExceptions) }

// cleanups stands in for a function of the runtime that the tests of sync.Pool link to.
const cleanups = `package sync_test

import "time"

func runtime_blockUntilEmptyCleanupQueue(int64) bool {
	time.Sleep(300 * time.Millisecond)
	return true
}
`

// TestForeignFasthttp runs fasthttp's tests with bytebufferpool on pool.Pool.
func TestForeignFasthttp(t *testing.T) {
	outside(t)
	if runtime.GOOS != "linux" {
		t.Skip("fasthttp's tests are run on Linux")
	}
	dir := t.TempDir()
	shim, lib := filepath.Join(dir, "bytebufferpool"), filepath.Join(dir, "fasthttp")
	module(t, shim, "github.com/valyala/bytebufferpool", "bytebufferpool")
	module(t, filepath.Join(dir, "get"), "get", "bytebufferpool")
	command(t, filepath.Join(dir, "get"), "go", "get", fasthttp+"@v1.78.0")
	from := command(t, filepath.Join(dir, "get"), "go", "list", "-m", "-f", "{{.Dir}}", fasthttp)
	if err := os.CopyFS(lib, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	command(t, lib, "chmod", "-R", "u+w", ".")
	here, _ := filepath.Abs("..")
	command(t, lib, "go", "mod", "edit", "-replace", "github.com/valyala/bytebufferpool="+shim, "-replace", "github.com/freehold-go/freehold="+here,
		"-require", "github.com/freehold-go/freehold@v0.1.0")
	command(t, lib, "go", "mod", "tidy")
	// Two tests assert how long a call takes.
	t.Log(command(t, lib, "go", "test", "-count=1", "-skip", "StaysLinear$", "."))
}
