// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/freehold-go/freehold/sink/record"
)

// errReference says that protobuf-go 1.36 panics: in an entry of a map, a second key of another wire type replaces the first by nothing.
var errReference = errors.New("protobuf-go panics")

// expected is what protobuf-go makes of a message.
func (w *world) expected(m protoreflect.MessageDescriptor, b []byte) (d *dynamicpb.Message, text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			if !strings.Contains(fmt.Sprint(r), "cannot convert nil to map key") {
				panic(r)
			}
			d, text, err = nil, "", errReference
		}
	}()
	d = dynamicpb.NewMessage(m)
	if err := (proto.UnmarshalOptions{Resolver: w.types}).Unmarshal(b, d); err != nil {
		return nil, "", err
	}
	b, err = protojson.MarshalOptions{Resolver: w.types, UseProtoNames: w.set.o.ProtoNames}.Marshal(d)
	return d, string(b), err
}

// normal is a JSON value in which equal numbers are equal.
func normal(t testing.TB, text string) any {
	t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s is no JSON: %v", text, err)
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				v[k] = walk(e)
			}
		case []any:
			for i, e := range v {
				v[i] = walk(e)
			}
		case json.Number:
			if x, err := strconv.ParseFloat(string(v), 64); err == nil && strings.ContainsAny(string(v), ".eE") {
				return x
			}
		}
		return v
	}
	return walk(v)
}

// compare compares AppendJSON with protojson, and reports whether both took the message.
func (w *world) compare(t testing.TB, of *Type, m protoreflect.MessageDescriptor, b []byte) bool {
	t.Helper()
	_, want, wantErr := w.expected(m, b)
	got, err := of.AppendJSON([]byte("before"), b)
	if !bytes.HasPrefix(got, []byte("before")) || err != nil && len(got) != 6 {
		t.Fatalf("%x: the result is %q, %v", b, got, err)
	}
	if bad := (*record.Bad)(nil); err != nil && !errors.As(err, &bad) {
		t.Errorf("%x: the error %v is no *record.Bad", b, err)
	}
	if wantErr == errReference {
		return err == nil
	}
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s %x: %s, %v; protojson says %s, %v", m.FullName(), b, got[6:], err, want, wantErr)
	}
	if err != nil {
		return false
	}
	if text := string(got[6:]); !reflect.DeepEqual(normal(t, text), normal(t, want)) {
		t.Fatalf("%s %x:\n%s\n%s", m.FullName(), b, text, want)
	}
	return true
}

// TestProtojson compares random messages, whole and damaged ones.
func TestProtojson(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 4000
	}
	for _, names := range []bool{false, true} {
		w := newWorld(t, Options{ProtoNames: names})
		for _, name := range messages {
			of, m := w.message(t, name)
			taken := 0
			for seed := range uint64(n / len(messages)) {
				g := &maker{rand.New(rand.NewPCG(seed, 1)), w}
				b := g.message(m, 5)
				if g.chance(20) {
					b = append(b, g.message(m, 4)...)
				}
				if g.chance(20) {
					b = g.damage(b)
				}
				if w.compare(t, of, m, b) {
					taken++
				}
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
			if taken < n/len(messages)/8 {
				t.Errorf("%s: %d messages of %d were taken", name, taken, n/len(messages))
			}
		}
	}
}

// FuzzProtojson compares any bytes.
func FuzzProtojson(f *testing.F) {
	w := newWorld(f, Options{})
	for i, name := range messages {
		_, m := w.message(f, name)
		for seed := range uint64(30) {
			g := &maker{rand.New(rand.NewPCG(seed, 2)), w}
			f.Add(byte(i), g.message(m, 4))
		}
	}
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		of, m := w.message(t, messages[int(which)%len(messages)])
		w.compare(t, of, m, b)
	})
}

