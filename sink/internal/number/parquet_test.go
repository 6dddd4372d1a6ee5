// SPDX-License-Identifier: Apache-2.0

package number_test

import (
	"bytes"
	"io"
	"math/big"
	"strconv"
	"strings"
	"testing"

	reader "github.com/parquet-go/parquet-go"

	"github.com/freehold-go/freehold/sink/encode/parquet"
)

// column is the values of the column n, nil for those that are null.
func column(t testing.TB, data []byte) (kind reader.Kind, values []reader.Value) {
	t.Helper()
	f := must(reader.OpenFile(bytes.NewReader(data), int64(len(data))))
	for _, group := range f.RowGroups() {
		rows := group.Rows()
		for {
			list := make([]reader.Row, 1)
			if n, err := rows.ReadRows(list); n == 0 {
				if err != io.EOF {
					t.Fatal(err)
				}
				break
			}
			values = append(values, list[0][0].Clone())
		}
		rows.Close()
	}
	return f.Schema().Fields()[0].Type().Kind(), values
}

// sameDouble reports whether a float is the nearest one of a number.
func sameDouble(f float64, s string) bool {
	want, ok := nearest(s, 64)
	return ok && f == want
}

func TestDeclaredColumns(t *testing.T) {
	for _, kind := range []string{"int64", "timestamp", "double", "json", "string", "bool"} {
		format := must(parquet.New(parquet.Options{Fields: []parquet.Field{{Path: "n", Type: kind}}}))
		for _, s := range numbers {
			data, taken := written(t, format, of(s))
			_, values := column(t, data)
			n, isInt := integer(s, 64)
			_, inRange := nearest(s, 64)
			want := map[string]bool{"int64": isInt, "timestamp": isInt, "double": inRange, "json": true}[kind]
			switch {
			case taken[0] != want || len(values) != map[bool]int{true: 1}[want]:
				t.Errorf("%s in a column of %s: taken is %v, want %v", s, kind, taken[0], want)
			case !want:
			case kind == "json" && string(values[0].ByteArray()) != s, kind == "double" && !sameDouble(values[0].Double(), s), strings.Contains("int64 timestamp", kind) && values[0].Int64() != n:
				t.Errorf("%s is %v in a column of %s", s, values[0], kind)
			}
			if _, taken := written(t, format, of(strconv.Quote(s))); taken[0] != strings.Contains("json string", kind) {
				t.Errorf("the string %q in a column of %s: taken is %v", s, kind, taken[0])
			}
		}
	}
}

// inferredKind is the type of a column whose first values are some numbers: int64 if they are integers, double if one is written with a point or an exponent and all
// of them come back, and JSON if there is no such type.
func inferredKind(list ...string) reader.Kind {
	ints, doubles, float := true, true, false
	for _, s := range list {
		_, isInt := integer(s, 64)
		ints, doubles, float = ints && isInt, doubles && kept(s), float || strings.ContainsAny(s, ".eE")
	}
	switch {
	case float && doubles:
		return reader.Double
	case ints:
		return reader.Int64
	}
	return reader.ByteArray
}

// holds reports whether a value of an inferred column has every digit of a number.
func holds(v reader.Value, s string) bool {
	switch v.Kind() {
	case reader.Int64:
		return new(big.Rat).SetInt64(v.Int64()).Cmp(rat(s)) == 0
	case reader.Double:
		return sameDouble(v.Double(), s) && kept(s)
	}
	return string(v.ByteArray()) == s
}

// All pairs of numbers, once as the values that a column is made of, and once with the second number after that.
func TestInferredColumns(t *testing.T) {
	both, first := must(parquet.New(parquet.Options{Infer: 2, Codec: "none"})), must(parquet.New(parquet.Options{Infer: 1, Codec: "none"}))
	for _, a := range numbers {
		for _, b := range numbers {
			data, taken := written(t, both, of(a), of(b))
			kind, values := column(t, data)
			if want := inferredKind(a, b); kind != want || !taken[0] || !taken[1] || !holds(values[0], a) || !holds(values[1], b) {
				t.Errorf("the numbers %s and %s are %v in a column of %v, want one of %v", a, b, values, kind, want)
			}
			data, taken = written(t, first, of(a), of(b))
			kind, values = column(t, data)
			_, fits := integer(b, 64)
			want := kind == reader.ByteArray || kind == reader.Int64 && fits || kind == reader.Double && kept(b)
			if kind != inferredKind(a) || taken[1] != want || !holds(values[0], a) || want && !holds(values[1], b) {
				t.Errorf("behind %s, which makes a column of %v, %s is taken: %v, want %v; the values are %v", a, kind, b, taken[1], want, values)
			}
		}
	}
}
