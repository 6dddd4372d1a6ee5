// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold/sink/compress"
	"github.com/freehold-go/freehold/sink/config"
	"github.com/freehold-go/freehold/sink/internal/race"
	"github.com/freehold-go/freehold/sink/protobuf"
	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/schema"
)

// A change sets a key of the configuration, and with it the keys that the value needs.
type change struct {
	key, value string
	do         func(*config.Config)
}

// orderJSON is what message makes, in JSON. So all paths hold for values of both kinds.
const orderJSON = `{"id":"7","created":"2026-01-31T15:04:05Z","customer":{"country":"DE"}}`

const orderAvro = `{"type":"record","name":"Order","fields":[{"name":"id","type":"string"},{"name":"created","type":"string"},
{"name":"customer","type":{"type":"record","name":"Customer","fields":[{"name":"country","type":"string"}]}}]}`

// The ids of the schemas in the registry. Their bytes are no UTF-8.
const jsonID, protobufID = 200, 201

// framed puts the framing of a registry in front of a value.
func framed(id byte, value []byte) []byte {
	head := []byte{0, 0, 0, 0, id}
	if id == protobufID {
		head = append(head, 0) // The first message of the file.
	}
	return append(head, value...)
}

// orderOf is a record as a topic has it whose values are as a configuration says.
func orderOf(c config.Values) record.Record {
	r := record.Record{Topic: topic, Offset: 12, Timestamp: 1_769_871_845_000, Key: []byte("7"), Value: []byte(orderJSON), Headers: []record.Header{{Key: "h", Value: []byte("v")}}}
	id := byte(jsonID)
	if c.Type == "protobuf" {
		r.Value, id = message("7", "DE"), protobufID
	}
	if c.Framing != "none" {
		r.Value = framed(id, r.Value)
	}
	return r
}