// TestDeep: messages within each other are read as deep as protobuf-go reads them, as messages, groups, and in maps.
func TestDeep(t *testing.T) {
	w := newWorld(t, Options{})
	// Each head stands in front of what it encloses. Built from the inside, content would be copied once a level.
	enclose := func(depth int, head func(size int) []byte) []byte {
		heads, size := make([][]byte, depth), 0
		for i := range depth {
			h := head(size)
			heads[depth-1-i], size = h, size+len(h)
		}
		return bytes.Join(heads, nil)
	}
	nest := func(number protowire.Number, group bool, depth int) []byte {
		if group {
			return append(bytes.Repeat(protowire.AppendTag(nil, number, protowire.StartGroupType), depth), bytes.Repeat(protowire.AppendTag(nil, number, protowire.EndGroupType), depth)...)
		}
		return enclose(depth, func(size int) []byte {
			return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.BytesType), uint64(size))
		})
	}
	for _, e := range []struct {
		name   string
		number protowire.Number
		group  bool
	}{{"test.All", 30, false}, {"test.All", 31, false}, {"google.protobuf.Value", 6, false}, {"test.All", 1999, true}} {
		of, m := w.message(t, e.name)
		for _, depth := range []int{10, 1000, 9998, 9999, 10_000, 10_001, 12_000} {
			b := nest(e.number, e.group, depth)
			d := dynamicpb.NewMessage(m)
			err := proto.UnmarshalOptions{Resolver: w.types}.Unmarshal(b, d)
			_, got := of.AppendJSON(nil, b)
			if e.name == "google.protobuf.Value" {
				got = of.check(b, deepest) // As JSON it has no kind.
			}
			if (got == nil) != (err == nil) {
				t.Errorf("%s %d, depth %d: %v, protobuf-go says %v", e.name, e.number, depth, got, err)
			}
		}
	}
	// Any within Any counts together.
	of, _ := w.message(t, "google.protobuf.Any")
	b := enclose(12_000, func(size int) []byte {
		b := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "/google.protobuf.Any")
		return protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.BytesType), uint64(size))
	})
	if _, err := of.AppendJSON(nil, b); !errors.Is(err, errDepth) {
		t.Error(err)
	}
}

// TestText: the form of the text, which differential tests do not see: one line, the order of fields, escapes, names.
func TestText(t *testing.T) {
	w := newWorld(t, Options{})
	of, m := w.message(t, "test.All")
	d := dynamicpb.NewMessage(m)
	text := `{"labels":{"b":"2","a":"1"},"i64":"-5","iAmNot":1,"aString":"x\ny\u0001\"","color":"RED","byId":{"10":{},"9":{"name":"n"}},"time":"2026-01-31T15:04:05.120Z","duration":"-1.500s","wI64":"7","aDouble":1e21}`
	text = strings.Replace(text, `"iAmNot":1,`, "", 1)
	if err := (protojson.UnmarshalOptions{Resolver: w.types}).Unmarshal([]byte(text), d); err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	got, err := of.AppendJSON(nil, b)
	want := `{"aDouble":1e+21,"i64":"-5","aString":"x\ny\u0001\"","color":"RED","labels":{"a":"1","b":"2"},"byId":{"9":{"name":"n"},"10":{}},"time":"2026-01-31T15:04:05.120Z","duration":"-1.500s","wI64":"7"}`
	if string(got) != want || err != nil {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

func TestSetErrors(t *testing.T) {
	files := descriptors(t)
	good, err := proto.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	set, err := Parse(good, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set.Type("test.Nothing"); err == nil || !strings.Contains(err.Error(), "they have test.All, test.Ed, test.Inner, test.Two") {
		t.Error(err)
	}
	if _, err := set.Type("test.Color"); err == nil || !strings.Contains(err.Error(), "is no message") {
		t.Error(err)
	}
	if _, err := Parse([]byte("x"), Options{}); err == nil || !strings.Contains(err.Error(), "no FileDescriptorSet") {
		t.Error(err)
	}
	alone := &descriptorpb.FileDescriptorSet{File: files.File[1:2]}
	if _, err := NewSet(alone, Options{}); err == nil {
		t.Error("a set without an import is none")
	}
	falsified := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: proto.String("google/protobuf/timestamp.proto"), Package: proto.String("google.protobuf"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("Timestamp")}},
	}}}
	other, err := NewSet(falsified, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Type("google.protobuf.Timestamp"); err == nil || !strings.Contains(err.Error(), "other fields than the well-known one") {
		t.Error(err)
	}
	for want, indexes := range map[string][]int{"test.All": {0}, "test.Inner": {1}, "test.Inner.Nested": {1, 0}, "test.Inner.Nested.Far": {1, 0, 0}, "": {1, 0, 1}} {
		of, err := set.ByIndexes("three.proto", indexes)
		if want == "" && err == nil || want != "" && (err != nil || of.FullName() != want) {
			t.Errorf("%v is %v, %v", indexes, of, err)
		}
	}
	if _, err := set.ByIndexes("three.proto", nil); err == nil {
		t.Error("no index leads to a message")
	}
}

