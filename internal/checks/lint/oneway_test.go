// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"os"
	"strings"
	"testing"
)

// circlesFile lists the packages whose files name each other in circles.
const circlesFile = "testdata/circles.txt"

func TestOneWay(t *testing.T) {
	_, r := load(t)
	list, err := os.ReadFile(circlesFile)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		list = []byte(r.lowered(string(list)))
		if err := os.WriteFile(circlesFile, list, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range OneWay(r, string(list)) {
		t.Error(f)
	}
}

func TestOneWayRule(t *testing.T) {
	const (
		a       = "package p\n\nimport _ \"example.com/q\"\n\ntype T struct{ n int }\n\nfunc (t *T) get() int { return t.n }\n"
		circleA = a + "\nfunc (t *T) twice() int { return double(t) }\n"
		b       = "package p\n\nfunc double(t *T) int { return 2 * t.get() }\n"
		c       = "package p\n\nvar two = double(new(T))\n"
	)
	const arrows = "2 references run in circles of files, the list has 0: a.go → b.go (double); b.go → a.go (T)"
	for _, e := range []struct {
		files    map[string]string
		list     string
		says     string
		comments string
	}{
		{map[string]string{"p/a.go": a, "p/b.go": b, "p/c.go": c}, "", "", "one way"},
		{map[string]string{"p/a.go": circleA, "p/b.go": b, "p/c.go": c}, "", arrows, "a circle of two, and a file that only names both"},
		{map[string]string{"p/a.go": circleA, "p/b.go": b}, "p 2\n", "", "a circle that the list has"},
		{map[string]string{"p/a.go": circleA, "p/b.go": b}, "p 3\n", "fewer than the 3 of the list", "fewer than before"},
		{map[string]string{"p/a.go": a, "p/b.go": b}, "q 1\n", "no such package", "a package that is gone"},
		{map[string]string{"p/a.go": a, "p/b.go": b}, "p\n", "want a package", "a line without a number"},
		{map[string]string{"p/a.go": a, "p/b.go": b, "p/a_test.go": "package p\n\nvar three = two\n"}, "", "", "tests are left out"},
		{map[string]string{"p/a.go": a, "p/b_windows.go": "package p\n\nvar w = new(T).x()\n\nfunc (t *T) x() int { return other }\n", "p/c.go": "package p\n\nvar other = w\n"},
			"", "", "another system"},
		{map[string]string{"q/q.go": "package q\n\ntype Q struct{ N int }\n", "p/a.go": "package p\n\nimport \"" + ModulePath + "/q\"\n\ntype T struct{ q.Q }\n\nfunc (T) m() int { return n }\n",
			"p/b.go": "package p\n\nvar n = q().m()\n\nfunc q() (t T) { return t }\n"}, "", "2 references", "by a method of a type that has a part from another package"},
	} {
		r, err := New(e.files)
		if err != nil {
			t.Fatal(err)
		}
		found := OneWay(r, e.list)
		if e.says == "" && len(found) > 0 || e.says != "" && (len(found) != 1 || !strings.Contains(found[0].String(), e.says)) {
			t.Errorf("%s: found %v, want one with %q", e.comments, found, e.says)
		}
	}
}

// TestLowered has packages with fewer, with as many and with more circles than the list says, and one that the list lacks.
func TestLowered(t *testing.T) {
	files := map[string]string{}
	for _, dir := range []string{"p", "q", "r", "s"} {
		files[dir+"/a.go"] = "package p\n\nvar A = B\n\nfunc f() {}\n"
		files[dir+"/b.go"] = "package p\n\nvar B = 1\n\nfunc g() { f() }\n"
	}
	r, err := New(files)
	if err != nil {
		t.Fatal(err)
	}
	got := r.lowered("# Two pairs each.\np 3\nq 2\nr 1\n")
	if _, list, _ := strings.Cut(got, "\n"); list != "p 2\nq 2\nr 1\n" {
		t.Errorf("the list is now\n%s", list)
	}
}
