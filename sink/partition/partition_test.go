// SPDX-License-Identifier: Apache-2.0

package partition_test

import (
	"bytes"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold/sink/internal/orders"
	"github.com/freehold-go/freehold/sink/internal/race"
	. "github.com/freehold-go/freehold/sink/partition"
	"github.com/freehold-go/freehold/sink/partition/partitiontest"
	"github.com/freehold-go/freehold/sink/record"
)

// must returns a partitioner that can be made.
func must(p Partitioner, err error) Partitioner {
	if err != nil {
		panic(err)
	}
	return p
}

// configurations are partitioners of all kinds.
var configurations = map[string]func() Partitioner{
	"none":          None,
	"hour":          func() Partitioner { return must(Time(TimeOptions{})) },
	"hour or other": func() Partitioner { return must(Time(TimeOptions{NoTime: "dt=unknown", OutOfRange: "dt=wrong/x"})) },
	"minutes": func() Partitioner {
		return must(Time(TimeOptions{Layout: "2006/01/02/15-04", Zone: "Europe/Istanbul", NoTime: "none"}))
	},
	"field time": func() Partitioner {
		return must(Time(TimeOptions{Layout: Day, Field: "timestamp", Zone: "Asia/Kathmandu", Ahead: time.Hour}))
	},
	"rfc3339":  func() Partitioner { return must(Time(TimeOptions{Field: "timestamp", Unit: "rfc3339"})) },
	"field":    func() Partitioner { return must(Field(FieldOptions{Field: "type"})) },
	"field or": func() Partitioner { return must(Field(FieldOptions{Field: "user.id", Missing: "user=none"})) },
	"key":      func() Partitioner { return must(Key(KeyOptions{Name: "user", Missing: "user"})) },
	"bare key": func() Partitioner { return must(Key(KeyOptions{})) },
	"header":   func() Partitioner { return must(Header(HeaderOptions{Header: "type"})) },
	"all": func() Partitioner {
		return Checked(Join(must(Time(TimeOptions{})), None(), must(Field(FieldOptions{Field: "type"})), must(Key(KeyOptions{Missing: "no"})), must(Header(HeaderOptions{Header: "type", Missing: "no"}))))
	},
	"checked": func() Partitioner { return Checked(None()) },
}

func TestConformance(t *testing.T) {
	for name, open := range configurations {
		t.Run(name, func(t *testing.T) { partitiontest.Run(t, open) })
	}
}

// value is a record with a value and a timestamp.
func value(v string) record.Record {
	return record.Record{Topic: "t", Timestamp: 1_769_871_845_999, Value: []byte(v)} // 2026-01-31T15:04:05.999Z
}

