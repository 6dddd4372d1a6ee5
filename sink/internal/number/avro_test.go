// SPDX-License-Identifier: Apache-2.0

package number_test

import (
	"bytes"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/avro/ocf"

	"github.com/freehold-go/freehold/sink/encode/avro"
	"github.com/freehold-go/freehold/sink/record"
)

// avroTypes are types of Avro with what they make of a number: the value as the reader prints it, or nothing if the number is refused.
var avroTypes = map[string]func(s string) string{
	`"int"`:  func(s string) string { return integerOf(s, 32) },
	`"long"`: func(s string) string { return integerOf(s, 64) },
	`{"type":"long","logicalType":"timestamp-millis"}`: func(s string) string {
		n, ok := integer(s, 64)
		return printed(ok, time.UnixMilli(n).UTC())
	},
	`{"type":"long","logicalType":"timestamp-micros"}`: func(s string) string {
		n, ok := integer(s, 64)
		return printed(ok, time.UnixMicro(n).UTC())
	},
	`{"type":"int","logicalType":"date"}`: func(s string) string {
		n, ok := integer(s, 32)
		return printed(ok, time.Unix(n*86400, 0).UTC())
	},
	`{"type":"int","logicalType":"time-millis"}`: func(s string) string {
		n, ok := integer(s, 32)
		return printed(ok, time.Duration(n)*time.Millisecond)
	},
	`"double"`:          func(s string) string { return floatOf(s, 64) },
	`"float"`:           func(s string) string { return floatOf(s, 32) },
	`["null","double"]`: func(s string) string { return floatOf(s, 64) },
	`["null","long","float","double"]`: func(s string) string {
		return firstOf(integerOf(s, 64), floatOf(s, 32), floatOf(s, 64))
	},
	`["null","float","string"]`: func(s string) string { return floatOf(s, 32) },
	`"string"`:                  func(string) string { return "" },
	`"boolean"`:                 func(string) string { return "" },
	`{"type":"bytes","logicalType":"decimal","precision":20,"scale":3}`:                      func(s string) string { return decimalOf(s, 20, 3) },
	`{"type":"fixed","name":"f","size":16,"logicalType":"decimal","precision":38,"scale":0}`: func(s string) string { return decimalOf(s, 38, 0) },
	`["null",{"type":"bytes","logicalType":"decimal","precision":20,"scale":3},"double"]`: func(s string) string {
		return firstOf(decimalOf(s, 20, 3), floatOf(s, 64))
	},
}

// printed is a value as text, or nothing.
func printed(ok bool, v any) string {
	if !ok {
		return ""
	}
	return fmt.Sprint(v)
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

func integerOf(s string, bits uint) string {
	n, ok := integer(s, bits)
	return printed(ok, n)
}

// floatOf leaves the sign of zero out: math/big has none.
func floatOf(s string, bits int) string {
	f, ok := nearest(s, bits)
	return printed(ok, strconv.FormatFloat(f+0, 'e', -1, bits))
}

func decimalOf(s string, precision int64, scale int64) string {
	r := rat(s)
	unscaled := new(big.Rat).Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(scale), nil)))
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(precision), nil)
	return printed(unscaled.IsInt() && unscaled.Num().CmpAbs(limit) < 0, r.RatString())
}

// plainly is a value that the reader of Avro found, as text.
func plainly(v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v+0, 'e', -1, 64)
	case float32:
		return strconv.FormatFloat(float64(v)+0, 'e', -1, 32)
	case *big.Rat:
		return v.RatString()
	case big.Rat:
		return v.RatString()
	}
	return fmt.Sprint(v)
}

func TestAvro(t *testing.T) {
	for kind, of := range avroTypes {
		for _, s := range append(numbers, "1."+strings.Repeat("0", 100), "1e65000", "-0.000e1000000") {
			want := of(s)
			if got := inAvro(t, "n", kind, record.Record{Value: []byte(`{"n":` + s + `}`)}); got != want {
				t.Errorf("%.50s is %.50q as %s, want %.50q", s, got, kind, want)
			}
		}
	}
}

// A long text of a short number costs what its length costs: math/big never sees it.
func TestLongInAvro(t *testing.T) {
	zeros := strings.Repeat("0", 1<<20)
	for kind, want := range map[string]string{`"int"`: "-25", `"double"`: "-2.5e+01", `{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}`: "-25"} {
		for _, s := range []string{"-25" + zeros + "e-1048576", "-0." + zeros + "25e1048578", "-25." + zeros} {
			if got := inAvro(t, "n", kind, of(s)); got != want {
				t.Errorf("%s... is %q as %s, want %q", s[:10], got, kind, want)
			}
		}
	}
}

// inAvro is a field of a record in an object whose schema has a type for it, or nothing if the record is bad.
func inAvro(t testing.TB, name, kind string, r record.Record) string {
	t.Helper()
	format := must(avro.New(avro.Options{Schema: `{"type":"record","name":"R","fields":[{"name":"` + name + `","type":` + kind + `}]}`, DropUnknown: true, Codec: "null"}))
	data, taken := written(t, format, r)
	if !taken[0] {
		return ""
	}
	var got any
	if err := must(ocf.NewReader(bytes.NewReader(data))).Decode(&got); err != nil {
		t.Fatal(err)
	}
	return plainly(got.(map[string]any)[name])
}