var paths = []struct{ path, message, want string }{
	{"i64", `{"i64":"9007199254740993"}`, "9007199254740993"}, {"aString", `{"aString":"x"}`, `"x"`}, {"a_string", `{}`, `""`}, {"aBool", `{}`, "false"}, {"color", `{}`, `"NONE"`},
	{"optString", `{}`, ""}, {"optString", `{"optString":""}`, `""`}, {"self.self.u64", `{"self":{"self":{"u64":"5"}}}`, "5"}, {"self.i32", `{}`, ""}, {"self.i32", `{"self":{}}`, "0"},
	{"nowhere", `{}`, ""}, {"self.nowhere.x", `{"self":{}}`, ""}, {"time", `{"time":"2026-01-31T15:04:05Z"}`, `"2026-01-31T15:04:05Z"`}, {"wI64", `{"wI64":"5"}`, "5"}, {"wI64", `{}`, ""},
	{"labels.a", `{"labels":{"a":"1"}}`, `{"a":"1"} 1`}, {"labels", `{"labels":{"a":"1"}}`, `{"a":"1"}`}, {"struct.a.b", `{"struct":{"a":{"b":1}}}`, `{"a":{"b":1}} 2`}, {"many", `{"many":[1,2]}`, `[1,2]`},
	{"many", `{}`, ""}, {"many.x", `{"many":[1]}`, ""}, {"i32.x", `{"i32":1}`, ""}, {"selves.i32", `{"selves":[{}]}`, ""}, {"inner", `{"inner":{"id":"1"}}`, `{"id":"1"}`}, {"number", `{"number":"3"}`, "3"}, {"text", `{"number":"3"}`, ""},
	{"two.plain", `{"two":{"needed":""}}`, ""}, {"value.x", `{"value":{"x":"y"}}`, `{"x":"y"} 1`}, {"time.seconds", `{"time":"2026-01-31T15:04:05Z"}`, `"2026-01-31T15:04:05Z" 1`}, {"null", `{}`, "null"},
}

func TestPaths(t *testing.T) {
	w := newWorld(t, Options{})
	of, m := w.message(t, "test.All")
	for _, e := range paths {
		d := dynamicpb.NewMessage(m)
		if err := (protojson.UnmarshalOptions{Resolver: w.types}).Unmarshal([]byte(e.message), d); err != nil {
			t.Fatal(e.message, err)
		}
		b, err := proto.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		got, rest, err := of.AppendField([]byte("x"), b, strings.Split(e.path, "."))
		text := string(got[1:])
		if rest > 0 {
			text += fmt.Sprint(" ", rest)
		}
		if err != nil || !reflect.DeepEqual(strings.Fields(text), strings.Fields(e.want)) {
			t.Errorf("%s in %s is %s, %v, want %s", e.path, e.message, text, err, e.want)
		}
	}
	// Parts of a message that stand apart are merged, and the last of a oneof counts.
	b := []byte("\xf2\x01\x02\x18\x05" + "\x92\x03\x01x" + "\xf2\x01\x02\x28\x07" + "\x98\x03\x01")
	for path, want := range map[string]string{"self.i32": "5", "self.u32": "7", "text": "", "number": "1"} {
		if got, _, err := of.AppendField(nil, b, strings.Split(path, ".")); string(got) != want || err != nil {
			t.Errorf("%s is %s, %v", path, got, err)
		}
	}
	if _, _, err := of.AppendField(nil, []byte("\xff"), []string{"i32"}); !errors.Is(err, errWire) {
		t.Error(err)
	}
	for path, want := range map[string]string{"nowhere": "has no field", "i32.x": "leads nowhere", "selves.i32": "leads nowhere", "time": "its unit is rfc3339", "self.self.labels.any.thing": "leads nowhere", "values_by.any.thing": "", "labels.any": "", "tree.1.i32": "", "time.seconds": "leads nowhere", "struct.x.y": "", "self.i64": ""} {
		if _, _, err := of.CheckPath(strings.Split(path, "."), "ms"); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestFields: each field of random messages is what AppendJSON says, but for integers of 64 bits and zeros.
func TestFields(t *testing.T) {
	w := newWorld(t, Options{})
	for _, name := range []string{"test.All", "test.Two", "test.Ed"} {
		of, m := w.message(t, name)
		for seed := range uint64(300) {
			g := &maker{rand.New(rand.NewPCG(seed, 3)), w}
			b := append(g.message(m, 4), g.message(m, 4)...)
			text, err := of.AppendJSON(nil, b)
			if err != nil {
				continue
			}
			whole := normal(t, string(text)).(map[string]any)
			for i := range of.fields {
				f := &of.fields[i]
				got, rest, err := of.AppendField(nil, b, []string{f.name})
				want, has := whole[f.name]
				switch {
				case err != nil || rest != 0 || has && len(got) == 0 || !has && len(got) > 0 && (f.presence || f.list):
					t.Fatalf("seed %d: %s of %s is %s, %d, %v", seed, f.name, text, got, rest, err)
				case !has:
					continue
				}
				if is := normal(t, string(got)); !reflect.DeepEqual(is, want) && fmt.Sprint(is) != fmt.Sprint(want) {
					t.Fatalf("seed %d: %s is %s, want %v", seed, f.name, got, want)
				}
			}
		}
	}
}

// FuzzField: any bytes and paths make an error or a value, and nothing worse.
func FuzzField(f *testing.F) {
	w := newWorld(f, Options{})
	of, m := w.message(f, "test.All")
	for i, e := range paths {
		g := &maker{rand.New(rand.NewPCG(uint64(i), 4)), w}
		f.Add(g.message(m, 4), e.path)
	}
	columns, err := of.Columns()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte, path string) {
		got, _, err := of.AppendField(nil, b, strings.Split(path, "."))
		if err == nil && len(got) > 0 && !json.Valid(got) {
			t.Errorf("%s is %s", path, got)
		}
		_, jsonErr := of.AppendJSON(nil, b)
		if err := columns.NewShredder(&cellList{}).Shred(b); jsonErr == nil && err != nil {
			t.Errorf("%x: %v", b, err)
		}
	})
}