func TestGroup(t *testing.T) {
	field := func(o FieldOptions) Partitioner { return must(Field(o)) }
	at := func(o TimeOptions) Partitioner { return must(Time(o)) }
	plain := value(`{"type":"order"}`)
	stamp := func(ms int64) record.Record { return record.Record{Timestamp: ms} }
	for i, e := range []struct {
		p    Partitioner
		r    record.Record
		want string
	}{
		{None(), plain, ""},
		{at(TimeOptions{}), plain, "dt=2026-01-31/hour=15"},
		{at(TimeOptions{Zone: "Europe/Istanbul"}), plain, "dt=2026-01-31/hour=18"},
		{at(TimeOptions{Zone: "Asia/Kathmandu", Layout: "2006-01-02T15.04"}), plain, "2026-01-31T20.49"},
		{at(TimeOptions{Layout: Day, Zone: "Pacific/Kiritimati"}), plain, "dt=2026-02-01"},
		{at(TimeOptions{}), stamp(-1), "bad: the record has no timestamp"},
		{at(TimeOptions{NoTime: "dt=none"}), stamp(-1), "dt=none"},
		{at(TimeOptions{}), stamp(0), "dt=1970-01-01/hour=00"},
		{at(TimeOptions{}), stamp(7_258_118_400_000), "bad: the time of the record is out of range"},
		{at(TimeOptions{OutOfRange: "dt=far"}), stamp(7_258_118_400_000), "dt=far"},
		{at(TimeOptions{Earliest: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), OutOfRange: "old"}), plain, "old"},
		{at(TimeOptions{Earliest: time.Date(1960, 2, 1, 0, 0, 0, 0, time.UTC), Field: "t"}), value(`{"t":-1}`), "dt=1969-12-31/hour=23"},
		{at(TimeOptions{Field: "t"}), value(`{"t":1769871845999}`), "dt=2026-01-31/hour=15"},
		{at(TimeOptions{Field: "t"}), value(`{"t":"1769871845999"}`), "dt=2026-01-31/hour=15"},
		{at(TimeOptions{Field: "t", Unit: "s"}), value(`{"t":1769871845}`), "dt=2026-01-31/hour=15"},
		{at(TimeOptions{Field: "t", Unit: "s", Layout: "2006-01-02 15-04-05.000"}), value(`{"t":1769871845.9995}`), "2026-01-31 15-04-05.999"},
		{at(TimeOptions{Field: "t", Unit: "rfc3339"}), value(`{"t":"2026-01-31T15:04:05.999+03:30"}`), "dt=2026-01-31/hour=11"},
		{at(TimeOptions{Field: "t", Unit: "rfc3339"}), value(`{"t":1769871845}`), "bad: the value has no time in the field t"},
		{at(TimeOptions{Field: "t"}), value(`{"t":true}`), "bad: the value has no time in the field t"},
		{at(TimeOptions{Field: "t"}), value(`{"t":1.769871845999E12}`), "dt=2026-01-31/hour=15"},
		{at(TimeOptions{Field: "t", NoTime: "x"}), value(`{"t":"1e12 "}`), "x"},
		{at(TimeOptions{Field: "t", NoTime: "x"}), value(`{"t":1e400}`), "bad: the time of the record is out of range"},
		{at(TimeOptions{Field: "t", NoTime: "x"}), value(`{}`), "x"},
		{at(TimeOptions{Field: "t", NoTime: "x"}), value(`{`), "bad: the value is no JSON"},
		{at(TimeOptions{Field: "t", Ahead: time.Second, OutOfRange: "far"}), value(`{"t":1769871846999}`), "dt=2026-01-31/hour=15"},
		{at(TimeOptions{Field: "t", Ahead: time.Second, OutOfRange: "far"}), value(`{"t":1769871847000}`), "far"},
		{at(TimeOptions{Field: "t", Behind: time.Second, OutOfRange: "far"}), value(`{"t":1769871844998}`), "far"},
		{field(FieldOptions{Field: "type"}), plain, "type=order"},
		{field(FieldOptions{Field: "type", Name: "kind"}), plain, "kind=order"},
		{field(FieldOptions{Field: "type", Name: "-"}), plain, "order"},
		{field(FieldOptions{Field: "a.b"}), value(`{"a":{"b":-1.50}}`), "b=-1.50"},
		{field(FieldOptions{Field: "a"}), value(`{"a":false}`), "a=false"},
		{field(FieldOptions{Field: "a"}), value(`{"a":"x/../y"}`), "a=x%2F..%2Fy"},
		{field(FieldOptions{Field: "a"}), value(`{"a":""}`), "a=%empty"},
		{field(FieldOptions{Field: "a"}), value(`{"a":null}`), "bad: the value has no string, number or bool in the field a"},
		{field(FieldOptions{Field: "a", Missing: "none"}), value(`{"a":[]}`), "none"},
		{field(FieldOptions{Field: "a", Missing: "none"}), record.Record{}, "none"},
		{Join(at(TimeOptions{Layout: Day}), field(FieldOptions{Field: "type"})), plain, "dt=2026-01-31/type=order"},
		{Join(None(), Join(field(FieldOptions{Field: "type"}), None()), at(TimeOptions{Field: "t", NoTime: "no"})), plain, "type=order/no"},
		{Checked(field(FieldOptions{Field: "type"})), value(`{"type":"order"}x`), "bad: the value is no JSON from byte 17 on"},
		{field(FieldOptions{Field: "type"}), value(`{"type":"order"}x`), "type=order"},
		{must(Key(KeyOptions{})), record.Record{Key: []byte("user-1")}, "user-1"},
		{must(Key(KeyOptions{})), record.Record{}, "bad: the record has no key"},
		{must(Header(HeaderOptions{Header: "h"})), record.Record{Headers: []record.Header{{Key: "h", Value: []byte("1")}, {Key: "h", Value: []byte("2")}}}, "h=2"},
	} {
		got, err := e.p.Group(nil, &e.r)
		text := string(got)
		if err != nil {
			text = "bad: " + err.Error()
		}
		if text != e.want {
			t.Errorf("case %d: %q, want %q", i, text, e.want)
		}
	}
}

