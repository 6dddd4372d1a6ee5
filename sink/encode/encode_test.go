// SPDX-License-Identifier: Apache-2.0

package encode_test

import (
	"bytes"
	stdcsv "encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	. "github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/encode/encodetest"
	"github.com/freehold-go/freehold/sink/internal/orders"
	"github.com/freehold-go/freehold/sink/internal/race"
	"github.com/freehold-go/freehold/sink/record"
)

func must(f Format, err error) Format {
	if err != nil {
		panic(err)
	}
	return f
}

// formats are configurations of all formats of the package.
var formats = map[string]func() Format{
	"lines":       func() Format { return must(Lines(LinesOptions{})) },
	"lines kept":  func() Format { return must(Lines(LinesOptions{Newlines: KeepNewlines, Tombstones: WriteTombstones})) },
	"lines space": func() Format { return must(Lines(LinesOptions{Newlines: SpaceNewlines, Tombstones: SkipTombstones})) },
	"varint":      func() Format { return must(Delimited(DelimitedOptions{Tombstones: WriteTombstones})) },
	"uint32":      func() Format { return must(Delimited(DelimitedOptions{Length: "uint32"})) },
	"jsonl":       func() Format { return must(JSONLines(JSONLinesOptions{})) },
	"jsonl trust": func() Format { return must(JSONLines(JSONLinesOptions{Unchecked: true, Tombstones: WriteTombstones})) },
	"envelope": func() Format {
		return must(JSONLines(JSONLinesOptions{Envelope: Columns, Tombstones: WriteTombstones}))
	},
	"envelope text": func() Format {
		return must(JSONLines(JSONLinesOptions{Envelope: []string{"value", "headers"}, Value: "string"}))
	},
	"envelope base64": func() Format {
		return must(JSONLines(JSONLinesOptions{Envelope: Columns, Value: "base64", Key: "base64", Tombstones: WriteTombstones}))
	},
	"rejected":     Rejected,
	"envelope key": func() Format { return must(JSONLines(JSONLinesOptions{Envelope: []string{"key"}, Key: "json"})) },
	"csv": func() Format {
		return must(CSV(CSVOptions{Columns: []string{"topic", "partition", "offset", "timestamp", "key", "value", "header.h"}, Tombstones: WriteTombstones}))
	},
	"csv fields": func() Format {
		return must(CSV(CSVOptions{Columns: []string{"value.type", "value.n"}, NoHeader: true}))
	},
	"csv checked": func() Format {
		return must(CSV(CSVOptions{Columns: []string{"value.type", "value.type.a"}, Checked: true}))
	},
}

func TestConformance(t *testing.T) {
	for name, open := range formats {
		t.Run(name, func(t *testing.T) { encodetest.Run(t, open) })
	}
}

func FuzzJSONLines(f *testing.F) { encodetest.Fuzz(f, formats["envelope"]) }
func FuzzCSV(f *testing.F)       { encodetest.Fuzz(f, formats["csv fields"]) }

// encode writes records and lists what Append returned.
func encode(t testing.TB, f Format, records ...record.Record) (string, []error) {
	t.Helper()
	var out bytes.Buffer
	e, err := f.Begin(&out)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Free()
	var errs []error
	for i := range records {
		err := f.Refuse(&records[i])
		if err == nil {
			err = e.Append(&records[i])
		}
		errs = append(errs, err)
	}
	if err := e.End(); err != nil {
		t.Fatal(err)
	}
	return out.String(), errs
}

