// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"
	"testing"
)

func TestSnippets(t *testing.T) {
	_, r := load(t)
	for _, f := range Snippets(r) {
		t.Error(f)
	}
}

func TestSnippetsRule(t *testing.T) {
	const head = "| before | after | what differs |\n|---|---|---|\n"
	for _, e := range []struct{ page, says string }{
		{"<!-- compiled by a/a.go -->\n" + head + "| `return 1` | `func f()` with `int` | `g()` |\n", ""},
		{"<!-- compiled by a/a.go, a/b.go -->\n" + head + "| C++: `g()` | `return 2` | |\n", ""},
		{"<!-- compiled by a/a.go -->\n" + head + "| x | `return 2` | |\n", "no file named above"},
		{"<!-- compiled by a/c.go -->\n" + head, "no compiled file a/c.go"},
		{"### Moving over\n\nText.\n\n" + head, "says of no file"},
		{"### Others\n\n" + head + "| `g()` | | |\n", ""},
	} {
		r, err := New(map[string]string{
			"a/a.go": "package p\n\nfunc f() int {\n\treturn 1\n}\n", "a/b.go": "package p\n\nfunc h() int {\n\treturn 2\n}\n",
			"sub/page.md": e.page, "README.md": "# Project\n",
		})
		if err != nil {
			t.Fatal(err)
		}
		found := Snippets(r)
		if e.says == "" && len(found) > 0 || e.says != "" && (len(found) != 1 || !strings.Contains(found[0].String(), e.says)) {
			t.Errorf("found %v, want one with %q\n%s", found, e.says, e.page)
		}
	}
}