func TestOptions(t *testing.T) {
	wrong := map[string]error{}
	check := func(want string, _ Partitioner, err error) { wrong[want] = err }
	add := func(want string) func(Partitioner, error) {
		return func(p Partitioner, err error) { check(want, p, err) }
	}
	add("has no date")(Time(TimeOptions{Layout: "15"}))
	add("leads out")(Time(TimeOptions{Layout: "../2006-01-02"}))
	add("slash at an end")(Time(TimeOptions{Layout: "2006-01-02/"}))
	add("unknown time zone")(Time(TimeOptions{Zone: "Atlantis"}))
	add(`"Local"`)(Time(TimeOptions{Zone: "Local"}))
	add("choose ms, s or rfc3339")(Time(TimeOptions{Field: "a", Unit: "h"}))
	add("for the time of a field")(Time(TimeOptions{Unit: "s"}))
	add("no time: ")(Time(TimeOptions{NoTime: "/"}))
	add("out of range: ")(Time(TimeOptions{OutOfRange: "a\nb"}))
	add("range of times is empty")(Time(TimeOptions{Latest: time.Unix(-1, 0)}))
	add("path of a field is empty")(Field(FieldOptions{}))
	add("no slash, equals sign")(Field(FieldOptions{Field: "a", Name: "a=b"}))
	add("missing: ")(Field(FieldOptions{Field: "a", Missing: ".."}))
	add("by the key")(Key(KeyOptions{Name: "a/b"}))
	add("header's key is empty")(Header(HeaderOptions{}))
	for want, err := range wrong {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error %v does not say %q", err, want)
		}
	}
}

// Rendered paths are those that package time makes, in zones whose offsets change and are no hours, whatever is kept.
func TestTimeCache(t *testing.T) {
	for _, zone := range []string{"UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Monrovia", "America/St_Johns"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Skip(err)
		}
		for _, layout := range []string{"dt=2006-01-02/hour=15", "2006-01-02 15-04", "2006-01-02 15-04-05", "2006-01-02 15-04-05.000", "Monday 2006-01-02", "2006-01-02-MST"} {
			p := must(Time(TimeOptions{Zone: zone, Layout: layout}))
			for _, base := range []int64{0, 63_000_000_000, 1_730_000_000_000, 1_710_000_000_000, 1_699_000_000_000, 1_775_000_000_000} {
				for step := int64(0); step < 2_000; step++ {
					ms := base + step*977_123 // some 16 minutes
					want := time.UnixMilli(ms).In(loc).Format(layout)
					for range 2 {
						if got, err := p.Group(nil, &record.Record{Timestamp: ms}); err != nil || string(got) != want {
							t.Fatalf("%s %s: %d is %s, want %s, %v", zone, layout, ms, got, want, err)
						}
					}
				}
			}
		}
	}
}

// A time in RFC 3339 is what package time makes of it.
func FuzzRFC3339(f *testing.F) {
	p := must(Time(TimeOptions{Field: "t", Unit: "rfc3339", Layout: "2006-01-02 15-04-05.000", Earliest: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), Latest: time.Date(10001, 1, 1, 0, 0, 0, 0, time.UTC)}))
	for _, s := range []string{"2026-01-31T15:04:05Z", "2026-02-29T15:04:05Z", "2024-02-29T24:00:00Z", "2024-02-29T23:59:59.123456789-23:59", "2024-12-31T23:59:60Z", "2026-01-31T15:04:05.Z", "2026-01-31T15:04:05+3:00", "0000-01-01T00:00:00Z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, "\"\\") || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }) {
			return
		}
		got, err := p.Group(nil, &record.Record{Value: []byte(`{"t":"` + s + `"}`)})
		want, wantErr := time.Parse(time.RFC3339, s)
		if wantErr == nil && (err != nil || string(got) != want.UTC().Format("2006-01-02 15-04-05.000")) {
			t.Errorf("%s is %s, want %v, %v", s, got, want.UTC(), err)
		}
		if wantErr != nil && err == nil && !strings.ContainsAny(s, "tz ,") {
			t.Errorf("%s is %s, want %v", s, got, wantErr)
		}
	})
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"": "%empty", "a": "a", "A-b_c.d~e@f,g(h)": "A-b_c.d~e@f,g(h)", ".": "%2E", "..": "%2E.", "...": "%2E..", "a.": "a.", "a/b": "a%2Fb", "%": "%25", "%empty": "%25empty",
		" ": "%20", "çanta": "çanta", "日本": "日本", "\x00\n": "%00%0A", "\xff": "%FF", "\xc3": "%C3", "\ufffd": "%EF%BF%BD", "e\u0301": "e%CC%81", "\u2028": "%E2%80%A8", "🙂": "%F0%9F%99%82",
		strings.Repeat("x", MaxValue): strings.Repeat("x", MaxValue),
	} {
		if got := string(AppendEscaped([]byte("p"), []byte(in))); got != "p"+want {
			t.Errorf("%q is %q, want %q", in, got, "p"+want)
		}
	}
}

