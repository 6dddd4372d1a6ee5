// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var updateMeaning = flag.Bool("update-meaning", false, "write testdata/meaning127.txt anew; only with Go 1.27, whose encoding/json TestSame and TestV2Same compare with")

// canonical writes a value so that equal values of different builds are written alike.
func canonical(b *strings.Builder, v reflect.Value, depth int) {
	if depth == 0 || !v.IsValid() {
		b.WriteByte('_')
		return
	}
	if v.CanInterface() {
		switch x := v.Interface().(type) {
		case time.Time:
			b.WriteString(x.Format(time.RFC3339Nano))
			return
		case netip.Addr:
			b.WriteString(x.String())
			return
		case Value:
			b.WriteString(x.String())
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.Kind() == reflect.Interface && !v.IsNil() {
			fmt.Fprintf(b, "(%v)", strings.Replace(v.Elem().Type().String(), "json.RawMessage", "jsontext.Value", 1))
		}
		canonical(b, v.Elem(), depth-1)
	case reflect.Struct:
		for i := range v.NumField() {
			b.WriteByte(';')
			canonical(b, v.Field(i), depth-1)
		}
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.IsNil() {
			b.WriteString("nil")
		}
		for i := range v.Len() {
			b.WriteByte(',')
			canonical(b, v.Index(i), depth-1)
		}
	case reflect.Map:
		var all []string
		for k, e := range v.Seq2() {
			var one strings.Builder
			canonical(&one, k, depth-1)
			one.WriteByte(':')
			canonical(&one, e, depth-1)
			all = append(all, one.String())
		}
		slices.Sort(all)
		fmt.Fprintf(b, "%t%q", v.IsNil(), all)
	case reflect.Func, reflect.Chan:
		fmt.Fprint(b, v.IsNil())
	default:
		fmt.Fprint(b, v)
	}
}

// canonicalError is what an error says in every build.
func canonicalError(err error, v2 bool) string {
	switch e := err.(type) {
	case nil:
		return "none"
	case *json.UnmarshalTypeError:
		return strings.ReplaceAll(fmt.Sprint(e.Value, e.Type, e.Offset, e.Struct, e.Field), "json.RawMessage", "jsontext.Value")
	case *json.SyntaxError:
		return "syntax"
	}
	text := strings.NewReplacer("unable to unmarshal", "cannot unmarshal", "json.RawMessage", "jsontext.Value").Replace(err.Error())
	if v2 && strings.HasPrefix(text, "jsontext: ") && !strings.Contains(text, "duplicate") || strings.Contains(text, "version 2 refuses") {
		return "syntax"
	}
	return text
}

// TestMeaningOf127 compares what all documents mean to all samples with what they mean to Go 1.27, where TestSame and TestV2Same compare
// with encoding/json itself: testdata/meaning127.txt has a sum for each document and version.
func TestMeaningOf127(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	const file = "testdata/meaning127.txt"
	fills := slices.Concat(samples(), edges(), samplesV2())
	var lines []string
	for _, doc := range slices.Concat(documents, edgeDocuments, documentsV2) {
		if len(doc) > 5000 {
			continue
		}
		sums := [2]string{}
		for k, o := range []Options{{}, {V2: true}} {
			h := fnv.New64a()
			for _, fill := range fills {
				v := fill()
				err := UnmarshalInto(nil, []byte(doc), v, o)
				var b strings.Builder
				canonical(&b, reflect.ValueOf(v), 40)
				if text := canonicalError(err, o.V2); o.V2 && text == "syntax" {
					b.Reset() // What stands there depends on where the error is.
					b.WriteString(text)
				} else {
					b.WriteString(text)
				}
				fmt.Fprintln(h, b.String())
			}
			sums[k] = fmt.Sprintf("%016x", h.Sum64())
		}
		lines = append(lines, fmt.Sprintf("%s %s %q", sums[0], sums[1], doc))
	}
	if *updateMeaning {
		if !standardIs127 {
			t.Fatal("only with Go 1.27")
		}
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(want) != len(lines) {
		t.Fatalf("%d lines, want %d: after a change of the documents run go test ./arenajson -run TestMeaningOf127 -update-meaning", len(lines), len(want))
	}
	for i := range lines {
		if lines[i] != want[i] {
			t.Errorf("means another value or error:\n got %s\nwant %s", lines[i], want[i])
		}
	}
}
