// SPDX-License-Identifier: Apache-2.0

//go:build go1.27 && (goexperiment.jsonv2 || go1.28)

package arenajson

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// What changes in the tests of encoding/json so that they stand in another package and call arenajson.
var tableChanges = []struct{ from, to string }{
	{`"encoding/json/internal`, `"json/std`},
	{`(?m)^import ("\w+")$`, "import (\n\t$1\n)"},
	{`(?m)^import \(`, "import (\n\t. \"encoding/json\""},
	{`errUnexpectedEnd\.Error\(\)`, "`unexpected end of JSON input`"},
	{`errUnexpectedEnd`, "errUnexpectedEndHere"},
	{`([^.\w])Unmarshal\(`, "${1}unmarshalHere("},
	{`([^.\w])NewDecoder\(`, "${1}newDecoderHere("},
	{`&SyntaxError\{\s*(?:msg:\s*)?("(?:[^"\\]|\\.)*"|` + "`[^`]*`" + `),\s*(?:Offset:\s*)?([^\n]*?),?\s*\}([,}\n])`, "syntaxErrorHere($1, $2)$3"},
}

// A tables is a module of copied tests in a temporary folder.
type tables struct {
	*testing.T
	from string // A folder of the Go distribution.
	to   string
}

// copyTables makes a module with the tests of a package of the Go distribution. Its shim is in a folder of testdata.
func copyTables(t *testing.T, pkg, shim string) tables {
	if os.Getenv("FREEHOLD_TEST_OUTSIDE") == "" {
		t.Skip("it compiles tests of the Go distribution: run make jsoncheck")
	}
	testenv.StartsPrograms(t)
	dir, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	to := tables{t, filepath.Join(strings.TrimSpace(string(dir)), "src", pkg), t.TempDir()}
	text, err := os.ReadFile(filepath.Join("testdata", shim, "shim_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	to.write("shim_test.go", string(text))
	_, file, _, _ := runtime.Caller(0)
	to.write("go.mod", fmt.Sprintf("module json\n\ngo 1.27\n\nrequire %[1]s v0.0.0\n\nrequire golang.org/x/sys v0.47.0\n\nreplace %[1]s => %[2]s\n", "github.com/freehold-go/freehold", filepath.Dir(filepath.Dir(file))))
	return to
}

func (t tables) source(name string) string {
	b, err := os.ReadFile(filepath.Join(t.from, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (t tables) write(name, text string) {
	to := filepath.Join(t.to, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs the tests. At least so many tests and cases in them must pass.
func (t tables) run(tests, cases int) {
	cmd := exec.Command("go", "test", "-mod=mod", "-vet=off", "-v", ".")
	cmd.Dir, cmd.Env = t.to, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	b, err := cmd.CombinedOutput()
	out := string(b)
	n, c := strings.Count("\n"+out, "\n--- PASS: Test"), strings.Count(out, "    --- PASS: Test")
	if err != nil || n < tests || c < cases {
		t.Errorf("%d tests with %d cases passed, at least %d and %d should; %v\n%s", n, c, tests, cases, err, failures(out))
		return
	}
	t.Logf("%d tests with %d cases passed", n, c)
	left := map[string]int{} // The cases that are left out, by the reason.
	for _, reason := range regexp.MustCompile(`(?m)^ +shim_test\.go:\d+: (.*)$`).FindAllStringSubmatch(out, -1) {
		left[reason[1]]++
	}
	for _, reason := range slices.Sorted(maps.Keys(left)) {
		t.Logf("left out %d: %s", left[reason], reason)
	}
}

// change applies changes to a text.
func change(text string, changes []struct{ from, to string }) string {
	for _, c := range changes {
		text = regexp.MustCompile(c.from).ReplaceAllString(text, c.to)
	}
	return text
}

// TestStandardTables runs the decoding tests of encoding/json, with their tables, on arenajson. It copies them from the Go distribution.
func TestStandardTables(t *testing.T) {
	to := copyTables(t, "encoding/json", "tables")
	for _, name := range []string{"v2_decode_test.go", "v2_stream_test.go", "v2_tagkey_test.go"} {
		to.write(name, change(to.source(name), tableChanges))
	}
	helpers := "package json\n\nimport (\n\t. \"encoding/json\"\n\t\"math\"\n\t\"math/rand\"\n\t\"strings\"\n\t\"testing\"\n)\n\n"
	for _, f := range []string{`func (?:diff|initBig|gen\w+|stripWhitespace|trim)\(`} {
		helpers += strings.Join(regexp.MustCompile(`(?ms)^`+f+`.*?^\}\n`).FindAllString(to.source("v2_scanner_test.go"), -1), "\n")
	}
	for _, f := range []string{`(?m)^type (?:Ref|RefText|C|CText) .*\n`, `(?ms)^func \((?:\w+ )?\*?(?:Ref|RefText|C|CText)\) .*?^\}\n`} {
		helpers += strings.Join(regexp.MustCompile(f).FindAllString(to.source("v2_encode_test.go"), -1), "\n")
	}
	to.write("helpers_test.go", helpers)
	to.write("std/jsontest/testcase.go", to.source("internal/jsontest/testcase.go"))
	to.run(50, 346)
}

// failures are the lines of a test's output that do not report a success.
func failures(out string) string {
	var lines []string
	for line := range strings.Lines(out) {
		if !strings.Contains(line, "=== ") && !strings.Contains(line, "--- PASS") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}