// Escaped values are safe names, and different values have different names.
func FuzzEscape(f *testing.F) {
	f.Add([]byte("a/b"), []byte("%2F"))
	f.Add([]byte(strings.Repeat("é/", 100)), []byte(strings.Repeat("é/", 101)))
	f.Add(bytes.Repeat([]byte{0}, 300), []byte("."))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, y := AppendEscaped(nil, a), AppendEscaped(nil, b)
		if bytes.Equal(x, y) != bytes.Equal(a, b) {
			t.Errorf("%q and %q are %q and %q", a, b, x, y)
		}
		if err := CheckGroup(x); err != nil || len(x) > MaxValue || bytes.ContainsAny(x, "/= ") {
			t.Errorf("%q is %q: %v", a, x, err)
		}
		if got, err := url.PathUnescape(string(x)); len(a) > 0 && !bytes.Contains(x, []byte("%~")) && (err != nil || got != string(a)) {
			t.Errorf("%q is %q, which means %q, %v", a, x, got, err)
		}
	})
}

func TestJoinTooLong(t *testing.T) {
	key := must(Key(KeyOptions{}))
	p := Join(key, key, key, key)
	r := &record.Record{Key: bytes.Repeat([]byte("k"), 150)}
	got, err := p.Group([]byte("x"), r)
	if bad := (*record.Bad)(nil); !errors.As(err, &bad) || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
	if !IsNone(Join(None(), Join())) || IsNone(p) || IsNone(Checked(None())) {
		t.Error("IsNone is wrong")
	}
}

func TestNoAllocation(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector drops what sync.Pool keeps")
	}
	g := orders.New(1)
	records := make([]record.Record, 64)
	for i := range records {
		v := g.AppendValue(nil, i)
		v = slices.Replace(v, 1, 1, []byte(`"type":"order","user":{"id":"`+strings.Repeat("long/", 80)+`"},`)...)
		records[i] = record.Record{Timestamp: orders.Time(i * 10_000), Key: g.AppendKey(nil, i), Value: v, Headers: []record.Header{{Key: "type", Value: []byte("x")}}}
	}
	for name, open := range configurations {
		if name == "rfc3339" {
			continue // The orders have no such field, and a reason is made.
		}
		p, buf, i := open(), make([]byte, 0, 2048), 0
		for range 3 * len(records) {
			buf, _ = p.Group(buf[:0], &records[i%len(records)])
			i++
		}
		if n := testing.AllocsPerRun(640, func() {
			var err error
			if buf, err = p.Group(buf[:0], &records[i%len(records)]); err != nil {
				t.Fatal(name, err)
			}
			i++
		}); n != 0 {
			t.Errorf("%s: %v allocations per record", name, n)
		}
	}
}

func BenchmarkGroup(b *testing.B) {
	g := orders.New(1)
	records := make([]record.Record, 256)
	for i := range records {
		records[i] = record.Record{Timestamp: orders.Time(i * 1000), Key: g.AppendKey(nil, i), Value: g.AppendValue(nil, i)}
	}
	both := func() Partitioner {
		return Join(must(Time(TimeOptions{Field: "timestamp"})), must(Field(FieldOptions{Field: "event_type"})))
	}
	for name, p := range map[string]Partitioner{"timestamp": must(Time(TimeOptions{})), "field and hour": both(), "field and hour, checked": Checked(both()), "key": must(Key(KeyOptions{}))} {
		b.Run(name, func(b *testing.B) {
			buf, i := make([]byte, 0, 512), 0
			for b.Loop() {
				var err error
				if buf, err = p.Group(buf[:0], &records[i%len(records)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}
