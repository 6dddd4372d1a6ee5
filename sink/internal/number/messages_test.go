// SPDX-License-Identifier: Apache-2.0

package number_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/freehold-go/freehold/sink/encode/parquet"
	"github.com/freehold-go/freehold/sink/partition"
	"github.com/freehold-go/freehold/sink/protobuf"
	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/schema"
)

// message is a message with a number as an int64, as a value of a map, and as a double.
func message(n int64, f float64) []byte {
	b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(n))
	entry := protowire.AppendVarint(protowire.AppendTag([]byte("\x0a\x01x"), 2, protowire.VarintType), uint64(n))
	b = protowire.AppendBytes(protowire.AppendTag(b, 2, protowire.BytesType), entry)
	return protowire.AppendFixed64(protowire.AppendTag(b, 3, protowire.Fixed64Type), math.Float64bits(f))
}

// The JSON of messages has integers of 64 bits between quotes, and strings for what is no number of JSON. Columns of numbers take both.
func TestMessages(t *testing.T) {
	set := must(schema.Compile("a.proto", map[string]string{"a.proto": `syntax = "proto3"; message M { optional int64 n = 1; map<string, int64> m = 2; optional double d = 3; string s = 4; }`}, protobuf.Options{}))
	of := must(set.Type("M"))
	byTime := must(partition.Time(partition.TimeOptions{Field: "n", Layout: "2006-01-02T15-04-05.000", Earliest: time.UnixMilli(math.MinInt64 / 2), OutOfRange: "far"}))
	byMap := must(partition.Field(partition.FieldOptions{Field: "m.x"}))
	floats := []float64{0, 1.5, 0.1, 1e21, -1e-7, math.MaxFloat64, 5e-324, 9007199254740993, math.NaN(), math.Inf(1), math.Inf(-1)}
	for _, s := range numbers {
		n, ok := integer(s, 64)
		if !ok {
			continue
		}
		for _, f := range floats {
			r := record.Record{Value: message(n, f), Schema: of}
			for path, kind := range map[string]string{"n": "int64", "m.x": "int64", "d": "double"} {
				data, taken := written(t, must(parquet.New(parquet.Options{Fields: []parquet.Field{{Path: path, Type: kind}}})), r)
				if _, values := column(t, data); !taken[0] || kind == "int64" && values[0].Int64() != n || kind == "double" && values[0].Double() != f && !math.IsNaN(f+values[0].Double()) {
					t.Errorf("%d and %v are %v in a column of %s with %s", n, f, values, kind, path)
				}
			}
			for name, want := range map[string]string{"n": strconv.FormatInt(n, 10), "d": strconv.FormatFloat(f, 'e', -1, 64)} {
				kind := map[string]string{"n": `"long"`, "d": `"double"`}[name]
				if got := inAvro(t, name, kind, r); got != want {
					t.Errorf("%d and %v are %s in Avro's %s, want %s", n, f, got, kind, want)
				}
			}
			if got := must(byMap.Group(nil, &r)); string(got) != fmt.Sprintf("m.x=%d", n) && string(got) != fmt.Sprintf("x=%d", n) {
				t.Errorf("%d is in the group %s", n, got)
			}
		}
		r := record.Record{Value: message(n, 0), Schema: of, Timestamp: -1}
		want := time.UnixMilli(n).UTC().Format("2006-01-02T15-04-05.000")
		if got := must(byTime.Group(nil, &r)); n > math.MinInt64/2 && n < 7258118400000 && string(got) != want || n >= 7258118400000 && string(got) != "far" {
			t.Errorf("%d as a time is in %s, want %s", n, got, want)
		}
	}
	word := record.Record{Value: []byte("\x22\x03abc"), Schema: of}
	for _, kind := range []string{"int64", "double", "timestamp"} {
		if _, taken := written(t, must(parquet.New(parquet.Options{Fields: []parquet.Field{{Path: "s", Type: kind}}})), word); taken[0] {
			t.Errorf("a column of %s took a word", kind)
		}
	}
	if got := inAvro(t, "s", `"long"`, word); got != "" {
		t.Errorf("Avro's long took a word: %s", got)
	}
}
