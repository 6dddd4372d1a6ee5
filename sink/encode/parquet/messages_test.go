// SPDX-License-Identifier: Apache-2.0

package parquet_test

import (
	"bytes"
	"io"
	"reflect"
	"testing"
	"time"

	reader "github.com/parquet-go/parquet-go"

	"github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/encode/encodetest"
	"github.com/freehold-go/freehold/sink/encode/parquet"
	"github.com/freehold-go/freehold/sink/protobuf"
	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/schema"
)

const source = `syntax = "proto3"; import "google/protobuf/timestamp.proto"; import "google/protobuf/struct.proto"; import "google/protobuf/wrappers.proto";
enum Color { NONE = 0; RED = 1; }
message Order {
  string type = 1; int64 n = 2; Place place = 3; repeated Place places = 4; map<string, int32> counts = 5; repeated string tags = 6; google.protobuf.Timestamp at = 7; google.protobuf.Struct extra = 8;
  Color color = 9; optional double price = 10; google.protobuf.BoolValue paid = 11; Order parent = 12; bytes raw = 13; uint32 topic = 14;
}
message Place { string city = 1; repeated int32 zips = 2; }`

func order(t testing.TB) *protobuf.Type {
	t.Helper()
	set, err := schema.Compile("a.proto", map[string]string{"a.proto": source}, protobuf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	of, err := set.Type("Order")
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// message has all fields.
var message = []byte("\x0a\x05order" + "\x10\x07" + "\x1a\x0b\x0a\x05Izmir\x12\x02\x01\x02" + "\x22\x07\x0a\x01a\x12\x02\x03\x04" + "\x22\x03\x0a\x01b" + "\x2a\x05\x0a\x01x\x10\x01" + "\x2a\x05\x0a\x01w\x10\x02" +
	"\x32\x01s\x32\x02tt" + "\x3a\x05\x08\x01\x10\xe8\x07" + "\x42\x0a\x0a\x08\x0a\x01k\x12\x03\x1a\x01v" + "\x48\x01" + "\x51\x00\x00\x00\x00\x00\x00\xf8\x3f" + "\x5a\x02\x08\x01" + "\x62\x03\x0a\x01p" + "\x6a\x01\xff" + "\x70\x05")

type place struct {
	City string  `parquet:"city,optional"`
	Zips []int32 `parquet:"zips,list"`
}

type row struct {
	Offset int64            `parquet:"offset"`
	Type   *string          `parquet:"type,optional"`
	N      *int64           `parquet:"n,optional"`
	Place  *place           `parquet:"place,optional"`
	Places []place          `parquet:"places,list"`
	Counts map[string]int32 `parquet:"counts"`
	Tags   []string         `parquet:"tags,list"`
	At     *int64           `parquet:"at,optional,timestamp(microsecond)"`
	Extra  *string          `parquet:"extra,optional,json"`
	Color  *string          `parquet:"color,optional"`
	Price  *float64         `parquet:"price,optional"`
	Paid   *bool            `parquet:"paid,optional"`
	Parent *string          `parquet:"parent,optional,json"`
	Raw    []byte           `parquet:"raw,optional"`
	Topic  *uint32          `parquet:"topic,optional"`
}

func to[T any](v T) *T { return &v }

// TestMessages: another reader finds the fields of messages in structs, lists and maps.
func TestMessages(t *testing.T) {
	of := order(t)
	f, err := parquet.New(parquet.Options{Messages: true, Envelope: []string{"offset"}, Tombstones: encode.WriteTombstones})
	if err != nil {
		t.Fatal(err)
	}
	if by, ok := f.(encode.BySchema); !ok || !by.BySchema() {
		t.Error("the format does not say that objects have one schema")
	}
	var out bytes.Buffer
	e, err := f.Begin(&out)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Free()
	for i, r := range []record.Record{{Value: message, Schema: of}, {Value: []byte{}, Schema: of}, {Schema: of}, {Value: append([]byte("\x00\x00\x00\x00\x01\x00"), "\x10\x09"...), Framed: 6, Schema: of}} {
		r.Offset = int64(i)
		if err := e.Append(&r); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := e.Append(&record.Record{Value: message, Schema: order(t)}); err == nil {
		t.Error("a record with another schema was taken")
	}
	if err := e.End(); err != nil {
		t.Fatal(err)
	}
	rows, err := reader.Read[row](bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	zero := row{Type: to(""), N: to(int64(0)), Color: to("NONE"), Raw: []byte{}, Topic: to(uint32(0))}
	second, last := zero, zero
	second.Offset, last.Offset, last.N = 1, 3, to(int64(9))
	want := []row{{
		Type: to("order"), N: to(int64(7)), Place: &place{"Izmir", []int32{1, 2}}, Places: []place{{"a", []int32{3, 4}}, {"b", nil}}, Counts: map[string]int32{"x": 1, "w": 2}, Tags: []string{"s", "tt"},
		At: to(time.Unix(1, 1000).UnixMicro()), Extra: to(`{"k":"v"}`), Color: to("RED"), Price: to(1.5), Paid: to(true), Parent: to(`{"type":"p"}`), Raw: []byte{0xff}, Topic: to(uint32(5)),
	}, second, {Offset: 2}, last}
	for i := range want {
		got := rows[i]
		for _, r := range []*row{&got, &want[i]} { // Empty and nil are the same to the reader.
			if len(r.Counts) == 0 {
				r.Counts = nil
			}
			if len(r.Tags) == 0 {
				r.Tags = nil
			}
			if len(r.Places) == 0 {
				r.Places = nil
			}
			if len(r.Raw) == 0 {
				r.Raw = nil
			}
			for j := range r.Places {
				if len(r.Places[j].Zips) == 0 {
					r.Places[j].Zips = nil
				}
			}
		}
		if !reflect.DeepEqual(got, want[i]) {
			t.Errorf("row %d: %+v, want %+v", i, got, want[i])
		}
	}
}

// TestMessagesConformance runs the suite with messages: whole rows, and listed fields.
func TestMessagesConformance(t *testing.T) {
	of := order(t)
	var own []record.Record
	for i, value := range []string{string(message), "", "\x0a\x01\xff", "\xff", "\x10\x05", "\x3a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f", string(message) + string(message)} {
		own = append(own, record.Record{Topic: "t", Offset: int64(i), Timestamp: 5, Key: []byte("k"), Value: []byte(value), Schema: of})
	}
	for name, o := range map[string]parquet.Options{
		"whole": {Messages: true}, "with an envelope": {Messages: true, Envelope: []string{"topic", "offset", "timestamp", "key", "headers"}, Tombstones: encode.WriteTombstones, RowGroup: 2000},
		"fields": {Fields: []parquet.Field{{Path: "n", Type: "int64"}, {Path: "place.city", Type: "string"}, {Path: "places", Type: "json"}, {Path: "counts.x", Type: "int64"}}}, "inferred": {Infer: 3},
	} {
		t.Run(name, func(t *testing.T) {
			encodetest.Run(t, func() encode.Format {
				f, err := parquet.New(o)
				if err != nil {
					t.Fatal(err)
				}
				return f
			}, own...)
		})
	}
	if _, err := parquet.New(parquet.Options{Messages: true, Infer: 1}); err == nil {
		t.Error("columns are those of messages and inferred")
	}
}

// TestMessagesAllocation: rows cost what parquet-go allocates for its pages, far below one allocation for a record.
func TestMessagesAllocation(t *testing.T) {
	of := order(t)
	f, err := parquet.New(parquet.Options{Messages: true})
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Begin(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Free()
	r := record.Record{Value: message, Schema: of}
	run := func() {
		if err := e.Append(&r); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		run()
	}
	if n := testing.AllocsPerRun(2000, run); n != 0 {
		t.Errorf("%v allocations per record", n)
	}
}
