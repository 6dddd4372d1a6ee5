// SPDX-License-Identifier: Apache-2.0

package service

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/freehold-go/freehold/sink/config"
)

const allSource = `syntax = "proto3"; package test;
import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto"; import "google/protobuf/wrappers.proto"; import "google/protobuf/struct.proto"; import "google/protobuf/field_mask.proto";
enum Color { NONE = 0; RED = 1; }
message Part { string text = 1; int64 long = 2; }
message All { bool truth = 1; int32 int = 2; int64 long = 3; uint64 unsigned = 4; float float = 5; double double = 6; string text = 7; bytes bytes = 8; Color color = 9;
google.protobuf.Timestamp at = 10; google.protobuf.Duration took = 11; google.protobuf.StringValue boxed_text = 12; google.protobuf.Int64Value boxed_long = 13; google.protobuf.BoolValue boxed_truth = 14;
repeated string list = 15; map<string, int32> map = 16; Part part = 17; google.protobuf.Struct struct = 18; google.protobuf.Value value = 19; google.protobuf.ListValue values = 20;
google.protobuf.FieldMask mask = 21; All self = 22; repeated int64 longs = 23; }`

// allOf is a message with all fields, with a text, and a value of any type.
func allOf(text, value string) string {
	return fmt.Sprintf(`{"truth":true,"int":7,"long":"7","unsigned":"7","float":7,"double":7,"text":%[1]s,"bytes":"gAA=","color":"RED","at":"2026-01-31T15:04:05Z","took":"7s","boxedText":%[1]s,"boxedLong":"7",
		"boxedTruth":true,"list":["a"],"map":{"a":7},"part":{"text":%[1]s,"long":"7"},"struct":{"a":%[2]s},"value":%[2]s,"values":[7],"mask":"a","self":{"long":"7"},"longs":["7"]}`, text, value)
}

// TestMessageTypes: check takes a field of a message for a group, a time or a column of Parquet if and only if there are messages that are no bad records then.
func TestMessageTypes(t *testing.T) {
	name, file := descriptorsOf(t, allSource)
	var messages [][]byte
	for _, text := range []string{allOf(`"7"`, "7"), allOf(`"2026-01-31T15:04:05Z"`, `"2026-01-31T15:04:05Z"`), allOf(`"7"`, "true")} {
		m := dynamicpb.NewMessage(file.Messages().ByName("All"))
		if err := protojson.Unmarshal([]byte(text), m); err != nil {
			t.Fatal(err)
		}
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, b)
	}
	paths := []string{"part.text", "part.long", "self.long", "map.a", "struct.a"}
	fields := file.Messages().ByName("All").Fields()
	for i := range fields.Len() {
		paths = append(paths, string(fields.Get(i).Name()))
	}
	texts := []string{"text", "boxed_text", "part.text", "color", "took", "mask"}
	for _, path := range paths {
		by := func(p config.Partition) func(*config.Config) {
			return func(c *config.Config) { c.Objects.PartitionBy = []config.Partition{p} }
		}
		uses := map[string]func(*config.Config){"field": by(config.Partition{Field: path})}
		for _, unit := range []string{"ms", "s", "rfc3339"} {
			uses["time in "+unit] = by(config.Partition{Time: path, Unit: unit})
		}
		for _, kind := range []string{"string", "int64", "double", "bool", "timestamp", "json"} {
			if slices.Contains(texts, path) && slices.Contains([]string{"int64", "double", "timestamp"}, kind) {
				continue // Whether text may be a number is the format's choice.
			}
			uses["column of "+kind] = func(c *config.Config) {
				c.Objects.Format.Name, c.Objects.Format.Columns = "parquet", []string{path + ":" + kind}
			}
		}
		for use, set := range uses {
			conf := base()
			conf.Values.Type, conf.Values.Descriptors, conf.Values.Message = "protobuf", name, "test.All"
			conf.Objects.Format.Name = "length-prefixed"
			set(&conf)
			refused := Describe(t.Context(), io.Discard, conf, false)
			fits := false
			var last error
			for _, m := range messages {
				r := orderOf(conf.Values)
				r.Value = m
				_, _, last = taken(t, conf, r)
				fits = fits || last == nil
			}
			if fits != (refused == nil) {
				t.Errorf("%s as a %s: check says %v, a record %v", path, use, refused, last)
			}
		}
	}
}
