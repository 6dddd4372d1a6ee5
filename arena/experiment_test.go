// SPDX-License-Identifier: Apache-2.0

package arena_test

import (
	"encoding/json"
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

	// The test must be in the module. It is so for the compiler alone: a file in the tree, half
	// written or gone the next moment, would be met by other tests that read all files there.
	dir := t.TempDir()
	file, binary := filepath.Join(dir, "arena_test.go"), filepath.Join(dir, "experiment.test.exe")
	if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "_experiment", "arena_test.go"): file}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	// Windows wants the .exe. Vet would go to the folder.
	if out, err := exec.Command(gocmd, "test", "-c", "-vet=off", "-overlay", list, "-o", binary, "./_experiment").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(binary, "-test.v", "-test.timeout=10m").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestSmokeLarge") {
		t.Fatalf("%v\n%s", err, out)
	}
}
