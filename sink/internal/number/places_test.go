// SPDX-License-Identifier: Apache-2.0

package number_test

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/partition"
	"github.com/freehold-go/freehold/sink/record"
)

// must is a result without an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// of is a record with the text of JSON in the field n.
func of(text string) record.Record {
	return record.Record{Topic: "t", Timestamp: -1, Value: []byte(`{"n":` + text + `}`)}
}

// written is an object with records, and which of them it took.
func written(t testing.TB, f encode.Format, records ...record.Record) (data []byte, taken []bool) {
	t.Helper()
	var out bytes.Buffer
	e := must(f.Begin(&out))
	defer e.Free()
	for i := range records {
		err := e.Append(&records[i])
		if bad := (*record.Bad)(nil); err != nil && !errors.As(err, &bad) {
			t.Fatal(err)
		}
		taken = append(taken, err == nil)
	}
	if err := e.End(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), taken
}

func TestTimes(t *testing.T) {
	const layout = "2006-01-02T15-04-05.000"
	o := partition.TimeOptions{Layout: layout, Field: "n", Earliest: time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), NoTime: "none", OutOfRange: "far"}
	latest := time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() - 1
	for unit, factor := range map[string]int64{"ms": 1, "s": 1000, "rfc3339": 0} {
		o.Unit = unit
		p := must(partition.Time(o))
		for _, s := range numbers {
			ms := floor(s, factor)
			want := time.UnixMilli(ms).UTC().Format(layout)
			switch {
			case factor == 0:
				want = "none"
			case ms < o.Earliest.UnixMilli() || ms > latest:
				want = "far"
			}
			for _, text := range []string{s, strconv.Quote(s)} {
				r := of(text)
				if got := must(p.Group(nil, &r)); string(got) != want {
					t.Errorf("%s as a time in %s is in %s, want %s", text, unit, got, want)
				}
			}
		}
	}
}

// Where numbers stay as they are written.
func TestAsWritten(t *testing.T) {
	field := must(partition.Field(partition.FieldOptions{Field: "n"}))
	csv := must(encode.CSV(encode.CSVOptions{Columns: []string{"value.n"}, NoHeader: true}))
	for _, s := range numbers {
		r := of(s)
		if got, want := must(field.Group(nil, &r)), "n="+string(partition.AppendEscaped(nil, []byte(s))); string(got) != want {
			t.Errorf("%s is in the group %s, want %s", s, got, want)
		}
		if got, _ := written(t, csv, r); string(got) != s+"\r\n" {
			t.Errorf("%s is %q in CSV", s, got)
		}
		for name, o := range map[string]encode.JSONLinesOptions{"lines": {}, "an envelope": {Envelope: []string{"value"}}} {
			if got, _ := written(t, must(encode.JSONLines(o)), r); !strings.Contains(string(got), `{"n":`+s+`}`) {
				t.Errorf("%s is %q in JSON with %s", s, got, name)
			}
		}
	}
}
