// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"context"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// sources are the files of the tests: proto3, proto2 and an edition.
var sources = map[string]string{
	"three.proto": `syntax = "proto3"; package test;
import "google/protobuf/any.proto"; import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto"; import "google/protobuf/struct.proto";
import "google/protobuf/wrappers.proto"; import "google/protobuf/field_mask.proto"; import "google/protobuf/empty.proto"; import "two.proto";
enum Color { option allow_alias = true; NONE = 0; RED = 1; CRIMSON = 1; BLUE = -2; }
message All {
  double a_double = 1; float a_float = 2; int32 i32 = 3; int64 i64 = 4; uint32 u32 = 5; uint64 u64 = 6; sint32 s32 = 7; sint64 s64 = 8;
  fixed32 f32 = 9; fixed64 f64 = 10; sfixed32 sf32 = 11; sfixed64 sf64 = 12; bool a_bool = 13; string a_string = 14; bytes some_bytes = 15; Color color = 16;
  optional int32 opt_i32 = 17; optional string opt_string = 18; optional Color opt_color = 19;
  repeated int32 many = 20; repeated int64 unpacked = 21 [packed = false]; repeated string strings = 22; repeated Color colors = 23; repeated double doubles = 24; repeated bool bools = 25;
  repeated sint32 zigzags = 26; repeated fixed64 fixeds = 27; repeated bytes blobs = 28;
  All self = 30; repeated All selves = 31; Inner inner = 32; repeated Inner inners = 33;
  map<string, string> labels = 40; map<int32, Inner> by_id = 41; map<bool, Color> flags = 42; map<uint64, All> tree = 43; map<sint64, double> numbers = 44; map<string, google.protobuf.Value> values_by = 45;
  oneof choice { string text = 50; int64 number = 51; Inner message = 52; google.protobuf.NullValue nothing = 53; google.protobuf.Timestamp at = 54; }
  google.protobuf.Any any = 60; repeated google.protobuf.Any anys = 61; google.protobuf.Timestamp time = 62; repeated google.protobuf.Timestamp times = 63; google.protobuf.Duration duration = 64;
  google.protobuf.Struct struct = 65; google.protobuf.Value value = 66; google.protobuf.ListValue list = 67; google.protobuf.FieldMask mask = 68; google.protobuf.Empty empty = 69;
  google.protobuf.BoolValue w_bool = 70; google.protobuf.Int64Value w_i64 = 71; google.protobuf.UInt32Value w_u32 = 72; google.protobuf.DoubleValue w_double = 73; google.protobuf.FloatValue w_float = 74;
  google.protobuf.StringValue w_string = 75; google.protobuf.BytesValue w_bytes = 76; repeated google.protobuf.Int64Value w_many = 77; google.protobuf.NullValue null = 78;
  Two two = 80; string renamed = 81 [json_name = "other name\""]; int32 far = 5000; string last = 536870911;
}
message Inner { string name = 1; int64 id = 2; Inner deeper = 3; message Nested { map<string, int32> m = 1; message Far { int32 x = 1; } } Nested nested = 4; }`,
	"two.proto": `syntax = "proto2"; package test;
enum Old { ONE = 1; TWO = 2; }
enum Zeroed { ZERO = 0; FIVE = 5; }
message Two {
  optional int32 plain = 1 [default = 7]; required string needed = 2; optional Old old = 3; repeated int32 list = 4; repeated Old olds = 5 [packed = true]; optional string loose = 6; repeated string looses = 7;
  optional group Grp = 8 { optional int32 x = 1; optional Grp again = 2; optional string s = 3; } repeated group Many = 9 { optional Two two = 1; } optional Two two = 10;
  map<string, Zeroed> by_old = 11; map<string, Sub> subs = 12; oneof pick { int32 p_int = 13; Sub p_sub = 14; group PGrp = 15 { optional int32 y = 1; } }
  extensions 100 to 200;
  message Sub { optional int32 a = 1; required int32 b = 2; repeated Sub more = 3; }
  extend Two { optional Sub sub_ext = 101; }
}
extend Two { optional int32 number_ext = 100; repeated string string_exts = 102; optional Two two_ext = 103; repeated Old old_exts = 104 [packed = true]; }`,
	"edition.proto": `edition = "2023"; package test; import "two.proto";
message Ed {
  string implicit = 1 [features.field_presence = IMPLICIT]; int32 explicit = 2; string unchecked = 3 [features.utf8_validation = NONE]; repeated int32 expanded = 4 [features.repeated_field_encoding = EXPANDED];
  Ed delimited = 5 [features.message_encoding = DELIMITED]; int32 needed = 6 [features.field_presence = LEGACY_REQUIRED]; repeated Ed eds = 7 [features.message_encoding = DELIMITED]; map<string, Ed> map = 8; Closed closed = 9;
  extensions 50 to 60;
}
enum Closed { option features.enum_type = CLOSED; C_ONE = 1; C_TWO = 2; }
extend Ed { string ed_ext = 50; } extend Two { string two_from_ed = 150; }`,
}

// The messages of the tests.
var messages = []string{"test.All", "test.Two", "test.Ed", "google.protobuf.Value", "google.protobuf.Any", "test.Inner"}

// descriptors compiles the sources. The files of google/protobuf are not among them.
func descriptors(t testing.TB) *descriptorpb.FileDescriptorSet {
	t.Helper()
	c := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(sources)})}
	files, err := c.Compile(context.Background(), "two.proto", "three.proto", "edition.proto")
	if err != nil {
		t.Fatal(err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	for _, f := range files {
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	return set
}

// A world is the Set of the sources beside what protobuf-go makes of the same descriptors.
type world struct {
	set   *Set
	types *dynamicpb.Types
}

func newWorld(t testing.TB, o Options) *world {
	t.Helper()
	set, err := NewSet(descriptors(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return &world{set, dynamicpb.NewTypes(set.files)}
}

// message returns a type in both forms.
func (w *world) message(t testing.TB, name string) (*Type, protoreflect.MessageDescriptor) {
	t.Helper()
	of, err := w.set.Type(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := w.types.FindMessageByName(protoreflect.FullName(name))
	if err != nil {
		t.Fatal(err)
	}
	return of, m.Descriptor()
}
