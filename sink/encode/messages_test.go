// SPDX-License-Identifier: Apache-2.0

package encode_test

import (
	"io"
	"testing"

	. "github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/encode/encodetest"
	"github.com/freehold-go/freehold/sink/internal/race"
	"github.com/freehold-go/freehold/sink/protobuf"
	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/schema"
)

// click is a type of messages.
func click(t testing.TB) *protobuf.Type {
	t.Helper()
	set, err := schema.Compile("a.proto", map[string]string{"a.proto": `syntax = "proto3"; message Click { string type = 1; int64 n = 2; Click of = 3; }`}, protobuf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	of, err := set.Type("Click")
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// framed are records with messages, some with the framing of a schema registry.
func framed(of *protobuf.Type) (list []record.Record) {
	for i, value := range []string{"\x0a\x05order\x10\x07", "", "\x1a\x04\x0a\x02in", "\x0a\x01\xff", "\xff", "\x0a\x02a\n", "\x0a\x02\"\\\x0a\x01b"} {
		r := record.Record{Topic: "t", Offset: int64(i), Timestamp: 5, Key: []byte("k"), Value: []byte(value), Schema: of}
		list = append(list, r)
		r.Value, r.Framed = append([]byte{0, 0, 0, 0, 9, 0}, value...), 6
		list = append(list, r)
	}
	return list
}

func TestMessagesConformance(t *testing.T) {
	of := click(t)
	for _, name := range []string{"varint", "jsonl", "jsonl trust", "envelope", "envelope base64", "csv fields", "csv checked"} {
		t.Run(name, func(t *testing.T) { encodetest.Run(t, formats[name], framed(of)...) })
	}
}

func TestMessages(t *testing.T) {
	of := click(t)
	records := framed(of)
	for _, e := range []struct {
		f    Format
		want string
		bad  int
	}{
		{formats["jsonl"](), "{\"type\":\"order\",\"n\":\"7\"}\n{\"type\":\"order\",\"n\":\"7\"}\n{}\n{}\n{\"of\":{\"type\":\"in\"}}\n{\"of\":{\"type\":\"in\"}}\n{\"type\":\"a\\n\"}\n{\"type\":\"a\\n\"}\n{\"type\":\"b\"}\n{\"type\":\"b\"}\n", 4},
		{must(JSONLines(JSONLinesOptions{Envelope: []string{"offset", "value"}})), `{"offset":0,"value":{"type":"order","n":"7"}}` + "\n", 0},
		{must(JSONLines(JSONLinesOptions{Envelope: []string{"value"}, Value: "base64"})), `{"value":"CgVvcmRlchAH"}` + "\n", 0},
		{must(CSV(CSVOptions{Columns: []string{"value.type", "value.n", "value.of.type"}, NoHeader: true})), "order,7,\r\n", 0},
		{must(Delimited(DelimitedOptions{})), "\x09\x0a\x05order\x10\x07", 0},
	} {
		in := records[:1]
		if e.bad > 0 {
			in = records
		}
		got, errs := encode(t, e.f, in...)
		bad := 0
		for _, err := range errs {
			if err != nil {
				bad++
			}
		}
		if got != e.want || bad != e.bad {
			t.Errorf("%s: %q with %d bad records, want %q with %d", e.f.Name(), got, bad, e.want, e.bad)
		}
	}
}

// TestMessagesNoAllocation: a message becomes a line without allocation.
func TestMessagesNoAllocation(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector drops what sync.Pool keeps")
	}
	r := framed(click(t))[0]
	for name, f := range map[string]Format{"jsonl": formats["jsonl"](), "csv": formats["csv fields"](), "envelope": formats["envelope"]()} {
		e, err := f.Begin(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		run := func() {
			if err := e.Append(&r); err != nil {
				t.Fatal(err)
			}
		}
		run()
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		e.Free()
	}
}
