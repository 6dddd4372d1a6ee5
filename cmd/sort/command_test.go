// SPDX-License-Identifier: Apache-2.0

package sort

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestRefused: each option of GNU sort that is lacking is refused by name.
func TestRefused(t *testing.T) {
	for line, named := range map[string]string{
		"-g": "-g (--general-numeric-sort)", "--general": "-g (--general-numeric-sort)", "--sort=general-numeric": "-g (--general-numeric-sort)", "-k1,1g": "-g (--general-numeric-sort)",
		"-R": "-R (--random-sort)", "--random-sort": "-R (--random-sort)", "--sort=random": "-R (--random-sort)", "-k 1R": "-R (--random-sort)", "--json-key=a:R": "-R (--random-sort)",
		"-V": "-V (--version-sort)", "--version-sort": "-V (--version-sort)", "--sort=version": "-V (--version-sort)", "-k1,1V": "-V (--version-sort)", "-V -k1n": "-V (--version-sort)",
		"--debug": "--debug", "--random-source=x": "--random-source", "--compress-program=gzip": "--compress-program",
	} {
		r := runOurs(t, "", strings.Fields(line), []byte("a\n"))
		if r.status != 2 || r.stdout != "" || !strings.Contains(r.stderr, named) || !strings.Contains(r.stderr, "not supported") {
			t.Errorf("sort %s: %+v", line, r)
		}
	}
}

// TestHelp: the help names each option that there is.
func TestHelp(t *testing.T) {
	r := runOurs(t, "", []string{"--help"}, nil)
	if r.status != 0 || r.stderr != "" {
		t.Fatalf("%+v", r)
	}
	for _, o := range allOptions {
		if o.name != "" && !strings.Contains(r.stdout, "--"+o.name) && !strings.Contains(r.stdout, fmt.Sprintf("-%c", o.letter)) {
			t.Errorf("the help lacks --%s", o.name)
		}
		if o.letter != 0 && !strings.Contains(r.stdout, fmt.Sprintf("-%c", o.letter)) {
			t.Errorf("the help lacks -%c", o.letter)
		}
	}
	if r := runOurs(t, "", []string{"--version"}, nil); r.stdout != "freehold sort v0\n" {
		t.Errorf("%+v", r)
	}
}

