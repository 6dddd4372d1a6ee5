// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"
	"testing"
)

func TestQuotes(t *testing.T) {
	_, r := load(t)
	for _, f := range Quotes(r) {
		t.Error(f)
	}
}

func TestQuotesRule(t *testing.T) {
	const code = "package p\n\n// f says 1.\nfunc f() int {\n\treturn 1\n}\n"
	block := func(above, body string) string { return "# Page\n\n" + above + "\n```go\n" + body + "\n```\n" }
	for _, e := range []struct{ page, says string }{
		{block("<!-- a/a.go#f -->", "func f() int {\n\treturn 1\n}"), ""},
		{block("<!-- a/a.go#f -->", "func f() int {\n\treturn 2\n}"), "not what a/a.go has"},
		{block("<!-- a/a.go#g -->", "func g() {}"), "no a/a.go#g"},
		{block("<!-- a/a.go -->", "// f says 1.\nfunc f() int {\n\treturn 1\n}"), ""},
		{block("<!-- a/a.go -->", "func f() int {\n\treturn 1\n}"), "not what a/a.go has"},
		{block("", "func f() int {\n\treturn 1\n}"), "no test compiles it"},
		{"Text without code.\n\n    make stress\n    x := 1\n", "outside of a block"},
		{"```\nx := f()\n```\n", "outside of a block"},
		{"```text\nfunc main() {}\n```\n\nfunc is a word here, and so is := there.\n\n    make stress\n\n```text\npanic: x\n```\n", "outside of a block"},
		{block("<!-- a/tagged.go#h -->", "func h() {}"), "no a/tagged.go#h"},
	} {
		r, err := New(map[string]string{"a/a.go": code, "a/tagged.go": "//go:build never\n\npackage p\n\nfunc h() {}\n", "sub/page.md": e.page, "README.md": "# Project\n"})
		if err != nil {
			t.Fatal(err)
		}
		found := Quotes(r)
		if e.says == "" && len(found) > 0 || e.says != "" && (len(found) != 1 || !strings.Contains(found[0].String(), e.says)) {
			t.Errorf("found %v, want one with %q\n%s", found, e.says, e.page)
		}
	}
}
