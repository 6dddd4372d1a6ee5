// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/json"
	"errors"
	"fmt"
	bigs "math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold/arena"
)

// Types at the edges of encoding/json's rules.
type (
	mood      struct{ N int }            // Has UnmarshalJSON.
	tone      struct{ N int }            // Has UnmarshalText.
	color     struct{ N int }            // Has UnmarshalJSON; embedded beside mood.
	intText   int                        // Has UnmarshalText.
	byteText  byte                       // Has UnmarshalText.
	boolJSON  bool                       // Has UnmarshalJSON.
	pointerTo *mood                      // A pointer type with a name has no methods.
	pointerIn struct{ P pointerTo }      //
	tree      map[string]tree            // Leads to itself.
	row       []row                      //
	chain     struct{ Next *chain }      //
	wide      map[int]map[string][]*wide //
	wrongs    struct{ A mood }           // Its method returns an UnmarshalTypeError.
	tagged    struct {
		mood  `json:"m"`
		color `json:"c"`
		X     int
	}
	taggedPointers struct {
		*mood  `json:"m"`
		*color `json:"c"`
		X      int
	}
	bare struct {
		inner `json:"in"`
		X     int
	}
	Public struct {
		*Deep
		Y int
	}
	hidden struct {
		Public
		Z int
	}
	through struct{ hidden }
	texts   struct {
		T  tone
		P  *tone
		PP **tone
		L  []tone
		LP []*tone
		A  [2]tone
		M  map[string]tone
		MP map[string]*tone
		X  any
		I  intText
		Y  []byteText
		S  string
	}
	quotedMore struct {
		I   intText   `json:",string"`
		B   boolJSON  `json:",string"`
		U   uint8     `json:",string"`
		F   float32   `json:",string"`
		PS  *string   `json:",string"`
		PB  *bool     `json:",string"`
		N   *named    `json:",string"`
		X   any       `json:",string"`
		T   time.Time `json:",string"`
		Up  uintptr   `json:",string"`
		PI  pointerTo `json:",string"`
		PPI **int     `json:",string"`
	}
	keysMore struct {
		B map[bool]int
		F map[float64]int
		T map[time.Time]int
		A map[netip.Addr]int
		M map[mood]int
		W map[tone]int
		U map[struct{ tone }]int
		I map[intText]int
		N map[json.Number]int
		P map[*tone]int
		X map[any]int
	}
	outside struct {
		R  *json.RawMessage
		RR []json.RawMessage
		N  *json.Number
		NN []json.Number
		T  *time.Time
		TT []time.Time
		MT map[string]time.Time
		MR map[string]json.RawMessage
		Z  *bigs.Int
		ZF bigs.Float
		D  []time.Duration
		A  [4]byte
		AA [2][3]int
		Y  []named8
		BB [][]byte
		XX []any
		XM map[string]map[string]any
		E  struct{ time.Time }
		EP *struct{ time.Time }
		EL []struct{ time.Time }
		ER struct{ json.RawMessage }
		C  complex64
		F  func()
		UI uintptr
	}
	named8  uint8
	loaded  struct{ A, B any }
	methodI interface{ Error() string }
	fails   struct{ N int }
	holders struct {
		X any
		E methodI
		L []any
		M map[string]any
	}
)

func (m *mood) UnmarshalJSON(b []byte) error {
	m.N++
	if strings.Contains(string(b), "type") {
		return &json.UnmarshalTypeError{Value: "mood", Type: reflect.TypeFor[int](), Offset: 77, Field: "Own"}
	}
	if strings.Contains(string(b), "syntax") {
		return json.Unmarshal([]byte("{x"), new(int))
	}
	return nil
}
func (c *color) UnmarshalJSON(b []byte) error { c.N += len(b); return nil }
func (t *tone) UnmarshalText(b []byte) error {
	t.N += 1 + len(b)
	if string(b) == "type" {
		return &json.UnmarshalTypeError{Value: "tone", Type: reflect.TypeFor[int](), Offset: 78}
	}
	return nil
}
func (i *intText) UnmarshalText(b []byte) error  { *i = intText(len(b)); return nil }
func (i *byteText) UnmarshalText(b []byte) error { *i = byteText(len(b)); return nil }
func (b *boolJSON) UnmarshalJSON(j []byte) error { *b = len(j) > 3; return nil }
func (f *fails) Error() string                   { return fmt.Sprint("fails ", f.N) }