func TestJSONKey(t *testing.T) {
	for _, x := range []struct{ line, in, want string }{
		{"--json-key a", `{"a":"y"}|{"a":"x","b":1}|{"b":2,"a":"z"}`, `{"a":"x","b":1}|{"a":"y"}|{"b":2,"a":"z"}`},
		// A line without the field comes first, and one that is no JSON. Nothing behind the field is read.
		{"--json-key a", `{"a":""}|{"b":"a"}|no|{"a":null}|{"a":1`, `no|{"b":"a"}|{"a":""}|{"a":1|{"a":null}`},
		{"--json-key a:n", `{"a":10}|{"a":9.5}|{"a":-1e2}|{"a":1e1}|{"a":2E-3}|{"a":"7"}|{"a":"x"}|{}`, `{}|{"a":-1e2}|{"a":"x"}|{"a":2E-3}|{"a":"7"}|{"a":9.5}|{"a":10}|{"a":1e1}`},
		{"--json-key a:nr -s", `{"a":1}|{"a":1.0}|{"a":3}`, `{"a":3}|{"a":1}|{"a":1.0}`},
		{"--json-key a:n -r", `{"a":1}|{"a":2}`, `{"a":1}|{"a":2}`}, // as with -k: r is of whole lines only
		{"-nr --json-key a", `{"a":10}|{"a":9}`, `{"a":10}|{"a":9}`},
		{"--json-key a.b --json-key c:n", ` { "c" : 2 , "a" : { "x" : [ { "b" : 9 } ] , "b" : "q" } }|{"a":{"b":"q"},"c":1}|{"a":{"b":"p"},"c":3}`, `{"a":{"b":"p"},"c":3}|{"a":{"b":"q"},"c":1}| { "c" : 2 , "a" : { "x" : [ { "b" : 9 } ] , "b" : "q" } }`},
		{`--json-key a\.b`, `{"a.b":2}|{"a":{"b":9},"a.b":1}`, `{"a":{"b":9},"a.b":1}|{"a.b":2}`},
		{"--json-key é.ß", `{"é":{"ß":2}}|{"é":{"ß":1}}`, `{"é":{"ß":1}}|{"é":{"ß":2}}`},
		{"--json-key a:r", `{"b":1}|{"a":1}|{"a":2}`, `{"a":2}|{"a":1}|{"b":1}`},
		{"--json-key x:y:", `{"x:y":"b"}|{"x:y":"a"}`, `{"x:y":"a"}|{"x:y":"b"}`},
		{"--json-key a", `{"a":"\u00e9"}|{"a":"é"}|{"a":"\t"}|{"a":"z\"}"}|{"\u0061":"b"}`, `{"a":"\t"}|{"\u0061":"b"}|{"a":"z\"}"}|{"a":"\u00e9"}|{"a":"é"}`},
		{"--json-key a:f -u", `{"a":"X"}|{"a":"x"}|{"a":"w"}`, `{"a":"w"}|{"a":"X"}`},
		{"--json-key a --json-key b", `{"a":{"z":1},"b":2}|{"a":{"z":1},"b":1}|{"a":[1,"]"],"b":0}`, `{"a":[1,"]"],"b":0}|{"a":{"z":1},"b":1}|{"a":{"z":1},"b":2}`},
	} {
		r := runOurs(t, "", strings.Fields(x.line), []byte(strings.ReplaceAll(x.in, "|", "\n")))
		if want := strings.ReplaceAll(x.want, "|", "\n") + "\n"; r.status != 0 || r.stdout != want {
			t.Errorf("sort %s: %d %s\ngot\n%swant\n%s", x.line, r.status, r.stderr, r.stdout, want)
		}
	}
	for _, line := range []string{"--json-key=", "--json-key=:n", "--json-key=a:x", "--json-key=a:nh", "--json-key=a:g"} {
		if r := runOurs(t, "", strings.Fields(line), nil); r.status != 2 || r.stderr == "" {
			t.Errorf("sort %s: %+v", line, r)
		}
	}
}

// FuzzJSONField: no text makes the search for a field panic, and what it finds lies in the text.
func FuzzJSONField(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"a":{"b":"\"}"}}`, `{"a"`, `{"a":`, `{"a":"\`, `[{"a":1}]`, `{"b":[1,{}],"a":true}`, `{:}`, `{"a":}`, `{,}`, "{\"a\":1\x00}"} {
		f.Add(s, "a.b")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		names := strings.Split(path, ".")
		value, ok := jsonField([]byte(text), names)
		if ok && (len(value) == 0 || !strings.Contains(text, string(value))) {
			t.Fatalf("%q in %q: %q", path, text, value)
		}
		o := order{keys: []key{{path: names}}, eol: '\n', tab: -1}
		o.prepare()
		o.appendKey(nil, []byte(text))
	})
}

// largeInput has n lines of few keys, each line of them different.
func largeInput(n int) []byte {
	r := rand.New(rand.NewPCG(4, 4))
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "%d,%x,%d\n", r.IntN(50), r.Uint64()>>(8*r.IntN(8)), i)
	}
	return b.Bytes()
}

