// SPDX-License-Identifier: Apache-2.0

package source

import (
	"reflect"
	"strings"
	"testing"
)

// relatedAt is a related place of a diagnostic, as the compiler writes it.
func relatedAt(file, message string) string {
	return `{"location":{"uri":"file://` + file + `","range":{"start":{"line":7,"character":1},"end":{"line":7,"character":1}}},"message":"` + message + `"}`
}

func diagnosticOf(code, message string, related ...string) string {
	line := `{"range":{"start":{"line":3,"character":2},"end":{"line":3,"character":2}},"severity":3,"code":"` + code + `","source":"go compiler","message":"` + message + `"`
	if len(related) > 0 {
		line += `,"relatedInformation":[` + strings.Join(related, ",") + `]`
	}
	return line + "}\n"
}

// TestParseFile reads lines of the compiler's output, some of which are longer than any buffer.
func TestParseFile(t *testing.T) {
	const header = `{"version":0,"package":"a","file":"/src/a/a.go"}` + "\n"
	const spill, back = `escflow:      from \u0026T{...} (spill)`, `escflow:      from return \"\\\"(\" + x (return)`
	s := &Module{folders: map[string]string{"/src/a": "example.com/a", "/src/b": "example.com/b"}}
	long := func(n int) []string {
		steps := make([]string, 0, n)
		for range n {
			steps = append(steps, relatedAt("/src/a/a.go", back), relatedAt("/src/b/b.go", "inlineLoc"))
		}
		return append(steps, relatedAt("/src/a/a.go", `escflow:    flow: x = y:`), relatedAt("/src/a/a.go", spill))
	}
	for name, c := range map[string]struct {
		line string
		want map[string][]escape
	}{
		"other codes":  {diagnosticOf("leak", "p", relatedAt("/src/a/a.go", back)), map[string][]escape{}},
		"a repetition": {diagnosticOf("escape", "", relatedAt("/src/b/b.go", "inlineLoc")), map[string][]escape{}},
		"no flow":      {diagnosticOf("escape", `\u0026T{...} escapes to heap`), map[string][]escape{"example.com/a/a.go:3": {{What: "&T{...}"}}}},
		"a flow":       {diagnosticOf("escape", "x", long(1)...), map[string][]escape{"example.com/a/a.go:3": {{"x", 2, `return "\"(" + x (return)`}}}},
		"inlined": {diagnosticOf("escape", "x", relatedAt("/src/b/b.go", "inlineLoc"), relatedAt("/go/src/c.go", "inlineLoc"), relatedAt("/src/a/a.go", spill)),
			map[string][]escape{"example.com/a/a.go:3": {{"x", 1, ""}}, "example.com/b/b.go:7": {{"x", 1, ""}}}},
		"the longest":       {diagnosticOf("escape", "x") + diagnosticOf("escape", "x", long(2)...) + diagnosticOf("escape", "x", long(1)...), map[string][]escape{"example.com/a/a.go:3": {{"x", 3, `return "\"(" + x (return)`}}}},
		"beyond the buffer": {diagnosticOf("escape", "x", long(1000)...), map[string][]escape{"example.com/a/a.go:3": {{"x", 1001, `return "\"(" + x (return)`}}}},
		"beyond the bound":  {diagnosticOf("escape", strings.Repeat("x", maxDiagnostic+1<<17)) + diagnosticOf("escape", "y"), map[string][]escape{"example.com/a/a.go:3": {{What: "y"}}}},
		"cut off":           {diagnosticOf("escape", "x")[:90], map[string][]escape{}},
	} {
		got := map[string][]escape{}
		if err := s.parseFile(t.Context(), strings.NewReader(header+c.line), got); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %.300v, %v, want %.300v", name, got, err, c.want)
		}
	}
	if err := s.parseFile(t.Context(), strings.NewReader("no JSON\n"), nil); err == nil {
		t.Error("a broken header is no error")
	}
}
