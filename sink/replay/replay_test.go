// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/sink/compress"
	"github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/store"
	"github.com/freehold-go/freehold/sink/store/memstore"
)

// put writes records as an object.
func put(t *testing.T, s store.Store, key string, f encode.Format, codec compress.Codec, epoch int64, records ...record.Record) {
	t.Helper()
	var plain, content bytes.Buffer
	e, err := f.Begin(&plain)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Free()
	for i := range records {
		if err := e.Append(&records[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.End(); err != nil {
		t.Fatal(err)
	}
	z, err := codec.New(0)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Free()
	// Two members, as the sink writes them.
	half := plain.Len() / 2
	for _, part := range [][]byte{plain.Bytes()[:half], plain.Bytes()[half:]} {
		if err := z.Member(&content, part); err != nil {
			t.Fatal(err)
		}
	}
	n := int64(len(records))
	about := store.About{Topic: "t", Partition: 3, FirstOffset: epoch, LastOffset: epoch + n - 1, Records: n, EpochFirst: epoch, EpochNext: epoch + n, Format: f.Name() + " " + codec.Version()}
	if err := s.Put(t.Context(), key, store.Bytes(content.Bytes()), about); err != nil {
		t.Fatal(err)
	}
}

// read replays and copies the records.
func read(t *testing.T, o Options) ([]record.Record, Progress, error) {
	t.Helper()
	var all []record.Record
	flushed := int64(0)
	p, err := Run(t.Context(), o, func(r *record.Record) error {
		c := *r
		c.Key, c.Value, c.Headers = bytes.Clone(r.Key), bytes.Clone(r.Value), slices.Clone(r.Headers)
		all = append(all, c)
		return nil
	}, func() error { flushed++; return nil })
	if flushed != p.Objects {
		t.Errorf("%d objects, %d flushes", p.Objects, flushed)
	}
	return all, p, err
}

// TestRoundTrip writes records in each format that keeps them, with each codec, and reads them.
func TestRoundTrip(t *testing.T) {
	long := append(append([]byte(`"`), bytes.Repeat([]byte("x"), 300<<10)...), '"')
	all := []record.Record{
		{Topic: "t", Partition: 3, Offset: 7, Timestamp: 1000, Key: []byte("k"), Value: []byte(`{"a":[1,2]}`), Headers: []record.Header{{Key: "h", Value: []byte("v")}, {Key: "h"}}},
		{Topic: "t", Partition: 3, Offset: 8, Timestamp: -1, Value: long},
		{Topic: "t", Partition: 3, Offset: 11, Timestamp: 0, Key: []byte{}, Value: []byte(`"ä"`)},
		{Topic: "t", Partition: 3, Offset: 12, Timestamp: 5, Key: []byte("gone")},
		{Topic: "t", Partition: 3, Offset: 13, Timestamp: 5, Key: []byte("null"), Value: []byte("null")},
		{Topic: "t", Partition: 3, Offset: 14, Timestamp: 5, Value: []byte(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000))}, // No JSON is deeper.
	}
	values := make([]record.Record, len(all))
	for i, r := range all {
		values[i] = record.Record{Topic: "t", Partition: 3, Offset: -1, Timestamp: -1, Value: r.Value}
	}
	empty := slices.Clone(values) // where a format writes a tombstone like an empty value
	empty[3].Value = []byte{}
	null := slices.Clone(values) // or like the value null
	null[3].Value = []byte("null")
	envelope := encode.JSONLinesOptions{Envelope: encode.Columns, Tombstones: encode.WriteTombstones}
	binary := encode.JSONLinesOptions{Envelope: encode.Columns, Key: "base64", Value: "base64", Tombstones: encode.WriteTombstones}
	bare := encode.JSONLinesOptions{Tombstones: encode.WriteTombstones}
	for _, c := range []struct {
		name    string
		open    func() (encode.Format, error)
		options encode.JSONLinesOptions
		want    []record.Record
	}{
		{"lines", func() (encode.Format, error) {
			return encode.Lines(encode.LinesOptions{Tombstones: encode.WriteTombstones})
		}, bare, empty},
		{"varint", func() (encode.Format, error) {
			return encode.Delimited(encode.DelimitedOptions{Tombstones: encode.WriteTombstones})
		}, bare, empty},
		{"uint32", func() (encode.Format, error) {
			return encode.Delimited(encode.DelimitedOptions{Length: "uint32", Tombstones: encode.WriteTombstones})
		}, bare, empty},
		{"jsonl", func() (encode.Format, error) { return encode.JSONLines(bare) }, bare, null},
		{"envelope", func() (encode.Format, error) { return encode.JSONLines(envelope) }, envelope, all},
		{"base64", func() (encode.Format, error) { return encode.JSONLines(binary) }, binary, all},
	} {
		for _, name := range compress.Names() {
			t.Run(c.name+" "+name, func(t *testing.T) {
				codec, err := compress.Parse(name, 0)
				if err != nil {
					t.Fatal(err)
				}
				f, err := c.open()
				if err != nil {
					t.Fatal(err)
				}
				s := memstore.New()
				defer s.Close()
				put(t, s, "k", f, codec, 7, all...)
				got, _, err := read(t, Options{Store: s, Topic: "t", Format: c.options})
				if err != nil {
					t.Fatal(err)
				}
				for i := range got {
					if !reflect.DeepEqual(got[i], c.want[i]) {
						t.Errorf("record %d is %.200v, want %.200v", i, fmt.Sprintf("%+v", got[i]), fmt.Sprintf("%+v", c.want[i]))
					}
				}
				if len(got) != len(c.want) {
					t.Errorf("%d records, want %d", len(got), len(c.want))
				}
			})
		}
	}
}

// TestOrderAndBounds: objects come in the order of epochs; bounds and After leave objects out.
func TestOrderAndBounds(t *testing.T) {
	s := memstore.New()
	defer s.Close()
	f, err := encode.Lines(encode.LinesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	none, err := compress.Parse("none", 0)
	if err != nil {
		t.Fatal(err)
	}
	for key, epoch := range map[string]int64{"a": 20, "b": 0, "c": 10, "d": 30} {
		put(t, s, key, f, none, epoch, record.Record{Value: fmt.Append(nil, epoch)}, record.Record{Value: []byte("-")})
	}
	if err := s.Put(t.Context(), "e", store.Bytes([]byte("another program's")), store.About{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, "0 - 10 - 20 - 30 -"},
		{Options{From: 12}, "20 - 30 -"},
		{Options{From: 11, To: 30}, "10 - 20 -"},
		{Options{After: "c"}, "20 - 30 -"},
	} {
		c.o.Store, c.o.Topic = s, "t"
		got, _, err := read(t, c.o)
		var parts []string
		for _, r := range got {
			parts = append(parts, string(r.Value))
		}
		if text := strings.Join(parts, " "); text != c.want || err != nil {
			t.Errorf("%+v: %s, %v; want %s", c.o, text, err, c.want)
		}
	}
	if _, _, err := read(t, Options{Store: s, Topic: "t", After: "z"}); err == nil || !strings.Contains(err.Error(), "no object z") {
		t.Errorf("After a key that is not there: %v", err)
	}
	// A record that cannot be sent ends the replay behind the objects before.
	failed := errors.New("refused")
	p, err := Run(t.Context(), Options{Store: s, Topic: "t"}, func(r *record.Record) error {
		if string(r.Value) == "20" {
			return failed
		}
		return nil
	}, func() error { return nil })
	if !errors.Is(err, failed) || p.Last != "c" || p.Objects != 2 {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestDamaged: what is no object of the format is an error, and not a record.
func TestDamaged(t *testing.T) {
	for name, c := range map[string]struct{ format, content, want string }{
		"no end":        {"lines/1", "a\nb", "the last line has no end"},
		"too few":       {"lines/1", "a\n", "it has 1 records, and its metadata says 2"},
		"length":        {"delimited-varint/1", "\x01a\xff\xff\xff\xff\xff\xff\xff\xff\x7fb", "ends within a record"},
		"cut length":    {"delimited-uint32/1", "\x00\x00\x00\x01a\x00\x00", "ends within a record"},
		"no envelope":   {"jsonl/1", "{\n", "no envelope"},
		"cut envelope":  {"jsonl/1", `{"value":"YQ=="` + "\n", "no envelope: the object ends within a record"},
		"no comma":      {"jsonl/1", `{"value":"YQ==" "key":"k"}` + "\n", "no envelope: a comma is missing"},
		"no colon":      {"jsonl/1", `{"value" "YQ=="}` + "\n", "no envelope: the object ends within a record"},
		"bad member":    {"jsonl/1", `{"value":[1}` + "\n", "no envelope: the member value is no JSON"},
		"two objects":   {"jsonl/1", `{"value":"YQ=="} {}` + "\n", "no envelope: something stands behind the object"},
		"empty name":    {"jsonl/1", `{,}` + "\n", "no envelope"},
		"cut name":      {"jsonl/1", `{"val` + "\n", "no envelope"},
		"other type":    {"jsonl/1", `{"value":1}` + "\n", "the value"},
		"no value":      {"jsonl/1", `{"key":"k"}` + "\n", "the value: the line has none"},
		"tombstone":     {"jsonl/1", `{"value":null}` + "\n", "the value: the line has none"},
		"bad base64":    {"jsonl/1", `{"value":"*"}` + "\n", "the value"},
		"csv":           {"csv/1", "a,b\n", "does not keep records"},
		"unknown codec": {"lines/1 rar-1/1", "", "no codec"},
		"no member":     {"lines/1 gzip-6/1", "a line that nobody compressed\n", "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			s := memstore.New()
			defer s.Close()
			if err := s.Put(t.Context(), "k", store.Bytes([]byte(c.content)), store.About{Topic: "t", Records: 2, EpochNext: 2, Format: c.format}); err != nil {
				t.Fatal(err)
			}
			_, p, err := read(t, Options{Store: s, Topic: "t", Format: encode.JSONLinesOptions{Envelope: []string{"value"}, Value: "base64"}})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "the object k") || p.Objects != 0 {
				t.Errorf("%+v, %v; want %s", p, err, c.want)
			}
		})
	}
}
