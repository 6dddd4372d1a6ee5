// SPDX-License-Identifier: Apache-2.0

//go:build go1.27 && (goexperiment.jsonv2 || go1.28)

package arenajson

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What changes in the tests of encoding/json/v2. Their shim has a function Unmarshal and a type SemanticError of its own.
var tableChangesV2 = []struct{ from, to string }{
	{`"encoding/json/internal`, `"json/std`},
	{`"internal/zstd"`, `"json/zstd"`},
	// Functions about encoding, streams of tokens, and what is inside encoding/json/v2.
	{`(?ms)^func (?:TestMarshal\w*|Benchmark\w*|TestUnmarshalInvalidNamespace|TestUnmarshalEOF|TestCoderBufferGrowth|TestUintSet|TestUnmarshalDecodeOptions|Fuzz\w+|TestFoldRune|TestBenchmarkUnmarshalUnknown|equalFold)\(.*?^\}\n`, ""},
	{`export\.Decoder\(`, "stateHere("},
	// The loop over the cases of TestUnmarshal.
	{`got := tt\.inVal\n`, "leaveOut(t, tt.opts)\n\t\t\tgot := tt.inVal\n"},
	{`!reflect\.DeepEqual\(gotErr, tt\.wantErr\)`, `!sameError(gotErr, tt.wantErr)`},
	// The loop over streams.
	{`jsontext\.NewDecoder\(strings\.NewReader\(tt\.in\)\)`, `newDecoderHere(strings.NewReader(tt.in))`},
	{`UnmarshalDecode\(d, &v\)`, `d.Decode(&v)`},
	{`!reflect\.DeepEqual\(err, tt\.err\)`, `!sameError(err, tt.err)`},
	// The loops over structs and tags.
	{`(?ms)(got, err := makeStructFields\(.*?)\n\t\t\}\)\n`, "checkFields(t, tt.in, tt.want, tt.wantErr)\n\t\t})\n"},
	{`(?ms)(fs := reflect\.TypeOf\(tt\.in\)\.Field\(0\).*?)\n\t\t\}\)\n`, "checkTag(t, tt.in, tt.wantOpts, tt.wantIgnored, tt.wantErr)\n\t\t})\n"},
}

// usedV2 keeps the imports of a copied test in use.
var usedV2 = map[string]string{
	"arshal_test.go": "io.EOF, math.Pi, jsonflags.AllowInvalidUTF8, internal.ErrCycle, strings.Repeat, bytes.Equal, net.IPv4",
	"fold_test.go":   "fmt.Sprint, reflect.TypeFor[int], unicode.MaxRune",
}

// TestV2StandardTables runs the decoding tests of encoding/json/v2, with their tables, on arenajson. It copies them from the Go distribution.
// The shim says which cases are left out, and why. Of the other tests that decode, TestUnmarshalInvalidNamespace, TestUnmarshalDecodeOptions and
// TestCoderBufferGrowth need a jsontext.Decoder, TestUnmarshalEOF needs WithUnmarshalers, and TestUintSet and TestIntern are about what is inside.
func TestV2StandardTables(t *testing.T) {
	to := copyTables(t, "encoding/json/v2", "tables_v2")
	for _, name := range []string{"arshal_test.go", "fields_test.go", "fold_test.go"} {
		text := change(to.source(name), tableChangesV2)
		if used := usedV2[name]; used != "" {
			text += "\nvar _ = []any{" + used + "}\n"
		}
		to.write(name, text)
	}
	text := "package json\n\nimport (\n\t\"fmt\"\n\t\"time\"\n\t\"encoding/json/jsontext\"\n)\n\n"
	for _, f := range []string{`(?ms)^func len64\[.*?^\}\n`, `(?ms)^var arshalTestdata = .*?^\}\}\n`, `(?m)^type \w*[aA]rshaler\w* struct.*\n`, `(?ms)^func \(\*?\w*[aA]rshaler\w*\) .*?^\}\n`} {
		text += strings.Join(regexp.MustCompile(f).FindAllString(to.source("bench_test.go"), -1), "\n")
	}
	to.write("bench_test.go", text)
	for _, dir := range []string{"../internal", "../internal/jsonflags", "../internal/jsonopts", "../internal/jsonwire", "../internal/jsontest", "../../../internal/zstd"} {
		files, err := filepath.Glob(filepath.Join(to.from, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		target := strings.NewReplacer("../../../internal/zstd", "zstd", "../internal", "std").Replace(dir)
		for _, f := range files {
			if name := filepath.Base(f); !strings.HasSuffix(name, "_test.go") {
				to.write(filepath.Join(target, name), change(to.source(filepath.Join(dir, name)), tableChangesV2))
			}
		}
	}
	documents, err := filepath.Glob(filepath.Join(to.from, "../internal/jsontest/_embed/*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range documents {
		name := filepath.Base(f)
		to.write(filepath.Join("std/jsontest/_embed", name), to.source(filepath.Join("../internal/jsontest/_embed", name)))
	}
	to.run(8, 445)
}
