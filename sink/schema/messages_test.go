// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/sink/internal/race"
	"github.com/freehold-go/freehold/sink/partition"
	"github.com/freehold-go/freehold/sink/partition/partitiontest"
	"github.com/freehold-go/freehold/sink/protobuf"
	"github.com/freehold-go/freehold/sink/record"
)

// orders refers to a file of another subject, which imports one more.
const orders = `syntax = "proto3"; package shop; import "places/city.proto"; import "confluent/meta.proto"; import "confluent/type/decimal.proto"; import "google/protobuf/timestamp.proto";
message Unused {}
message Order {
  option (confluent.message_meta).doc = "an order";
  map<string, string> labels = 1; string type = 2; int64 user_id = 3; places.City city = 4; google.protobuf.Timestamp created = 5; confluent.type.Decimal price = 6;
  message Line { string item = 1; } repeated Line lines = 7;
}`

func withOrders(t *testing.T) (*server, *Registry) {
	s := serve(t)
	s.add(7, "PROTOBUF", orders, map[string]any{"name": "places/city.proto", "subject": "city", "version": 3})
	s.put("/subjects/city/versions/3", map[string]any{"subject": "city", "version": 3, "id": 6, "schemaType": "PROTOBUF", "schema": `syntax = "proto3"; package places; import "places/country.proto"; message City { string name = 1; Country country = 2; }`,
		"references": []map[string]any{{"name": "places/country.proto", "subject": "country", "version": 1}}})
	s.put("/subjects/country/versions/1", map[string]any{"subject": "country", "version": 1, "id": 5, "schemaType": "PROTOBUF", "schema": `syntax = "proto3"; package places; message Country { string code = 1; }`})
	s.add(8, "AVRO", `"string"`)
	s.add(9, "PROTOBUF", `syntax = "proto3"; message Broken { Nowhere x = 1; }`)
	s.add(10, "PROTOBUF", `syntax = "proto3"; import "nowhere.proto";`, map[string]any{"name": "nowhere.proto", "subject": "nowhere", "version": 1})
	return s, client(t, RegistryOptions{URLs: []string{s.URL}, Messages: &protobuf.Options{ProtoNames: true}})
}

// message is an order: the type click, the user 17, and a city.
const message = "\x12\x05click\x18\x11\x22\x0b\x0a\x05Izmir\x12\x02\x0a\x00"

