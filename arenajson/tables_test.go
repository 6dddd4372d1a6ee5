// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// What changes in the tests of encoding/json so that they stand in another package and call arenajson.
var tableChanges = []struct{ from, to string }{
	{`(?m)^import \(`, "import (\n\t. \"encoding/json\""},
	{`([^.\w])Unmarshal\(`, "${1}unmarshalHere("},
	{`([^.\w])NewDecoder\(`, "${1}newDecoderHere("},
	{`&SyntaxError\{\s*(?:msg:\s*)?("(?:[^"\\]|\\.)*"|` + "`[^`]*`" + `),\s*(?:Offset:\s*)?([^\n]*?),?\s*\}([,}\n])`, "syntaxErrorHere($1, $2)$3"},
}

// TestStandardTables runs the decoding tests of encoding/json, with their tables, on arenajson. It copies them from the Go distribution.
func TestStandardTables(t *testing.T) {
	if os.Getenv("FREEHOLD_TEST_OUTSIDE") == "" {
		t.Skip("it compiles tests of the Go distribution: run make jsoncheck")
	}
	testenv.StartsPrograms(t)
	dir, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := func(name string) string {
		b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "src/encoding/json", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	to := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(to, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"decode_test.go", "stream_test.go", "tagkey_test.go"} {
		text := source(name)
		for _, c := range tableChanges {
			text = regexp.MustCompile(c.from).ReplaceAllString(text, c.to)
		}
		write(name, text)
	}
	helpers := "package json\n\nimport (\n\t. \"encoding/json\"\n\t\"math\"\n\t\"math/rand\"\n\t\"strings\"\n\t\"testing\"\n)\n\n"
	for _, f := range []string{`func (?:diff|initBig|gen\w+|stripWhitespace|trim)\(`} {
		helpers += strings.Join(regexp.MustCompile(`(?ms)^`+f+`.*?^\}\n`).FindAllString(source("scanner_test.go"), -1), "\n")
	}
	for _, f := range []string{`(?m)^type (?:Ref|RefText|C|CText) .*\n`, `(?ms)^func \((?:\w+ )?\*?(?:Ref|RefText|C|CText)\) .*?^\}\n`} {
		helpers += strings.Join(regexp.MustCompile(f).FindAllString(source("encode_test.go"), -1), "\n")
	}
	write("helpers_test.go", helpers)
	shim, err := os.ReadFile("testdata/tables/shim_test.go")
	if err != nil {
		t.Fatal(err)
	}
	write("shim_test.go", string(shim))
	_, file, _, _ := runtime.Caller(0)
	write("go.mod", fmt.Sprintf("module json\n\ngo 1.25\n\nrequire %[1]s v0.0.0\n\nrequire golang.org/x/sys v0.47.0\n\nreplace %[1]s => %[2]s\n", "github.com/freehold-go/freehold", filepath.Dir(filepath.Dir(file))))
	cmd := exec.Command("go", "test", "-mod=mod", "-vet=off", "-v", ".")
	cmd.Dir, cmd.Env = to, append(os.Environ(), "GOWORK=off", "GOEXPERIMENT=nojsonv2", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	if n := strings.Count("\n"+string(out), "\n--- PASS: Test"); err != nil || n < 40 {
		t.Errorf("%d tests passed, %v\n%s", n, err, failures(string(out)))
	} else {
		t.Logf("%d tests with %d cases passed", n, strings.Count(string(out), "    --- PASS: Test"))
	}
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
