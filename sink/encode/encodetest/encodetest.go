// SPDX-License-Identifier: Apache-2.0

// Package encodetest checks that a format is what the sink demands.
package encodetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/record"
)

// Run checks the formats that open makes of one configuration, with hostile records and with those given, of which the format should take
// most. It is called from a test:
//
//	func TestMine(t *testing.T) { encodetest.Run(t, func() encode.Format { return mine.New("x") }, records...) }
//
// It checks that equal records make equal bytes, by whichever instance and goroutine; that a bad record leaves the object as it was; that nothing of a record is
// kept or changed; that errors of the writer are returned and are no *record.Bad; that tombstones, empty values and values of 10 MB are written or refused; that Held is an honest figure; and that an
// encoder can be freed at any time.
func Run(t *testing.T, open func() encode.Format, own ...record.Record) {
	t.Run("Format", func(t *testing.T) { described(t, open()) })
	records := append(slices.Clone(own), Records()...)
	all := object(t, open(), records, whole)
	t.Run("Deterministic", func(t *testing.T) {
		for range 2 {
			if again := object(t, open(), records, whole); !bytes.Equal(again.bytes, all.bytes) || !slices.Equal(again.taken, all.taken) {
				t.Errorf("equal records made %d bytes and %d other ones", len(all.bytes), len(again.bytes))
			}
		}
	})
	t.Run("BadLeavesNothing", func(t *testing.T) {
		var good []record.Record
		for i := range records {
			if all.taken[i] {
				good = append(good, records[i])
			}
		}
		if alone := object(t, open(), good, whole); !bytes.Equal(alone.bytes, all.bytes) {
			t.Errorf("with records that were refused between them, %d records make %d bytes, and without these %d other ones", len(good), len(all.bytes), len(alone.bytes))
		}
	})
	t.Run("KeepsNothing", func(t *testing.T) {
		if scribbled := object(t, open(), records, scribble); !bytes.Equal(scribbled.bytes, all.bytes) {
			t.Error("the object is another if the memory of a record gets other contents after Append")
		}
	})
	t.Run("Concurrent", func(t *testing.T) {
		f := open()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if got := object(t, f, records, whole); !bytes.Equal(got.bytes, all.bytes) {
					t.Error("encoders of one format disturb each other")
				}
			})
		}
		wg.Wait()
	})
	t.Run("WriterFails", func(t *testing.T) { failing(t, open(), records, len(all.bytes)) })
	t.Run("Empty", func(t *testing.T) { empty(t, open()) })
	t.Run("Large", func(t *testing.T) { large(t, open()) })
}

// described checks what a format says of itself.
func described(t *testing.T, f encode.Format) {
	name, extension := f.Name(), f.Extension()
	if base, version, ok := strings.Cut(name, "/"); !ok || base == "" || version == "" || strings.ContainsAny(name, " \n") {
		t.Errorf("the name %q is not a name and a version with a slash between", name)
	}
	if extension != "" && (!strings.HasPrefix(extension, ".") || strings.ContainsAny(extension, "/\\ ")) {
		t.Errorf("the extension %q is none", extension)
	}
	if !strings.Contains(f.ContentType(), "/") {
		t.Errorf("the content type %q is none", f.ContentType())
	}
}

// An outcome is the content of an object, and which records are in it.
type outcome struct {
	bytes []byte
	taken []bool
}

// How the records of an object are handed over.
type manner int

const (
	whole    manner = iota // As they are.
	scribble               // Their bytes are overwritten after Append.
)

// object writes an object of records.
func object(t testing.TB, f encode.Format, records []record.Record, how manner) outcome {
	t.Helper()
	var out bytes.Buffer
	e, err := f.Begin(&out)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Free()
	o := outcome{taken: make([]bool, len(records))}
	for i := range records {
		r := clone(&records[i])
		err := add(f, e, r)
		if how == whole && !same(r, &records[i]) {
			t.Errorf("record %d was changed", i)
		}
		if how == scribble {
			overwrite(r)
		}
		if o.taken[i] = err == nil; !o.taken[i] && !refused(err) {
			t.Fatalf("record %d: the error %v is neither a *record.Bad nor ErrSkip", i, err)
		}
		if e.Held() < 0 {
			t.Errorf("after record %d Held is %d", i, e.Held())
		}
	}
	held, before := e.Held(), out.Len()
	if err := e.End(); err != nil {
		t.Fatal(err)
	}
	if late := int64(out.Len() - before); !f.Compresses() && late > held+1024 {
		t.Errorf("Held was %d before %d bytes were written by End", held, late)
	}
	o.bytes = out.Bytes()
	return o
}

// add does with a record what the sink does.
func add(f encode.Format, e encode.Encoder, r *record.Record) error {
	if err := f.Refuse(r); err != nil {
		return err
	}
	return e.Append(r)
}

func refused(err error) bool {
	bad := (*record.Bad)(nil)
	return errors.As(err, &bad) || errors.Is(err, encode.ErrSkip)
}

// limited fails when so many bytes were written.
type limited struct{ left int }

var errFull = errors.New("encodetest: the writer is full")

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		n := l.left
		l.left = 0
		return n, errFull
	}
	l.left -= len(p)
	return len(p), nil
}

// failing checks that errors of a writer are returned by Begin, Append or End.
func failing(t *testing.T, f encode.Format, records []record.Record, size int) {
	for _, limit := range []int{0, 1, size / 2, size - 1} {
		if limit < 0 || limit >= size {
			continue
		}
		err := func() error {
			e, err := f.Begin(&limited{limit})
			if err != nil {
				return err
			}
			defer e.Free()
			for i := range records {
				if err := add(f, e, clone(&records[i])); err != nil && !refused(err) {
					return err
				}
			}
			return e.End()
		}()
		if !errors.Is(err, errFull) {
			t.Errorf("a writer that fails after %d bytes of %d makes the error %v", limit, size, err)
		}
	}
}