// TestLarge compares the output with GNU sort's for an input of many blocks and runs: lines with equal keys
// keep the order of the input, or the first of them stays, no matter which writer had them.
func TestLarge(t *testing.T) {
	gnu(t)
	in := largeInput(60_000)
	dir := t.TempDir()
	for _, line := range []string{"", "-r", "-s -t, -k1,1n", "-s -t, -k1,1nr", "-u -t, -k1,1", "-u -t, -k1,1nr", "-u -t, -k2,2", "-t, -k2,2", "-t, -k2,2 -r", "-u", "-ur", "-s -t, -k2.1,2.1"} {
		args := strings.Fields(line)
		want := runGNU(t, dir, args, in)
		for _, more := range [][]string{{"-S1M", "--parallel=3"}, {"-S1M", "--parallel=2", "--compress"}, {"-S100M", "--parallel=3"}, {"-S1M", "--parallel=1"}} {
			got := runOurs(t, "", append(slices.Clone(args), more...), in)
			if got.status != 0 || got.stdout != want.stdout {
				t.Errorf("sort %s %q: %d %s", line, more, got.status, got.stderr)
				reportDifference(t, got.stdout, want.stdout)
			}
		}
	}
}

// TestLargeMerge compares a merge of files of many blocks with GNU sort's, and a check of its result.
func TestLargeMerge(t *testing.T) {
	gnu(t)
	t.Chdir(t.TempDir())
	in := largeInput(60_000)
	for _, line := range []string{"", "-r", "-s -t, -k1,1n", "-u -t, -k1,1n", "-t, -k2,2r -k1,1n", "-u"} {
		args := strings.Fields(line)
		var files []string
		for i := range 3 {
			part := runGNU(t, "", args, in[i*len(in)/4:(i+2)*len(in)/4]) // parts overlap
			files = append(files, fmt.Sprint("part", i))
			if err := os.WriteFile(files[i], []byte(part.stdout), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		merge := slices.Concat(args, []string{"-m"}, files)
		want, got := runGNU(t, "", merge, nil), runOurs(t, "", merge, nil)
		if got.status != 0 || got.stdout != want.stdout {
			t.Errorf("sort %q: %d %s", merge, got.status, got.stderr)
			reportDifference(t, got.stdout, want.stdout)
		}
		if r := runOurs(t, "", append(args, "-c"), []byte(want.stdout)); r.status != 0 {
			t.Errorf("sort -c %s of sorted lines: %+v", line, r)
		}
	}
}

func reportDifference(t *testing.T, got, want string) {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Errorf("%d lines, want %d; line %d is %q, want %q", len(a), len(b), i, a[i], b[i])
			return
		}
	}
	t.Errorf("%d lines, want %d", len(a), len(b))
}

// TestTooLong: a line that is longer than a quarter of the buffer is an error that names both sizes,
// for a line that no block holds and for one that a block holds.
func TestTooLong(t *testing.T) {
	for _, n := range []int{300 << 10, 3 << 20} {
		in := append(largeInput(10), bytes.Repeat([]byte("x"), n)...)
		r := runOurs(t, "", []string{"-S1M"}, in)
		if r.status != 2 || r.stdout != "" || !strings.Contains(r.stderr, "262144") {
			t.Errorf("%d bytes: %d %.80q %s", n, r.status, r.stdout, r.stderr)
		}
		if r := runOurs(t, "", []string{"-S16M"}, in); r.status != 0 {
			t.Errorf("%d bytes: %d %s", n, r.status, r.stderr)
		}
	}
}

// TestManyInputs: a merge of more files than may be open at once, or than --batch-size says, has the
// same result.
func TestManyInputs(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"-m", "-n"}
	var want strings.Builder
	for i := range 40 {
		name := fmt.Sprint("in", i)
		if err := os.WriteFile(name, fmt.Appendf(nil, "%d\n%d\n", i, i+40), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	for i := range 80 {
		fmt.Fprintln(&want, i)
	}
	for _, batch := range []string{"--batch-size=2", "--batch-size=39", "--batch-size=40", ""} {
		line := slices.Clone(args)
		if batch != "" {
			line = append(line, batch)
		}
		if r := runOurs(t, "", line, nil); r.status != 0 || r.stdout != want.String() {
			t.Errorf("%s: %d %s %q", batch, r.status, r.stderr, r.stdout)
		}
	}
}