func TestBytes(t *testing.T) {
	rec := func(value string) record.Record {
		return record.Record{Topic: "t", Partition: 2, Offset: 7, Timestamp: 5, Key: []byte("k\n"), Value: []byte(value), Headers: []record.Header{{Key: "h", Value: []byte("v\"")}, {Key: "h"}}}
	}
	tombstone := record.Record{Topic: "t", Timestamp: -1}
	for i, e := range []struct {
		f         Format
		r         record.Record
		want, err string
	}{
		{formats["lines"](), rec("abc"), "abc\n", ""}, {formats["lines"](), rec(""), "\n", ""}, {formats["lines"](), rec("a\nb"), "", "has a line feed"}, {formats["lines"](), tombstone, "", "has no value"},
		{formats["lines kept"](), rec("a\nb"), "a\nb\n", ""}, {formats["lines kept"](), tombstone, "\n", ""}, {formats["lines space"](), rec("\na\nb\n"), " a b \n", ""}, {formats["lines space"](), tombstone, "", "leaves the record out"},
		{formats["varint"](), rec(strings.Repeat("a", 300)), "\xac\x02" + strings.Repeat("a", 300), ""}, {formats["varint"](), tombstone, "\x00", ""}, {formats["uint32"](), rec("abc"), "\x00\x00\x00\x03abc", ""},
		{formats["jsonl"](), rec("{\"a\":\r\n [1 ,\n2]}\n"), "{\"a\": [1 ,2]}\n", ""}, {formats["jsonl"](), rec("{x"), "", "no JSON from byte 2"}, {formats["jsonl"](), rec(""), "", "no JSON"}, {formats["jsonl"](), rec("\"\n\""), "", "no JSON"},
		{formats["jsonl trust"](), rec("{x"), "{x\n", ""}, {formats["jsonl trust"](), rec("{x\n"), "", "no JSON"}, {formats["jsonl trust"](), tombstone, "null\n", ""},
		{formats["envelope"](), rec(`{"a":1}`), `{"topic":"t","partition":2,"offset":7,"timestamp":5,"key":"k\n","headers":[{"key":"h","value":"v\""},{"key":"h","value":null}],"value":{"a":1}}` + "\n", ""},
		{formats["envelope"](), tombstone, `{"topic":"t","partition":0,"offset":0,"timestamp":null,"key":null,"headers":[]}` + "\n", ""},
		{formats["envelope"](), rec("null"), `{"topic":"t","partition":2,"offset":7,"timestamp":5,"key":"k\n","headers":[{"key":"h","value":"v\""},{"key":"h","value":null}],"value":null}` + "\n", ""},
		{formats["envelope base64"](), tombstone, `{"topic":"t","partition":0,"offset":0,"timestamp":null,"key":null,"headers":[],"value":null}` + "\n", ""},
		{formats["envelope text"](), rec("\x01é\\"), `{"value":"\u0001é\\","headers":[{"key":"h","value":"v\""},{"key":"h","value":null}]}` + "\n", ""}, {formats["envelope text"](), rec("\xff"), "", "not UTF-8"},
		{formats["envelope key"](), rec("1"), "", "no JSON"}, {formats["envelope key"](), record.Record{Value: []byte("1")}, "{}\n", ""},
		{formats["csv"](), rec(`a "b",`), "topic,partition,offset,timestamp,key,value,header.h\r\nt,2,7,5,\"k\n\",\"a \"\"b\"\",\",\r\n", ""}, {formats["csv"](), tombstone, "topic,partition,offset,timestamp,key,value,header.h\r\nt,0,0,,,,\r\n", ""},
		{formats["csv fields"](), rec(`{"type":"","n":1.50}`), "\"\",1.50\r\n", ""}, {formats["csv fields"](), rec(`{"type":null,"n":{"a":[1,"x"]}}`), ",\"{\"\"a\"\":[1,\"\"x\"\"]}\"\r\n", ""}, {formats["csv fields"](), rec(`x`), "", "no JSON"},
		{formats["csv checked"](), rec(`{"type":1}x`), "type,type.a\r\n", "no JSON"},
	} {
		got, errs := encode(t, e.f, e.r)
		if got != e.want || (errs[0] == nil) != (e.err == "") || errs[0] != nil && !strings.Contains(errs[0].Error(), e.err) {
			t.Errorf("case %d, %s: %q, %v; want %q, %q", i, e.f.Name(), got, errs[0], e.want, e.err)
		}
	}
}

