// SPDX-License-Identifier: Apache-2.0

package avro_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/avro/ocf"

	"github.com/freehold-go/freehold/sink/encode"
	. "github.com/freehold-go/freehold/sink/encode/avro"
	"github.com/freehold-go/freehold/sink/encode/encodetest"
	"github.com/freehold-go/freehold/sink/internal/orders"
	"github.com/freehold-go/freehold/sink/record"
)

const schema = `{"type":"record","name":"Event","fields":[{"name":"type","type":["null","string"],"default":null},{"name":"n","type":"long"}]}`

var formats = map[string]Options{
	"envelope":    {Tombstones: encode.WriteTombstones},
	"small":       {Block: 100, Codec: "snappy", Envelope: []string{"offset", "value"}, Tombstones: encode.SkipTombstones},
	"text":        {Codec: "deflate", Text: true, Envelope: []string{"value", "key"}},
	"null":        {Codec: "null", Tombstones: encode.WriteTombstones},
	"schema":      {Schema: schema},
	"schema drop": {Schema: schema, DropUnknown: true, Codec: "deflate"},
}

func open(t testing.TB, o Options) encode.Format {
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestConformance(t *testing.T) {
	for name, o := range formats {
		t.Run(name, func(t *testing.T) { encodetest.Run(t, func() encode.Format { return open(t, o) }) })
	}
}

func FuzzSchema(f *testing.F) {
	encodetest.Fuzz(f, func() encode.Format { return open(f, formats["schema"]) })
}

// object writes records and lists those that are in the object.
func object(t *testing.T, o Options, records []record.Record) ([]byte, []record.Record) {
	var out bytes.Buffer
	var taken []record.Record
	f := open(t, o)
	e, err := f.Begin(&out)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Free()
	for i := range records {
		if f.Refuse(&records[i]) != nil {
			continue
		}
		if err := e.Append(&records[i]); err == nil {
			taken = append(taken, records[i])
		} else if bad := (*record.Bad)(nil); !errors.As(err, &bad) {
			t.Fatal(err)
		}
	}
	if err := e.End(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), taken
}

// A reader of Avro finds the records in envelopes.
func TestEnvelope(t *testing.T) {
	for _, codec := range []string{"null", "deflate", "snappy", "zstandard"} {
		data, taken := object(t, Options{Codec: codec, Block: 5000, Tombstones: encode.WriteTombstones}, encodetest.Records())
		r, err := ocf.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range taken {
			var got struct {
				Topic     string  `avro:"topic"`
				Partition int32   `avro:"partition"`
				Offset    int64   `avro:"offset"`
				Timestamp any     `avro:"timestamp"`
				Key       *[]byte `avro:"key"`
				Value     *[]byte `avro:"value"`
				Headers   []struct {
					Key   string  `avro:"key"`
					Value *[]byte `avro:"value"`
				} `avro:"headers"`
			}
			if err := r.Decode(&got); err != nil {
				t.Fatalf("%s: record %d: %v", codec, i, err)
			}
			if got.Topic != want.Topic || got.Partition != want.Partition || got.Offset != want.Offset || len(got.Headers) != len(want.Headers) || !equal(got.Key, want.Key) || !equal(got.Value, want.Value) {
				t.Errorf("%s: record %d is %+v, want %+v", codec, i, got, want)
			}
			for j, h := range got.Headers {
				if h.Key != want.Headers[j].Key || !equal(h.Value, want.Headers[j].Value) {
					t.Errorf("%s: header %d of record %d is %+v, want %+v", codec, j, i, h, want.Headers[j])
				}
			}
		}
		if err := r.Decode(new(any)); err != io.EOF {
			t.Errorf("%s: %v behind the last record", codec, err)
		}
	}
}

func equal(a *[]byte, b []byte) bool {
	return a == nil && b == nil || a != nil && b != nil && bytes.Equal(*a, b)
}

// Values become data of a schema.
func TestSchema(t *testing.T) {
	values := []string{`{"type":"a","n":1}`, `{"n":9007199254740993}`, `{"type":null,"n":-1}`, `{"type":"a"}`, `{"type":1,"n":1}`, `{"n":1.5}`, `[]`, `x`, `{"n":1,"more":2}`}
	var records []record.Record
	for i, v := range values {
		records = append(records, record.Record{Topic: "t", Offset: int64(i), Value: []byte(v)})
	}
	for _, drop := range []bool{false, true} {
		data, taken := object(t, Options{Schema: schema, DropUnknown: drop}, records)
		r, err := ocf.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		var got []any
		for range taken {
			var v any
			if err := r.Decode(&v); err != nil {
				t.Fatal(err)
			}
			got = append(got, v)
		}
		want := []any{map[string]any{"type": "a", "n": int64(1)}, map[string]any{"type": nil, "n": int64(9007199254740993)}, map[string]any{"type": nil, "n": int64(-1)}}
		if drop {
			want = append(want, map[string]any{"type": nil, "n": int64(1)})
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("drop %v: %v, want %v", drop, got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	for want, o := range map[string]Options{
		"choose zstandard": {Codec: "gzip"}, "choose up to 16 MiB": {Block: -1}, `the envelope has "x"`: {Envelope: []string{"x"}},
		"for objects without a schema": {Schema: schema, Text: true}, "the format avro: ": {Schema: "{"}, "choose bad, skip": {Tombstones: "x"},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: the error %v does not say %q", o, err, want)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	g := orders.New(1)
	records := make([]record.Record, 256)
	for i := range records {
		records[i] = record.Record{Topic: "t", Offset: int64(i), Timestamp: 1, Key: g.AppendKey(nil, i), Value: g.AppendValue(nil, i)}
	}
	for name, o := range map[string]Options{"envelope": {}, "schema": {Schema: strings.ReplaceAll(schema, `"n"`, `"timestamp"`), DropUnknown: true}} {
		b.Run(name, func(b *testing.B) {
			e, err := open(b, o).Begin(io.Discard)
			if err != nil {
				b.Fatal(err)
			}
			defer e.Free()
			i := 0
			for b.Loop() {
				if err := e.Append(&records[i%len(records)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}