// TestNoAllocation: a message costs nothing on the Go heap.
func TestNoAllocation(t *testing.T) {
	w := newWorld(t, Options{})
	of, m := w.message(t, "test.All")
	columns, err := of.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for seed := uint64(0); len(all) < 100; seed++ {
		g := &maker{rand.New(rand.NewPCG(seed, 5)), w}
		b := append(g.message(m, 5), g.message(m, 5)...)
		if _, err := of.AppendJSON(nil, b); err == nil && len(b) > 50 {
			all = append(all, b)
		}
	}
	to := &cellList{}
	shredder := columns.NewShredder(to)
	path := [][]string{{"i64"}, {"self", "labels"}, {"time"}, {"struct", "a"}, {"inner", "deeper", "name"}}
	out, field, i := make([]byte, 0, 1<<20), make([]byte, 0, 1<<20), 0
	run := func() {
		b := all[i%len(all)]
		i++
		out, _ = of.AppendJSON(out[:0], b)
		for _, p := range path {
			field, _, _ = of.AppendField(field[:0], b, p)
		}
		to.cells = to.cells[:0]
		if err := shredder.Shred(b); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 * len(all) {
		run()
	}
	if n := testing.AllocsPerRun(len(all), run); n != 0 {
		t.Errorf("%v allocations per message", n)
	}
}

// order is a message like those of the benchmarks of the sink.
func order(t testing.TB) (*world, *Type, protoreflect.MessageDescriptor, []byte) {
	w := newWorld(t, Options{})
	of, m := w.message(t, "test.All")
	d := dynamicpb.NewMessage(m)
	text := `{"aString":"order_paid","i64":"1730000000000","u32":17,"aDouble":129.95,"aBool":true,"color":"RED","strings":["` + strings.Repeat("x", 60) + `","two","three"],"many":[1,2,3,4,5,6,7,8],
"inner":{"name":"Izmir","id":"35","deeper":{"name":"` + strings.Repeat("street ", 20) + `"}},"inners":[{"name":"a","id":"1"},{"name":"b","id":"2"},{"name":"c","id":"3"}],"labels":{"source":"web","campaign":"autumn"},
"time":"2026-01-31T15:04:05.999Z","wString":"` + strings.Repeat("note ", 60) + `","text":"` + strings.Repeat("comment ", 40) + `","f64":"123456789012345678"}`
	if err := (protojson.UnmarshalOptions{Resolver: w.types}).Unmarshal([]byte(text), d); err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return w, of, m, b
}

func BenchmarkJSON(b *testing.B) {
	w, of, m, message := order(b)
	b.Run("tables", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(message)))
		var out []byte
		var err error
		for b.Loop() {
			if out, err = of.AppendJSON(out[:0], message); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("field", func(b *testing.B) {
		b.ReportAllocs()
		var out []byte
		var err error
		for b.Loop() {
			if out, _, err = of.AppendField(out[:0], message, []string{"inner", "name"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("protojson", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(message)))
		var out []byte
		for b.Loop() {
			d := dynamicpb.NewMessage(m)
			err := proto.UnmarshalOptions{Resolver: w.types}.Unmarshal(message, d)
			if err == nil {
				out, err = protojson.MarshalOptions{Resolver: w.types}.MarshalAppend(out[:0], d)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
