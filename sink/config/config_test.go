// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const minimal = `
kafka:
  brokers: [localhost:9092]
  topics: [orders]
store:
  url: dir:///tmp/objects
`

func TestParse(t *testing.T) {
	c, err := Parse([]byte(minimal+`
rotate: {records: 1000, bytes: 1.5GiB, span: 15m}
objects:
  partition_by:
    - {time: created, layout: hour, zone: Asia/Tokyo}
    - {field: customer.country}
`), []string{"PATH=/bin", "FREEHOLD_SINK_KAFKA_BROKERS=a:1,b:2", "FREEHOLD_SINK_ROTATE_AGE=5m", "FREEHOLD_SINK_STOP_FLUSH=true",
		"FREEHOLD_SINK_KAFKA_GROUP=g: x", "FREEHOLD_SINK_MEMORY_IN_FLIGHT=64MiB"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Kafka.Brokers, want.Kafka.Topics, want.Kafka.Group = []string{"a:1", "b:2"}, []string{"orders"}, "g: x"
	want.Store.URL = "dir:///tmp/objects"
	want.Rotate = Rotate{Records: 1000, Bytes: 3 << 29, Span: Duration(15 * time.Minute), Age: Duration(5 * time.Minute)}
	want.Objects.PartitionBy = []Partition{{Time: "created", Layout: "hour", Zone: "Asia/Tokyo"}, {Field: "customer.country"}}
	want.Stop.Flush = true
	want.Memory.InFlight = 64 << 20
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct{ text, env, want string }{
		{minimal + "sizes: 3\n", "", "line 7: sizes is not a key of a configuration; freehold-sink config lists all keys"},
		{minimal + "stroe: {url: a}\n", "", "line 7: stroe is not a key of a configuration; did you mean store?"},
		{"kafka: {fetch_bytes: 4 apples}", "", `line 1: kafka.fetch_bytes: "4 apples" is no size`},
		{"rotate: {age: tomorrow}", "", `line 1: rotate.age: "tomorrow" is no time`},
		{minimal + "---\na: 1", "", "one document"},
		{"kafka:\n\tbrokers: [a]", "", "line 2: a line begins with a tab; YAML takes spaces"},
		{"kafka: {broker: [a]}", "", "line 1: broker is not a key of kafka; did you mean brokers?"},
		{"kafka:\n  url: a", "", "line 2: url is not a key of kafka; did you mean values.registry.url?"},
		{"kafka:\n  bootstrap.servers: a", "", "line 2: bootstrap.servers is not a key of kafka; freehold-sink config lists all keys"},
		{"objects:\n  partition_by:\n    - {felid: a}", "", "line 3: felid is not a key of objects.partition_by[0]; did you mean field?"},
		{minimal, "FREEHOLD_SINK_KAFKA_BROKER=a", "names no key"},
		{minimal, "FREEHOLD_SINK_ROTATE_RECORDS=many", "the variable FREEHOLD_SINK_ROTATE_RECORDS: here is the text many, but the key takes a whole number"},
		{minimal, "FREEHOLD_SINK_ROTATE_AGE=soon", `the variable FREEHOLD_SINK_ROTATE_AGE: "soon" is no time`},
		{"rotate:\n  records: many", "", "line 2: here is the text many, but rotate.records takes a whole number"},
		{"kafka: {brokers: 127.0.0.1:9092, tls: true}", "", "line 1: here is the text 127.0.0.1:9092, but kafka.brokers takes a list, [a, b]\nline 1: here is the value true, but kafka.tls takes a section with keys"},
		{"kafka: {group: [a], sasl: {user: {name: a}}}", "", "line 1: here is a list, but kafka.group takes a text\nline 1: here is a section with keys, but kafka.sasl.user takes a text"},
		{"stop: {flush: 3}\nobjects: {partition_by: {field: a}}", "", "line 1: here is the number 3, but stop.flush takes true or false\nline 2: here is a section with keys, but objects.partition_by takes a list of sections"},
	} {
		if _, err := Parse([]byte(test.text), []string{test.env}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s: %v, want %s", test.text, test.env, err, test.want)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "sink.yaml"), nil); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "freehold-sink config") {
		t.Error(err)
	}
	c := Default()
	c.Kafka.Start, c.Kafka.Topics, c.Bad.Action, c.Bad.Topic = "now", []string{"a"}, "topic", "a"
	c.Kafka.SASL.Mechanism = "plain"
	c.Kafka.TLS.CertFile = "x"
	c.Objects.PartitionBy = []Partition{{Time: "a", Field: "b"}}
	c.Kafka.FetchBytes, c.Memory.InFlight = 3<<30, 0
	c.Values.Message, c.Values.Registry = "m", Registry{URL: []string{"http://a"}, PasswordFile: "a", PasswordEnv: "B", KeyFile: "k"}
	err := c.Check()
	for _, want := range []string{"kafka.brokers is missing", "store.url is missing", `kafka.start is "now"`, "come again without end", "password_file is missing",
		"kafka.fetch_bytes is 3GiB; it must be between 1KiB and 1GiB", "memory.in_flight is 0; it must be between 1MiB",
		"sasl.user is missing", "belong together", "partition_by[0] has 2",
		"values.framing is none", "are for protobuf", "password_env are both set", "values.registry.key_file belong together"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	c.Kafka.SASL = SASL{Mechanism: "oauthbearer", TokenFile: "a", TokenEnv: "B"}
	if err := c.Check(); !strings.Contains(err.Error(), "kafka.sasl.token_file and kafka.sasl.token_env are both set") {
		t.Error(err)
	}
}

// TestFormatKeys: keys that a format does not look at, and text where values are bytes, are errors.
func TestFormatKeys(t *testing.T) {
	for _, f := range []struct {
		format, values, want string
	}{
		{"{name: jsonl, envelope: [key, value], key: base64, value: string}", "", ""}, {"{name: parquet, envelope: [key], columns: [a]}", "", ""}, {"{newlines: space}", "", ""},
		{"{name: lines, envelope: [key, value]}", "", "format.envelope is set, but objects.format.name is lines; the key is for jsonl, avro, parquet"},
		{"{name: avro, value: string}", "", "format.value is set"}, {"{name: csv, columns: [key], key: json}", "", "format.key is set"}, {"{name: jsonl, columns: [a]}", "", "format.columns is set"},
		{"{name: jsonl, length: varint}", "", "format.length is set"}, {"{name: csv, schema_file: a}", "", "format.schema_file is set"}, {"{name: length-prefixed, newlines: keep}", "", "format.newlines is set"},
		{"{name: csv, columns: [value]}", "", ""}, {"{name: csv, columns: [value]}", "{framing: keep}", "has the column value, but values.framing is keep"},
		{"{name: csv, columns: [value.a]}", "{framing: keep}", ""}, {"{name: jsonl, envelope: [key], value: string}", "{framing: keep}", ""},
		{"{name: jsonl, envelope: [value], value: string}", "{framing: keep}", "value is string, but values.framing is keep"}, {"{name: lines}", "{framing: keep}", ""},
		{"{name: lines}", "{type: protobuf, descriptors_file: a, message: b}", "name is lines, but values.type is protobuf"},
	} {
		text := minimal + "objects: {format: " + f.format + "}\n"
		if f.values != "" {
			text += "values: " + f.values + "\n"
		}
		c, err := Parse([]byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err = c.Check(); (err == nil) != (f.want == "") || err != nil && !strings.Contains(err.Error(), f.want) {
			t.Errorf("%s, %s: %v, want %q", f.format, f.values, err, f.want)
		}
	}
}

// TestWrite: what Write prints is the configuration again, and each key has a comment.
func TestWrite(t *testing.T) {
	c, err := Parse([]byte(minimal+"objects: {partition_by: [{field: a, name: b}, {key: true}]}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Config{Default(), c} {
		var b bytes.Buffer
		if err := Write(&b, c); err != nil {
			t.Fatal(err)
		}
		again, err := Parse(b.Bytes(), nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
		// An empty list and none are the same.
		for _, l := range []*[]string{&again.Kafka.Brokers, &again.Kafka.Topics, &again.Objects.Format.Envelope, &again.Objects.Format.Columns, &again.Values.Registry.URL} {
			if len(*l) == 0 {
				*l = nil
			}
		}
		if len(again.Objects.PartitionBy) == 0 {
			again.Objects.PartitionBy = nil
		}
		if !reflect.DeepEqual(again, c) {
			t.Errorf("got  %+v\nwant %+v\nfrom\n%s", again, c, b.String())
		}
	}
	walk(reflect.ValueOf(c), "", func(path string, f reflect.StructField, _ reflect.Value) {
		if f.Tag.Get("doc") == "" || strings.HasSuffix(path, ".") {
			t.Errorf("%s has no comment or no name", path)
		}
	})
}

func TestSize(t *testing.T) {
	for size, want := range map[Size]string{0: "0", 1: "1", 1024: "1KiB", 4 << 20: "4MiB", 1 << 30: "1GiB", 1000: "1000"} {
		if got := size.String(); got != want {
			t.Errorf("%d: %s, want %s", size, got, want)
		}
	}
}