// schemas is a registry.
func schemas(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		answer := map[string]string{"schemaType": "JSON", "schema": "{}"}
		if strings.HasSuffix(q.URL.Path, fmt.Sprint("/", protobufID)) {
			answer = map[string]string{"schemaType": "PROTOBUF", "schema": orderSource}
		}
		json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// changes are values of all keys that say how a record is read or written.
func changes(t *testing.T) (all []change) {
	descriptors, registry, avsc := descriptorsFile(t), schemas(t), filepath.Join(t.TempDir(), "order.avsc")
	if err := os.WriteFile(avsc, []byte(orderAvro), 0o600); err != nil {
		t.Fatal(err)
	}
	add := func(key, value string, do func(*config.Config)) { all = append(all, change{key, value, do}) }
	add("values.type", "protobuf by a file", func(c *config.Config) {
		c.Values.Type, c.Values.Descriptors, c.Values.Message = "protobuf", descriptors, "shop.Order"
	})
	add("values.type", "protobuf by the registry", func(c *config.Config) {
		c.Values.Type, c.Values.Registry.URL = "protobuf", []string{registry}
		if c.Values.Framing == "none" {
			c.Values.Framing = "strip"
		}
	})
	add("values.proto_names", "true", func(c *config.Config) { c.Values.ProtoNames = true })
	add("values.registry", "url", func(c *config.Config) { c.Values.Registry.URL = []string{registry} })
	for _, v := range []string{"strip", "keep"} {
		add("values.framing", v, func(c *config.Config) { c.Values.Framing = v })
	}
	record, value := []string{"topic", "partition", "offset", "timestamp", "key", "headers", "value"}, []string{"value"}
	for _, f := range []config.Format{
		{Name: "lines"}, {Name: "length-prefixed"}, {Name: "jsonl"}, {Name: "jsonl", Envelope: record}, {Name: "jsonl", Envelope: value}, {Name: "avro"}, {Name: "avro", Envelope: value}, {Name: "avro", SchemaFile: avsc},
		{Name: "csv", Columns: []string{"key", "offset", "header.h"}}, {Name: "csv", Columns: value}, {Name: "csv", Columns: []string{"value.customer.country", "value.id"}},
		{Name: "parquet"}, {Name: "parquet", Envelope: record}, {Name: "parquet", Columns: []string{"id:string", "customer:json"}}, {Name: "parquet", Columns: []string{"customer.country:string"}, Envelope: value},
	} {
		f.Tombstones, f.Newlines = "bad", "bad"
		add("objects.format", fmt.Sprint(f.Name, f.Envelope, f.Columns, f.SchemaFile != ""), func(c *config.Config) { c.Objects.Format = f })
	}
	for _, v := range [][]string{value, {"key"}, {"offset", "headers"}, record} {
		add("objects.format.envelope", fmt.Sprint(v), func(c *config.Config) { c.Objects.Format.Envelope = v })
	}
	for _, v := range []string{"json", "string", "base64"} {
		add("objects.format.key", v, func(c *config.Config) { c.Objects.Format.Key = v })
		add("objects.format.value", v, func(c *config.Config) { c.Objects.Format.Value = v })
	}
	for _, v := range [][]string{{"value.id"}, {"id"}, {"value", "offset"}} {
		add("objects.format.columns", fmt.Sprint(v), func(c *config.Config) { c.Objects.Format.Columns = v })
	}
	add("objects.format.length", "uint32", func(c *config.Config) { c.Objects.Format.Length = "uint32" })
	add("objects.format.schema_file", "order", func(c *config.Config) { c.Objects.Format.SchemaFile = avsc })
	for _, v := range []string{"skip", "write"} {
		add("objects.format.tombstones", v, func(c *config.Config) { c.Objects.Format.Tombstones = v })
	}
	for _, v := range []string{"space", "keep"} {
		add("objects.format.newlines", v, func(c *config.Config) { c.Objects.Format.Newlines = v })
	}
	for _, v := range compress.Names() {
		add("objects.compression.codec", v, func(c *config.Config) { c.Objects.Compression.Codec = v })
	}
	for _, p := range []config.Partition{{Time: "$timestamp"}, {Time: "created", Unit: "rfc3339"}, {Field: "customer.country"}, {Header: "h"}, {Key: true}} {
		add("objects.partition_by", fmt.Sprintf("%+v", p), func(c *config.Config) { c.Objects.PartitionBy = []config.Partition{p} })
	}
	add("objects.key", "flat", func(c *config.Config) { c.Objects.Key = "{topic}-{partition}-{offset}{extension}" })
	add("objects.check_json", "true", func(c *config.Config) { c.Objects.CheckJSON = true })
	add("rotate.independent", "true", func(c *config.Config) { c.Rotate.Independent = true })
	add("rotate", "age", func(c *config.Config) {
		c.Rotate = config.Rotate{Age: config.Duration(time.Hour), Independent: c.Rotate.Independent}
	})
	for _, v := range []string{"objects", "topic"} {
		add("bad_records.action", v, func(c *config.Config) { c.Bad.Action, c.Bad.Topic = v, "dead" })
	}
	return all
}

// taken is the group and the object of a record, as the sink makes them.
func taken(t *testing.T, c config.Config, r record.Record) (group string, content []byte, err error) {
	t.Helper()
	o, err := options(c)
	if err != nil {
		t.Fatal(err)
	}
	m := typeOf(t, c.Values)
	reg, err := registry(c.Values, func(schema.Attempt) {})
	if err != nil {
		t.Fatal(err)
	}
	if reg != nil {
		defer reg.Close()
	}
	v, err := values(c.Values, m, reg)
	if err != nil {
		t.Fatal(err)
	}
	if v != nil {
		if err := v.Prepare(t.Context(), &r); err != nil {
			return "", nil, err
		}
	}
	if err := o.Format.Refuse(&r); err != nil {
		return "", nil, err
	}
	path, err := o.Partitioner.Group(nil, &r)
	if err != nil {
		return "", nil, err
	}
	var out bytes.Buffer
	e, err := o.Format.Begin(&out)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Free()
	if err := e.Append(&r); err != nil {
		return "", nil, err
	}
	if err := e.End(); err != nil {
		t.Fatal(err)
	}
	return string(path), out.Bytes(), nil
}

// types has what typeOf has made.
var types = map[string]*protobuf.Type{}

// typeOf is messageType, once for each file.
func typeOf(t *testing.T, v config.Values) *protobuf.Type {
	t.Helper()
	key := fmt.Sprint(v.Descriptors, v.Message, v.ProtoNames)
	if types[key] == nil {
		m, err := messageType(v)
		if err != nil {
			t.Fatal(err)
		}
		types[key] = m
	}
	return types[key]
}

// base is a configuration without servers.
func base() config.Config {
	conf := config.Default()
	conf.Kafka.Brokers, conf.Kafka.Topics, conf.Store.URL = []string{"localhost:1"}, []string{topic}, "mem://"
	return conf
}

// TestPairs: for each kind of values, no two settings that check takes together make an ordinary record a bad one. A tombstone that is to be written is bad if check says so.
func TestPairs(t *testing.T) {
	if race.Enabled {
		t.Skip("one goroutine alone has no races")
	}
	all := changes(t)
	for _, values := range [][]string{{}, {"values.framing keep"}, {"values.type protobuf by a file"}, {"values.type protobuf by a file", "values.framing keep"},
		{"values.framing keep", "values.type protobuf by the registry"}} {
		conf := base()
		for _, c := range all {
			for _, v := range values {
				if c.key+" "+c.value == v {
					c.do(&conf)
				}
			}
		}
		t.Run(strings.Join(values, ","), func(t *testing.T) { pairs(t, conf, all) })
	}
}

func pairs(t *testing.T, values config.Config, all []change) {
	accepted := 0
	for i, a := range all {
		for _, b := range all[i:] {
			if a.key == b.key && a.value != b.value {
				continue
			}
			conf := values
			a.do(&conf)
			b.do(&conf)
			var said bytes.Buffer
			if Describe(t.Context(), &said, conf, false) != nil {
				continue
			}
			accepted++
			if _, _, err := taken(t, conf, orderOf(conf.Values)); err != nil {
				t.Errorf("%s %s and %s %s: check takes them, and a record is bad: %v", a.key, a.value, b.key, b.value, err)
			}
			if conf.Objects.Format.Tombstones != "write" {
				continue
			}
			r := orderOf(conf.Values)
			r.Value = nil
			if _, _, err := taken(t, conf, r); (err != nil) != strings.Contains(said.String(), "tombstones are among them") {
				t.Errorf("%s %s and %s %s: a tombstone is bad: %v, but check says\n%s", a.key, a.value, b.key, b.value, err, said.String())
			}
		}
	}
	if accepted < len(all) {
		t.Errorf("check takes %d pairs of %d settings", accepted, len(all))
	}
}

// TestFramingKept: with framing: keep records have the groups that they have with strip. A format that stores values whole has the framing in them, and the content of
// any other is that with strip.
func TestFramingKept(t *testing.T) {
	whole := map[string]bool{"lines[] [] false": true, "length-prefixed[] [] false": true, "base64": true, "avro[] [] false": true, "avro[value] [] false": true,
		"parquet[topic partition offset timestamp key headers value] [] false": true, "parquet[value] [customer.country:string] false": true}
	all := changes(t)
	formats := []change{{"objects.format", "base64", func(c *config.Config) {
		c.Objects.Format = config.Format{Name: "jsonl", Envelope: []string{"value"}, Value: "base64"}
	}}}
	formats = append(formats, slices.DeleteFunc(slices.Clone(all), func(c change) bool { return c.key != "objects.format" })...)
	for _, kind := range []string{"", "protobuf by a file", "protobuf by the registry"} {
		conf := base()
		conf.Objects.CheckJSON, conf.Objects.Compression.Codec = true, "none"
		conf.Objects.PartitionBy = []config.Partition{{Time: "created", Unit: "rfc3339"}, {Field: "customer.country"}}
		for _, c := range all {
			if c.key == "values.type" && c.value == kind {
				c.do(&conf)
			}
		}
		seen := 0
		for _, f := range formats {
			f.do(&conf)
			conf.Values.Framing = "keep"
			if Describe(t.Context(), io.Discard, conf, false) != nil {
				continue
			}
			seen++
			r := orderOf(conf.Values)
			group, content, err := taken(t, conf, r)
			conf.Values.Framing = "strip"
			_, stripped, stripErr := taken(t, conf, r)
			if err != nil || stripErr != nil || group != "dt=2026-01-31/hour=15/country=DE" {
				t.Errorf("%s %s: the group %q, %v, %v", kind, f.value, group, err, stripErr)
				continue
			}
			has := bytes.Contains(content, r.Value) || bytes.Contains(content, []byte(base64.StdEncoding.EncodeToString(r.Value)))
			if has != whole[f.value] || !whole[f.value] && !bytes.Equal(content, stripped) {
				t.Errorf("%s %s: with the framing in it %v: %q, without it %q", kind, f.value, has, content, stripped)
			}
		}
		if seen < len(formats)-2 { // Text cannot have bytes: a column of CSV, and lines of messages.
			t.Errorf("%s: check takes %d of %d formats", kind, seen, len(formats))
		}
	}
}