// Readers of the standard library read JSON Lines and CSV.
func TestReaders(t *testing.T) {
	records := encodetest.Records()
	out, errs := encode(t, formats["envelope base64"](), records...)
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil && !errors.As(err, new(*record.Bad)) }); i >= 0 {
		t.Fatal(errs[i])
	}
	n := 0
	for i := range records {
		if errs[i] != nil {
			continue
		}
		var got struct {
			Offset     int64
			Key, Value []byte
		}
		if err := json.Unmarshal([]byte(lines[n]), &got); err != nil || got.Offset != records[i].Offset || !bytes.Equal(got.Value, records[i].Value) || !bytes.Equal(got.Key, records[i].Key) {
			t.Errorf("record %d is %.200s, %v", i, lines[n], err)
		}
		n++
	}
	if n != len(lines) {
		t.Errorf("%d lines of %d records", len(lines), n)
	}
	out, errs = encode(t, formats["csv"](), records...)
	r := stdcsv.NewReader(strings.NewReader(out))
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows = rows[1:]
	for i := range records {
		if errs[i] != nil {
			continue
		}
		want := strings.ReplaceAll(string(records[i].Value), "\r\n", "\n") // As the reader does.
		if got := rows[0][5]; got != want {
			t.Errorf("record %d is %.100q, want %.100q", i, got, want)
		}
		rows = rows[1:]
	}
}

func TestOptions(t *testing.T) {
	for want, open := range map[string]func() (Format, error){
		"choose bad, space or keep":  func() (Format, error) { return Lines(LinesOptions{Newlines: "x"}) },
		"choose bad, skip or write":  func() (Format, error) { return Lines(LinesOptions{Tombstones: "x"}) },
		"choose varint or uint32":    func() (Format, error) { return Delimited(DelimitedOptions{Length: "x"}) },
		`the envelope has "x"`:       func() (Format, error) { return JSONLines(JSONLinesOptions{Envelope: []string{"x"}}) },
		`the envelope has "key"`:     func() (Format, error) { return JSONLines(JSONLinesOptions{Envelope: []string{"key", "key"}}) },
		"but there is none":          func() (Format, error) { return JSONLines(JSONLinesOptions{Value: "base64"}) },
		"choose json, string":        func() (Format, error) { return JSONLines(JSONLinesOptions{Envelope: Columns, Key: "x"}) },
		`no column is called "x"`:    func() (Format, error) { return CSV(CSVOptions{Columns: []string{"x"}}) },
		"there are no columns":       func() (Format, error) { return CSV(CSVOptions{}) },
		"2 names for 1 columns":      func() (Format, error) { return CSV(CSVOptions{Columns: []string{"key"}, Names: []string{"a", "b"}}) },
		"the path of a field is emp": func() (Format, error) { return CSV(CSVOptions{Columns: []string{"value."}}) },
	} {
		if _, err := open(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error %v does not say %q", err, want)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector drops what sync.Pool keeps")
	}
	g := orders.New(1)
	records := make([]record.Record, 64)
	for i := range records {
		records[i] = record.Record{Topic: "t", Offset: int64(i), Timestamp: 1, Key: g.AppendKey(nil, i), Value: g.AppendValue(nil, i), Headers: []record.Header{{Key: "h", Value: []byte("v")}}}
	}
	for name, open := range formats {
		if name == "envelope key" {
			continue // The keys are no JSON, and a reason is made.
		}
		e, err := open().Begin(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		if n := testing.AllocsPerRun(640, func() {
			if err := e.Append(&records[i%len(records)]); err != nil {
				t.Fatal(name, err)
			}
			i++
		}); n != 0 {
			t.Errorf("%s: %v allocations per record", name, n)
		}
		e.Free()
	}
}

func BenchmarkAppend(b *testing.B) {
	g := orders.New(1)
	records := make([]record.Record, 256)
	for i := range records {
		records[i] = record.Record{Topic: "t", Offset: int64(i), Timestamp: 1, Key: g.AppendKey(nil, i), Value: g.AppendValue(nil, i)}
	}
	for _, name := range []string{"lines", "varint", "jsonl", "jsonl trust", "envelope", "envelope base64", "csv", "csv fields"} {
		b.Run(name, func(b *testing.B) {
			e, i := (Encoder)(nil), 0
			e, _ = formats[name]().Begin(io.Discard)
			defer e.Free()
			for b.Loop() {
				if err := e.Append(&records[i%len(records)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}