// edges are variables of these types, some of them with contents.
func edges() []func() any {
	return []func() any{
		func() any { return new(tagged) }, func() any { return new(taggedPointers) }, func() any { return new(bare) },
		func() any { return &taggedPointers{mood: &mood{1}, color: &color{2}} },
		func() any { return new(through) }, func() any { return new(texts) }, func() any { return new(quotedMore) },
		func() any { return new(keysMore) }, func() any { return new(outside) }, func() any { return new(pointerTo) },
		func() any { return new(pointerIn) }, func() any { return new(tree) }, func() any { return new(row) },
		func() any { return new(chain) }, func() any { return new(wide) }, func() any { return new(wrongs) },
		func() any { return new(tone) }, func() any { return new(*tone) }, func() any { return new(**mood) },
		func() any { return new(struct{ time.Time }) }, func() any { return new(struct{ mood }) }, func() any { return new(struct{ tone }) },
		func() any { return new([]struct{ tone }) }, func() any { return new(map[struct{ tone }]int) }, func() any { return new(intText) },
		func() any { return new([]byteText) }, func() any { return new([3]byteText) }, func() any { return new([]named8) },
		func() any { var p pointerTo = &mood{5}; return p },
		func() any { return &texts{X: &tone{1}, P: &tone{2}, LP: []*tone{{3}, nil}, L: make([]tone, 1, 4)} },
		func() any { return &texts{X: tone{1}} },
		func() any { t := &tone{1}; return &texts{X: &t} },
		func() any { var x any = &tone{1}; return &texts{X: &x} },
		func() any { var x any = &tone{1}; return &x },
		func() any { var x any = &texts{}; return &holders{X: &x} },
		func() any {
			return &holders{E: &fails{1}, X: &fails{2}, L: []any{&fails{3}, 4, &tone{5}}, M: map[string]any{"a": &fails{6}}}
		},
		func() any { var e error = &fails{1}; return &e },
		func() any { var e error = errors.New("x"); return &e },
		func() any { p := &scalars{I: 3}; return &holders{X: &p} },
		func() any { m := map[string]int{"old": 1}; return &holders{X: &m} },
		func() any { s := make([]any, 2, 6); s[0] = &scalars{S: "in"}; s[:6][3] = "behind"; return &s },
		func() any { s := []int{9, 8, 7, 6, 5}; return &holders{X: &s} },
		func() any { a := [3]*int{new(int)}; return &holders{X: &a} },
		func() any { return &loaded{A: &loaded{B: &tone{}}, B: &[]scalars{{I: 1}}} },
	}
}

