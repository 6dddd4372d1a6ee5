// SPDX-License-Identifier: Apache-2.0

// Package partitiontest checks that a partitioner is what the sink demands.
package partitiontest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/sink/partition"
	"github.com/freehold-go/freehold/sink/record"
)

// Run checks the partitioners that open makes of one configuration, with hostile records and with those given. It is called from a test:
//
//	func TestMine(t *testing.T) { partitiontest.Run(t, func() partition.Partitioner { return mine.New("x") }) }
//
// It checks that groups are safe paths, that equal records have equal groups, by whichever instance and goroutine, that nothing of a record is kept or changed, and that errors are of the
// type *record.Bad and leave dst alone.
func Run(t *testing.T, open func() partition.Partitioner, own ...record.Record) {
	records := append(slices.Clone(own), Records()...)
	p := open()
	want := make([]string, len(records)) // The group, or "bad".
	for i := range records {
		want[i] = one(t, p, &records[i], fmt.Sprintf("record %d", i))
	}
	t.Run("Deterministic", func(t *testing.T) {
		for name, other := range map[string]partition.Partitioner{"the same instance": p, "another instance": open()} {
			for _, i := range rand.Perm(len(records)) { // In another order: no record depends on those before.
				if got := one(t, other, &records[i], name); got != want[i] {
					t.Errorf("record %d: %s says %q after %q", i, name, got, want[i])
				}
			}
		}
	})
	t.Run("Concurrent", func(t *testing.T) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i := range records {
					r := clone(&records[i])
					if got := group(p, r); got != want[i] {
						t.Errorf("record %d: %q, and %q among goroutines", i, want[i], got)
					}
				}
			})
		}
		wg.Wait()
	})
	t.Run("KeepsNothing", func(t *testing.T) {
		for i := range records {
			r := clone(&records[i])
			got, err := p.Group(nil, r)
			is := describe(got, err)
			scribble(r)
			p.Group(nil, clone(&records[(i+1)%len(records)]))
			if later := describe(got, err); later != is || is != want[i] {
				t.Errorf("record %d: the group %q became %q when the record's memory had other contents; want %q", i, is, later, want[i])
			}
		}
	})
}

// one checks one call and returns what group does.
func one(t *testing.T, p partition.Partitioner, r *record.Record, what string) string {
	t.Helper()
	const before = "a/b="
	given := clone(r)
	dst, err := p.Group([]byte(before), given)
	given.CheckedJSON = r.CheckedJSON
	if !same(given, r) {
		t.Errorf("%s: the record was changed", what)
	}
	if !strings.HasPrefix(string(dst), before) {
		t.Fatalf("%s: dst was %q and is %q now", what, before, dst)
	}
	got := dst[len(before):]
	if err != nil {
		if bad := (*record.Bad)(nil); !errors.As(err, &bad) {
			t.Errorf("%s: the error %v is no *record.Bad", what, err)
		}
		if len(got) > 0 {
			t.Errorf("%s: %q was appended although the record is bad: %v", what, got, err)
		}
	} else if err := partition.CheckGroup(got); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	return describe(got, err)
}

func group(p partition.Partitioner, r *record.Record) string { return describe(p.Group(nil, r)) }

func describe(group []byte, err error) string {
	if err != nil {
		return "bad: " + err.Error()
	}
	return string(group)
}

// Records are the hostile ones that Run uses.
func Records() (list []record.Record) {
	texts := []string{"", "a", "order", "..", ".", "../../etc/passwd", "/", "//", "a/b", "/a/", `\`, `..\..`, "a=b", "a%2Fb", "%", "%empty", "\x00", "a\x00b", "\n", "\x7f", "\u0085", "\u2028",
		"\xff\xfe", "\xc3", "é", "e\u0301", "çanta", "日本", "🙂", " ", " a ", "a b", "*", "?", ":", "con", "~", ".hidden", "NULL", strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("../", 400),
		strings.Repeat("é", 5000), strings.Repeat("\x00", 300), strings.Repeat("a", 1<<20)}
	values := []string{"", "null", "1", `"a"`, "[]", "{}", "{", "x", `{"a":1}`, `{"a":{"b":"c"}}`, `{"type":"order","timestamp":1730000000000,"user":{"id":17}}`, `{"type":null,"timestamp":null}`,
		`{"type":["x"],"timestamp":{}}`, `{"type":"../..","timestamp":-1}`, `{"type":"a\u0000\/b","timestamp":99999999999999999999}`, `{"type":1e400,"timestamp":"2026-01-31T15:04:05+03:00"}`,
		`{"type":"\ud800","timestamp":"x"}`, `{"type":true,"timestamp":1e3}`, `{"type":"a","type":"b"}`, strings.Repeat("[", 20000), `{"type":"` + strings.Repeat("y", 1<<20) + `"}`}
	times := []int64{-1, 0, 1, 1_730_000_000_000, 1_730_000_000_001, 4_102_444_800_000, math.MaxInt64, math.MinInt64, -2_000_000_000_000, 253_402_300_799_999, 1 << 53}
	for _, text := range texts {
		list = append(list, record.Record{Topic: "t", Timestamp: 1_730_000_000_000, Key: []byte(text), Value: []byte(text), Headers: []record.Header{{Key: "type", Value: []byte(text)}, {Key: text}}})
		value := fmt.Appendf(nil, `{"type":%q,"timestamp":%q}`, text, text)
		list = append(list, record.Record{Topic: "t", Timestamp: 1_730_000_000_000, Value: value})
	}
	for _, value := range values {
		list = append(list, record.Record{Topic: "t", Timestamp: 1_730_000_000_000, Key: []byte(value), Value: []byte(value)})
	}
	for i, ms := range times {
		list = append(list, record.Record{Topic: "t", Partition: int32(i), Offset: int64(i), Timestamp: ms, Value: fmt.Appendf(nil, `{"type":"a","timestamp":%d}`, ms)})
	}
	return append(list, record.Record{Topic: "t", Timestamp: -1}, record.Record{Topic: "t", Key: []byte{}, Value: []byte{}}, record.Record{Topic: "t", Headers: []record.Header{{}, {Key: "type"}}})
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
	return a.Topic == b.Topic && a.Partition == b.Partition && a.Offset == b.Offset && a.Timestamp == b.Timestamp && a.AppendTime == b.AppendTime && a.CheckedJSON == b.CheckedJSON &&
		equal(a.Key, b.Key) && equal(a.Value, b.Value) && slices.EqualFunc(a.Headers, b.Headers, func(a, b record.Header) bool { return a.Key == b.Key && equal(a.Value, b.Value) })
}

// scribble overwrites the bytes of a record.
func scribble(r *record.Record) {
	for _, b := range append([][]byte{r.Key, r.Value}, values(r)...) {
		for i := range b {
			b[i] = '#'
		}
	}
}

func values(r *record.Record) (list [][]byte) {
	for _, h := range r.Headers {
		list = append(list, h.Value)
	}
	return list
}