func TestMessages(t *testing.T) {
	s, r := withOrders(t)
	strip := values(t, Options{Framing: StripFraming, Registry: r, Messages: true})
	keep := values(t, Options{Framing: KeepFraming, Registry: r, Messages: true})
	const order = `{"type":"click","user_id":"17","city":{"name":"Izmir","country":{}}}`
	for _, e := range []struct {
		v           *Values
		value, want string
	}{
		{strip, "\x00\x00\x00\x00\x07\x02\x02" + message, order},
		{keep, "\x00\x00\x00\x00\x07\x02\x02" + message, order},
		{strip, "\x00\x00\x00\x00\x07\x04\x02\x00\x0a\x01x", `{"item":"x"}`}, // Line is the first message that Order declares; the entries of labels do not count.
		{strip, "\x00\x00\x00\x00\x07\x00", `{}`},
		{strip, "\x00\x00\x00\x00\x07\x02\x04", "bad: protobuf: the file has no message at [2]"},
		{strip, "\x00\x00\x00\x00\x08x", "bad: the schema of the value is of the type AVRO and not PROTOBUF"},
		{strip, "\x00\x00\x00\x00\x09\x00", `bad: the schema 9 cannot be compiled: schema-9.proto:1:37: field Broken.x: unknown type Nowhere`},
		{strip, "\x00\x00\x00\x00\x0a\x00", "bad: the schema registry has no schema with the id 10: the schema registry has no such schema: Schema not found"},
	} {
		for range 2 {
			rec := &record.Record{Value: []byte(e.value)}
			err := e.v.Prepare(t.Context(), rec)
			var got []byte
			if err == nil {
				got, err = rec.Schema.AppendJSON(nil, rec.Payload())
			}
			if bad := (*record.Bad)(nil); errors.As(err, &bad) {
				got = []byte("bad: " + bad.Error())
			} else if err != nil {
				t.Error(err)
			}
			if string(got) != e.want {
				t.Errorf("%q is %s, want %s", e.value, got, e.want)
			}
			if e.v == keep && string(rec.Value) != e.value || e.v == strip && rec.Framed != 0 {
				t.Errorf("%q is %q, with %d bytes of framing", e.value, rec.Value, rec.Framed)
			}
		}
	}
	for path, want := range map[string]int{"/schemas/ids/7": 1, "/subjects/city/versions/3": 1, "/subjects/country/versions/1": 1, "/schemas/ids/9": 1} {
		if n := s.times(path); n != want {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
}

// TestType: values of one type, with a framing and without; a tombstone has the type, too.
func TestType(t *testing.T) {
	set, err := Compile("a.proto", map[string]string{"a.proto": `syntax = "proto3"; message A { string s = 1; }`}, protobuf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	of, err := set.Type("A")
	if err != nil {
		t.Fatal(err)
	}
	for value, v := range map[string]*Values{"\x0a\x01x": values(t, Options{Type: of}), "\x00\x00\x00\x00\x01\x00\x0a\x01x": values(t, Options{Type: of, Framing: KeepFraming})} {
		r := &record.Record{Value: []byte(value)}
		if err := v.Prepare(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if text, err := r.Schema.AppendJSON(nil, r.Payload()); string(text) != `{"s":"x"}` || err != nil {
			t.Errorf("%q is %s, %v", value, text, err)
		}
		r = &record.Record{}
		if err := v.Prepare(t.Context(), r); err != nil || r.Schema != of || r.Payload() != nil {
			t.Error(err, r)
		}
	}
	for want, o := range map[string]Options{"none that compiles": {Framing: StripFraming, Messages: true}, "a type for all": {Messages: true, Type: of}} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestMessageNoAllocation: once types are known, a message costs nothing on the Go heap, from the framing to the group.
func TestMessageNoAllocation(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector drops what sync.Pool keeps")
	}
	_, r := withOrders(t)
	v := values(t, Options{Framing: StripFraming, Registry: r, Messages: true})
	country, err := partition.Field(partition.FieldOptions{Field: "city.name", Missing: "none"})
	if err != nil {
		t.Fatal(err)
	}
	created, err := partition.Time(partition.TimeOptions{Field: "created", Unit: "rfc3339"})
	if err != nil {
		t.Fatal(err)
	}
	p := partition.Join(country, created)
	value := []byte("\x00\x00\x00\x00\x07\x02\x02" + message + "\x2a\x06\x08\xe5\xb3\xf8\xcb\x06")
	rec, group, text := &record.Record{}, make([]byte, 0, 512), make([]byte, 0, 512)
	run := func() {
		*rec = record.Record{Value: value}
		err := v.Prepare(t.Context(), rec)
		if err == nil {
			group, err = p.Group(group[:0], rec)
		}
		if err == nil {
			text, err = rec.Schema.AppendJSON(text[:0], rec.Payload())
		}
		if err != nil || string(group) != "name=Izmir/dt=2026-01-31/hour=15" {
			t.Fatal(err, string(group), string(text))
		}
	}
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestPartitioners: partitioners of fields keep their promises with messages.
func TestPartitioners(t *testing.T) {
	set, err := Compile("a.proto", map[string]string{"a.proto": `syntax = "proto3"; import "google/protobuf/struct.proto"; message A { string type = 1; int64 timestamp = 2; A a = 3; map<string, string> m = 4; google.protobuf.Struct s = 5; repeated A list = 6; }`}, protobuf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	of, err := set.Type("A")
	if err != nil {
		t.Fatal(err)
	}
	records := partitiontest.Records()
	for i := range records {
		records[i].Schema = of
	}
	for _, value := range []string{"\x0a\x05order\x10\x80\x80\x9a\xf6\xac\x32", "\x0a\x02..", "\x0a\x01/\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x1a\x03\x0a\x01x", "\x22\x06\x0a\x01k\x12\x01v", "\x0a\x01\xff", "\x2a\x0a\x0a\x08\x0a\x01k\x12\x03\x1a\x01v", ""} {
		records = append(records, record.Record{Topic: "t", Timestamp: 1_730_000_000_000, Value: []byte(value), Schema: of})
	}
	for _, path := range []string{"type", "a.type", "m.k", "s.k", "list"} {
		for _, checked := range []bool{false, true} {
			t.Run(path, func(t *testing.T) {
				partitiontest.Run(t, func() partition.Partitioner {
					field, err := partition.Field(partition.FieldOptions{Field: path, Missing: "none"})
					if err != nil {
						t.Fatal(err)
					}
					time, err := partition.Time(partition.TimeOptions{Field: "timestamp", OutOfRange: "far"})
					if err != nil {
						t.Fatal(err)
					}
					if checked {
						return partition.Checked(partition.Join(time, field))
					}
					return partition.Join(time, field)
				}, records...)
			})
		}
	}
}
