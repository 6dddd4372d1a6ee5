package arena_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestExperiment runs the test of the Go distribution's own arena package, from where Go is
// installed, with only its import and its build line changed.
func TestExperiment(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	gocmd, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command")
	}
	text, err := os.ReadFile(filepath.Join(runtime.GOROOT(), "src/arena/arena_test.go"))
	if err != nil {
		t.Skip("the distribution's sources are not here: ", err)
	}
	const build, imports = "//go:build goexperiment.arenas\n", `"arena"`
	s := string(text)
	if strings.Count(s, build) != 1 || strings.Count(s, imports) != 1 {
		t.Fatalf("the distribution's test has another build line or import:\n%s", s)
	}
	s = strings.Replace(s, build, "", 1)
	s = strings.Replace(s, imports, `"github.com/freehold-go/freehold/arena"`, 1)

	// The folder must be in the module, and the underscore keeps ./... out of it.
	dir, err := os.MkdirTemp(".", "_experiment")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "arena_test.go"), []byte(s), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(gocmd, "test", "-count=1", "-v", "./"+dir).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestSmokeLarge") {
		t.Fatalf("%v\n%s", err, out)
	}
}