// edgeDocuments are for them.
var edgeDocuments = []string{
	`{"m":{"N":5},"c":[1,2],"X":3}`, `{"m":null,"c":null}`, `{"m":5,"c":"x","X":"y"}`, `{"in":{"D":4,"e":5},"X":1}`, `{"in":null}`, `{"in":5}`, `{"in":{"D":"x"}}`,
	`{"A":1,"b":2,"C":"c","F":3,"Y":4,"Z":5}`, `{"A":"x"}`, `{"F":"x"}`, `{"Z":[1]}`,
	`{"T":"a","P":"b","PP":"c","L":["a",null,5,{},[]],"LP":["a",null,5],"A":["x","y","z"],"M":{"k":"v","n":5},"MP":{"k":"v","n":null,"o":{}},"X":"x","I":"12","Y":"aGk=","S":"s"}`,
	`{"T":5}`, `{"P":5}`, `{"PP":5}`, `{"T":{}}`, `{"P":{}}`, `{"PP":[]}`, `{"X":5}`, `{"X":{}}`, `{"X":[]}`, `{"X":true}`, `{"X":null}`, `{"X":"s"}`, `{"L":[5]}`, `{"LP":[5]}`, `{"LP":[null,{}]}`, `{"A":[1]}`, `{"M":{"a":1}}`, `{"MP":{"a":1}}`, `{"I":5}`, `{"Y":[5]}`, `{"Y":["ab"]}`, `{"Y":"?"}`,
	`{"T":"type"}`, `{"P":"type"}`, `{"MP":{"a":"type"}}`, `{"L":["a","type"]}`, `{"A":"type"}`, `{"A":"syntax"}`, `{"M":{"type":1}}`, `{"W":{"type":1}}`, `{"W":{"a":"x"}}`,
	`{"I":"12","B":"true","U":"200","F":"1.5","PS":"\"x\"","PB":"true","N":"\"n\"","X":"1","T":"2020-01-02T03:04:05Z","Up":"7","PI":{},"PPI":5}`,
	`{"U":"300"}`, `{"U":"-1"}`, `{"F":"1e99"}`, `{"PS":"x"}`, `{"PS":"null"}`, `{"PS":"nul"}`, `{"PB":"nul"}`, `{"PB":"trux"}`, `{"PB":"1"}`, `{"N":"5"}`, `{"N":null}`, `{"PB":" true"}`, `{"U":"5 "}`, `{"U":"\u0035"}`, `{"U":"+5"}`, `{"U":"0x5"}`, `{"F":"Inf"}`, `{"F":"-"}`, `{"I":"\"abc\""}`, `{"I":"abc"}`, `{"B":""}`, `{"U":""}`, `{"U":true}`, `{"U":[1]}`, `{"U":{}}`, `{"U":1e999}`, `{"U":5}`, `{"PS":"\"a"}`, `{"PS":"\"\\u00\""}`, `{"PS":"\"\n\""}`,
	`{"B":{"true":1}}`, `{"F":{"1":1}}`, `{"T":{"2020-01-02T03:04:05Z":1,"x":2}}`, `{"A":{"::1":1}}`, `{"M":{"x":1}}`, `{"U":{"x":1}}`, `{"I":{"x":1,"yy":"z"}}`, `{"N":{"x":1}}`, `{"P":{"x":1}}`, `{"X":{"x":1}}`, `{"x":1}`, `{"x":{"y":{"z":{}}},"x":{"q":null}}`,
	`{"R":null,"RR":[1,null,{"a": 1}],"N":null,"NN":[1,"2",null],"T":null,"TT":["2020-01-02T03:04:05Z",null],"MT":{"a":"2020-01-02T03:04:05Z"},"MR":{"a":[1, 2]},"Z":123456789012345678901234567890,"ZF":"1.5","D":[1,2],"A":[1,2,3],"AA":[[1,2],[3,4,5,6],[7]],"Y":[1,"x",300],"BB":["aGk=",null,[1,2]],"XX":[[],{},[{}]],"XM":{"a":{"b":[1]},"c":null}}`,
	`{"E":"2020-01-02T03:04:05Z","EP":"2020-01-02T03:04:05Z","EL":["2020-01-02T03:04:05Z"],"ER":{"a":1},"C":1,"F":1,"UI":5}`, `{"E":5}`, `{"E":{"Time":"x"}}`, `{"N":"1.","NN":["x"]}`, `{"NN":[true]}`, `{"N":[]}`, `{"A":"aGk="}`, `{"A":[256]}`, `{"AA":[[1,"x"]]}`, `{"AA":5}`, `{"AA":[5]}`, `{"XM":{"a":5}}`, `{"XM":{"a":{"b":1e999}}}`, `{"XX":[1e999,2]}`, `{"Z":"x"}`, `{"D":["1s"]}`, `{"TT":["x"]}`,
	`"2020-01-02T03:04:05Z"`, `"type"`, `"syntax"`, `"hello"`, `5`, `{}`, `[]`, `null`, `true`, `["a","b",5]`, `[[],[[],[[]]]]`, `{"Next":{"Next":{"Next":null}}}`, `{"Next":{"Next":5}}`, `{"1":{"a":[{"2":{"b":[null]}}]},"x":{}}`, `{"1":{"a":[{"2":{"b":5}}]}}`, `{"N":9}`, `{"P":{"N":4}}`, `{"P":"type"}`,
	`{"E":{"N":5},"X":{"N":6},"L":[{"N":7},5,"x",8],"M":{"a":{"N":9}}}`, `{"E":5}`, `{"E":null}`, `{"E":{"N":"x"},"X":{"N":"y"}}`, `{"E":1e999}`, `{"L":[{"N":"x"}]}`, `{"X":{"I":"x"}}`, `{"X":{"old":"x"}}`, `{"X":[1,"x"]}`, `{"X":[1,2]}`, `{"X":[null,"x",3,4]}`, `{"A":{"B":5,"A":1},"B":[{"I":"x"},{"S":1}]}`, `{"A":{"B":"b"},"B":null}`, `{"A":{"B":{}}}`,
	`{"N":"x"}`, `[{"S":1},2,3,4,5]`, `[{"S":"x"},{"a":1},null,{"b":2}]`, `1e999`, `{"L":[1e999]}`, `{"X":1e999}`, `{"X":{"X":1e999}}`,
}