// empty checks objects without records, and encoders that are freed before their end.
func empty(t *testing.T, f encode.Format) {
	a, b := object(t, f, nil, whole), object(t, f, nil, whole)
	if !bytes.Equal(a.bytes, b.bytes) {
		t.Error("two objects without records differ")
	}
	for n := range 3 {
		e, err := f.Begin(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if err := add(f, e, &Records()[i]); err != nil && !refused(err) {
				t.Error(err)
			}
		}
		e.Free()
	}
}

// large checks values of 10 MB: text, JSON and bytes that are neither.
func large(t *testing.T, f encode.Format) {
	const size = 10 << 20
	values := [][]byte{bytes.Repeat([]byte("x"), size), fmt.Appendf(nil, `{"type":%q,"n":1}`, bytes.Repeat([]byte("y"), size)), bytes.Repeat([]byte{0xff}, size), fmt.Appendf(nil, "%d", 5)}
	var records []record.Record
	for i, v := range values {
		records = append(records, record.Record{Topic: "t", Offset: int64(i), Timestamp: 1, Key: []byte("k"), Value: v})
	}
	object(t, f, records, whole)
}

// Records are the hostile ones that Run uses.
func Records() (list []record.Record) {
	values := []string{"", " ", "a", "\n", "a\nb", "\r\n", "\r", "\x00", "\xff", "é", "\u2028", "\"", `\`, ",", "a,b\"c\"\r\nd", "null", "true", "1", "-0", "1e400", "12345678901234567890", `""`, `"a\nb"`, `"\ud800"`,
		"[]", "{}", "{", "{\n\t\"type\" : \"order\",\r\n\t\"n\": 1\n}", `{"type":"a","type":"b"}`, `{"type":null,"n":1.5}`, `{"type":"x","n":"y"}`, `{"type":{"a":[1,{"b":[]}]},"n":[]}`, `{"type":"` + "\n" + `"}`,
		`{"":0,".":1,"a b":2}`, strings.Repeat("[", 300) + strings.Repeat("]", 300), strings.Repeat("{\"a\":", 20000), `{"type":"` + strings.Repeat("z", 100_000) + `"}`, strings.Repeat("\"", 70_000)}
	for i, v := range values {
		list = append(list,
			record.Record{Topic: "topic", Partition: 3, Offset: int64(i) * 10, Timestamp: 1_730_000_000_000 + int64(i), Key: []byte(v), Value: []byte(v), Headers: []record.Header{{Key: v, Value: []byte(v)}, {Key: "h"}, {Key: "h", Value: []byte{}}}},
			record.Record{Topic: "topic", Partition: 3, Offset: int64(i)*10 + 5, Timestamp: int64(i) - 2, AppendTime: true, Value: []byte(v)})
	}
	return append(list, record.Record{Topic: "topic", Offset: 1 << 60, Timestamp: -1}, record.Record{Topic: "topic", Offset: 1<<60 + 1, Timestamp: -1, Key: []byte("deleted")},
		record.Record{Topic: "topic", Offset: 1<<62 + 2, Timestamp: 1<<63 - 1, Key: []byte{}, Value: []byte{}}, record.Record{Topic: "topic", Offset: 1<<62 + 3, Value: []byte(`{"type":"last","n":7}`)})
}

// Fuzz is Run's check of bad records for random ones. It is called from a fuzz target:
//
//	func FuzzMine(f *testing.F) { encodetest.Fuzz(f, func() encode.Format { return mine.New("x") }) }
func Fuzz(f *testing.F, open func() encode.Format) {
	for _, r := range Records()[:40] {
		f.Add(r.Key, r.Value, r.Timestamp)
	}
	f.Fuzz(func(t *testing.T, key, value []byte, timestamp int64) {
		between := record.Record{Topic: "t", Offset: 2, Timestamp: timestamp, Key: key, Value: value, Headers: []record.Header{{Key: string(key), Value: value}}}
		around := record.Record{Topic: "t", Offset: 1, Timestamp: 1, Key: []byte("k"), Value: []byte(`{"type":"order","n":1}`)}
		format := open()
		all := object(t, format, []record.Record{around, between, around}, scribble)
		if !all.taken[1] {
			if alone := object(t, format, []record.Record{around, around}, whole); !bytes.Equal(all.bytes, alone.bytes) {
				t.Errorf("the record with the value %q was refused and left something", value)
			}
		}
	})
}

// clone copies a record with all of its bytes.
func clone(r *record.Record) *record.Record {
	c := *r
	c.Key, c.Value, c.Headers = bytes.Clone(r.Key), bytes.Clone(r.Value), slices.Clone(r.Headers)
	for i := range c.Headers {
		c.Headers[i].Value = bytes.Clone(c.Headers[i].Value)
	}
	return &c
}

func same(a, b *record.Record) bool {
	equal := func(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
	return a.Topic == b.Topic && a.Partition == b.Partition && a.Offset == b.Offset && a.Timestamp == b.Timestamp && a.AppendTime == b.AppendTime &&
		equal(a.Key, b.Key) && equal(a.Value, b.Value) && slices.EqualFunc(a.Headers, b.Headers, func(a, b record.Header) bool { return a.Key == b.Key && equal(a.Value, b.Value) })
}

// overwrite puts other bytes into a record.
func overwrite(r *record.Record) {
	for i := range r.Key {
		r.Key[i] = '#'
	}
	for i := range r.Value {
		r.Value[i] = '#'
	}
	for _, h := range r.Headers {
		for i := range h.Value {
			h.Value[i] = '#'
		}
	}
	clear(r.Headers)
}