// TestEdges decodes documents into types at the edges of encoding/json's rules.
func TestEdges(t *testing.T) {
	fills := edges()
	for _, doc := range edgeDocuments {
		for _, fill := range fills {
			sameOrPanic(t, []byte(doc), fill)
		}
	}
}

// sameOrPanic is same for types with which encoding/json may panic. Here it must not be the process that ends.
func sameOrPanic(t *testing.T, doc []byte, fill func() any) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Logf("%T from %q: encoding/json panics: %v", fill(), doc, r)
		}
	}()
	json.Unmarshal(doc, fill())
	same(t, doc, fill)
}

// sameNew checks Unmarshal against a new variable of encoding/json.
func sameNew[T any](t *testing.T, doc string) {
	t.Helper()
	want := new(T)
	wantErr := standard([]byte(doc), want)
	for _, a := range []*arena.Arena{nil, arena.NewArena()} {
		got, err := Unmarshal[T](a, []byte(doc))
		if d := errorsDiffer(err, wantErr); d != "" {
			t.Errorf("%T from %s: %s", want, doc, d)
		}
		if got != nil && !reflect.DeepEqual(got, want) || got == nil && wantErr == nil {
			t.Errorf("%T from %s: %+v, want %+v", want, doc, got, want)
		}
		a.Free()
	}
}

// TestNewUnnamed decodes into new variables of types without names, whose methods come from embedded fields.
func TestNewUnnamed(t *testing.T) {
	sameNew[struct{ time.Time }](t, `"2020-01-02T03:04:05Z"`)
	sameNew[struct{ tone }](t, `"abc"`)
	sameNew[struct{ tone }](t, `5`)
	sameNew[struct{ mood }](t, `{"N":7}`)
	sameNew[map[struct{ tone }]int](t, `{"abc":1}`)
	sameNew[[]struct{ tone }](t, `[{"N":7}]`)
	sameNew[pointerTo](t, `{"N":7}`)
	sameNew[*mood](t, `{"N":7}`)
	sameNew[error](t, `null`)
}

// TestOptionsSame decodes with options, as a json.Decoder with them does.
func TestOptionsSame(t *testing.T) {
	needs127(t)
	fills := append(edges(), samples()[:12]...)
	for i, doc := range append(edgeDocuments, documents...) {
		if !json.Valid([]byte(doc)) || len(doc) > 1000 || testing.Short() && i%4 != 0 {
			continue
		}
		for _, o := range []Options{{UseNumber: true}, {DisallowUnknownFields: true}, {UseNumber: true, DisallowUnknownFields: true}} {
			for _, fill := range fills {
				optionsSame(t, doc, o, fill)
			}
		}
	}
}

func optionsSame(t *testing.T, doc string, o Options, fill func() any) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Logf("%T from %q: panic: %v", fill(), doc, r)
		}
	}()
	doc = strings.TrimLeft(doc, " \t\r\n") // A json.Decoder counts the bytes of the value.
	std := json.NewDecoder(strings.NewReader(doc))
	if o.UseNumber {
		std.UseNumber()
	}
	if o.DisallowUnknownFields {
		std.DisallowUnknownFields()
	}
	got, want := fill(), fill()
	wantErr := std.Decode(want)
	if d := errorsDiffer(UnmarshalInto(nil, []byte(doc), got, o), wantErr); d != "" {
		t.Errorf("%+v: %T from %q: %s", o, got, doc, d)
	}
	if !equal(got, want) {
		t.Errorf("%+v: %T from %q:\n got %s\nwant %s", o, got, doc, dump(got), dump(want))
	}
}
