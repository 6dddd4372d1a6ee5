// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/json"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

// Types of all shapes that documents are decoded into.
type (
	scalars struct {
		B                    bool
		I                    int
		I8                   int8
		I16                  int16
		I32                  int32
		I64                  int64
		U                    uint
		U8                   uint8
		U16                  uint16
		U32                  uint32
		U64                  uint64
		F32                  float32
		F64                  float64
		S                    string
		N                    json.Number
		R                    json.RawMessage
		T                    time.Time
		D                    time.Duration
		Y                    []byte
		X                    any
		Long_name_of_a_field int `json:"a name that is longer than sixteen bytes"`
	}
	pointers struct {
		B *bool
		I *int
		S **string
		P *pointers
		L []*scalars
		M map[string]*int
		X *any
	}
	lists struct {
		I []int
		S []string
		L [][]int
		A [3]int
		P [2]*string
		Q [][2]float64
		Z []struct{}
		E [0]int
		T []lists
	}
	objects struct {
		S map[string]string
		I map[int]string
		U map[uint8]bool
		X map[string]any
		N map[string]map[string]int
		T map[netip.Addr]int
		K map[textKey]string
		L map[string][]int
		V map[string]scalars
	}
	textKey string
	named   string
	quotes  struct {
		B bool        `json:",string"`
		I int         `json:"i,string"`
		F float64     `json:",string"`
		S string      `json:",string"`
		P *int        `json:",string"`
		Q **int       `json:",string"`
		L []int       `json:",string"`
		N json.Number `json:",string"`
	}
	Inner struct {
		A int
		B int `json:"b"`
		C string
	}
	inner struct {
		D int
		E int `json:"e"`
	}
	Deep struct {
		*Inner
		F int
	}
	embeds struct {
		Inner
		inner
		C int
	}
	embedsPointers struct {
		*Deep
		*inner
		G int
	}
	twice struct {
		Inner
		Other
	}
	Other struct {
		A int
		C int `json:"C"`
	}
	self struct {
		*self
		Name string
	}
	folded struct {
		Kelvin     int
		KELVIN     string
		Straße     int
		Ünicode    string
		AB, Ab, aB int
		K          int
		S          int `json:"s"`
	}
	dashes struct {
		A int `json:"-"`
		B int `json:"-,"`
		C int `json:"a\\b"`
		D int `json:"ä ö,omitempty"`
		e int
		F func()
		G chan int
		H complex128
		I error
		J interface{ Error() string }
	}
	loud    struct{ text string }
	quiet   struct{ text string }
	both    struct{ text string }
	methods struct {
		L  loud
		P  *loud
		Q  quiet
		R  *quiet
		S  **quiet
		LL []loud
		QQ []*quiet
		M  map[string]loud
		K  map[quiet]int
		B  both
		V  value
		W  *value
		X  any
	}
	value map[string]int
)

func (l *loud) UnmarshalJSON(b []byte) error {
	if strings.Contains(string(b), "fail") {
		return errors.New("loud fails")
	}
	l.text += "<" + string(b) + ">"
	return nil
}

func (q *quiet) UnmarshalText(b []byte) error {
	if string(b) == "fail" {
		return errors.New("quiet fails")
	}
	q.text += "(" + string(b) + ")"
	return nil
}

func (b *both) UnmarshalJSON(j []byte) error { b.text = "json " + string(j); return nil }
func (b *both) UnmarshalText(t []byte) error { b.text = "text " + string(t); return nil }

func (v value) UnmarshalJSON(b []byte) error {
	if v != nil {
		v[string(b)]++
	}
	return nil
}

func (k *textKey) UnmarshalText(b []byte) error { *k = "key " + textKey(b); return nil }

// samples are variables for documents, some of them with contents.
func samples() []func() any {
	n, s, x := 7, "old", any("held")
	ps := &s
	return []func() any{
		func() any { return new(any) },
		func() any { return new(scalars) },
		func() any { return new(pointers) },
		func() any { return new(lists) },
		func() any { return new(objects) },
		func() any { return new(quotes) },
		func() any { return new(embeds) },
		func() any { return new(embedsPointers) },
		func() any { return new(twice) },
		func() any { return new(self) },
		func() any { return new(folded) },
		func() any { return new(dashes) },
		func() any { return new(methods) },
		func() any { return new(named) },
		func() any { return new(int) },
		func() any { return new([]int) },
		func() any { return new([2]string) },
		func() any { return new(map[string]any) },
		func() any { return new(map[int]scalars) },
		func() any { return new([]any) },
		func() any { return new(*scalars) },
		func() any { return new(json.Number) },
		func() any { return new(json.RawMessage) },
		func() any { return new(time.Time) },
		func() any { return new(loud) },
		func() any { return new(quiet) },
		func() any { return new(error) },
		func() any { return new(func()) },
		func() any { return new([]byte) },
		func() any { return new(float32) },
		func() any {
			return &scalars{B: true, I: 1, S: "old", X: &scalars{S: "in"}, Y: []byte("old"), N: "1", R: []byte("1")}
		},
		func() any {
			m := n
			t := s
			p := &t
			y := x
			return &pointers{I: &m, S: &p, L: []*scalars{{I: 5}, nil}, M: map[string]*int{"a": &m}, X: &y}
		},
		func() any {
			return &lists{I: []int{1, 2, 3}, S: make([]string, 1, 5), L: [][]int{{1, 2}, {3}}, A: [3]int{7, 8, 9}, P: [2]*string{ps}, T: []lists{{I: []int{4}}, {}}}
		},
		func() any {
			return &objects{S: map[string]string{"a": "b"}, V: map[string]scalars{"a": {I: 3}}, X: map[string]any{"a": 1}}
		},
		func() any {
			return &methods{P: &loud{"was"}, QQ: []*quiet{{"was"}}, V: value{"x": 1}, X: &loud{"held"}}
		},
		func() any { var v any = &scalars{I: 4}; return &v },
		func() any { p := new(*int); var v any = p; return &v },
		func() any { return &Deep{Inner: &Inner{A: 5}} },
		func() any { return &embedsPointers{inner: &inner{D: 6}} },
	}
}

// documents are some that mean something to one or more of the samples.
var documents = []string{
	`null`, `true`, `false`, `0`, `-0`, `1`, `-1`, `12345678901234567890`, `1.5`, `1e2`, `1E-2`, `1e400`, `-1e-400`, `0.1`, `255`, `256`, `-128`, `-129`,
	`""`, `"a"`, `"fail"`, `"12"`, `"true"`, `"null"`, `"a\nb\"c\\d\/e\b\f\r\té\ud83d\ude00"`, `"\ud800"`, `"\ud800x"`, `"\ud800\ud800"`, `"\udc00\ud800"`,
	"\"\xff\"", "\"a\xc3\"", "\"long enough for a word \xe2\x82 and more\"", `"日本語のテキスト"`, `"aGVsbG8="`, `"aGVsbG8"`, `"a\nGVs bG8="`, `"2020-01-02T03:04:05Z"`,
	`[]`, `[ ]`, `{}`, `{ }`, `[1,2,3]`, `[ 1 , 2 , 3 , 4 ]`, `["a","b"]`, `[null]`, `[[1,2],[3],[]]`, `[true,{"a":[{}]}]`, `[1,"a",2]`, `[{"I":1},{"I":"x"},{"S":2}]`,
	`{"B":true,"I":-5,"I8":-128,"I16":-32768,"I32":-2147483648,"I64":-9223372036854775808,"U":5,"U8":255,"U16":65535,"U32":4294967295,"U64":18446744073709551615}`,
	`{"I8":128,"I16":32768,"I32":2147483648,"I64":9223372036854775808,"U":-1,"U8":256,"U16":65536,"U32":4294967296,"U64":18446744073709551616,"S":"still"}`,
	`{"F32":3.4e38,"F64":1.7976931348623157e308,"S":"x","N":12.50,"R": {"a" : [1, 2]},"T":"2021-03-04T05:06:07.89Z","D":5,"Y":"AQID","X":{"a":[1,null,"b",true]}}`,
	`{"F32":3.5e38,"F64":1.8e308,"N":"12","R":null,"Y":[1,2,255],"X":1e999}`, `{"N":"x"}`, `{"Y":"?"}`, `{"Y":[256]}`, `{"T":"no time","S":"after"}`, `{"T":5}`, `{"T":null}`,
	`{"a name that is longer than sixteen bytes":5}`, `{"A NAME THAT IS LONGER THAN SIXTEEN BYTES":6}`, `{"b":true,"i":1,"s":"folded","x":null,"unknown":{"a":[1,{"b":null}]}}`,
	`{"S":"one","S":"two","I":1,"i":2}`, `{"X":{"S":"y"},"X":{"I":2}}`, `{"B":null,"I":null,"S":null,"L":null,"M":null,"X":null,"P":null}`,
	`{"P":{"P":{"I":3},"B":true},"L":[{"I":1},null,{"S":"b"}],"M":{"a":1,"b":null},"S":"deep","X":[1]}`, `{"P":{"I":1},"P":{"B":false}}`, `{"P":5,"L":{"a":1},"M":[1]}`,
	`{"I":[],"S":[],"L":[[]],"A":[],"P":[],"Q":[],"Z":[],"E":[],"T":[]}`, `{"I":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20],"S":["a","b","c"],"L":[[1],[2,3],[4,5,6]],"A":[1],"P":["x","y","z"],"Q":[[1.5,2],[3]],"Z":[{},{"a":1}],"E":[1,2],"T":[{"I":[1],"T":[{},{"I":[2,3]}]},{"T":[]}]}`,
	`{"I":[1,"x",3],"A":[1,2,3,4],"S":{"a":1},"L":[[1,null],null],"P":[null,5],"T":[{"I":"no"}]}`,
	`{"S":{"a":"1","b":"2","a":"3"},"I":{"1":"x","-5":"y","x":"z"},"U":{"255":true,"256":false},"X":{"n":{"m":[1.5]}},"N":{"a":{"b":1,"c":2},"d":{}},"T":{"1.2.3.4":5},"K":{"q":"r"},"L":{"l":[1,2]},"V":{"v":{"I":1},"w":{"S":"t"}}}`,
	`{"T":{"nonsense":5}}`, `{"S":{"a":1},"V":{"v":{"I":"x"}},"N":{"a":5}}`, `{"a":1,"b":{"c":2}}`, `{"1":{"I":2},"x":{"I":3},"2":{"I":"y"}}`,
	`{"B":"true","i":"12","F":"1.5","S":"\"in\"","P":"7","Q":"8","L":[1],"N":"1"}`, `{"B":"x","i":"","F":"nul","S":"no quotes","P":"x","Q":null,"N":"x"}`, `{"i":"null"}`, `{"i":null,"B":null,"P":null}`,
	`{"i":5}`, `{"B":true}`, `{"S":"\"\\'\""}`, `{"i":"1.5"}`, `{"i":[1]}`, `{"i":"true"}`, `{"S":5}`, `{"F":1e999}`, `{"P":"null"}`,
	`{"A":1,"b":2,"C":"c","D":3,"e":4}`, `{"A":1,"b":2,"C":5,"D":3,"e":4,"F":5,"G":6}`, `{"Inner":{"A":1},"Deep":{"A":2}}`, `{"D":1,"A":"x"}`, `{"Name":"n","self":{"Name":"m"}}`, `{"A":{"b":"x"}}`,
	`{"kelvin":1,"kELVIN":"x"}`, "{\"\u212aelvin\":2,\"\u017f\":3,\"\u212a\":4}", `{"STRASSE":1,"straße":2,"STRAßE":3,"ÜNICODE":"u","ünicode":"v"}`, `{"ab":1,"AB":2,"aB":3,"Ab":4}`, `{"\u0041b":1,"Kelv\u0069n":5}`,
	`{"A":1,"-":2,"a\\b":3,"ä ö":4,"e":5,"F":6,"G":7,"H":8,"I":9,"J":10,"C":11}`, `{"F":null,"G":null,"H":null,"I":null,"J":null}`, `{"I":"x","J":{}}`,
	`{"L":{"x":[1, 2]},"P":"s","Q":"t","R":"u","S":"v","LL":[1,null,{}],"QQ":["a",null,"b"],"M":{"k":5},"K":{"x":1,"y":2},"B":"z","V":1,"W":2,"X":"y"}`,
	`{"L":null,"P":null,"Q":null,"R":null,"S":null,"B":null,"V":null,"W":null,"X":null}`, `{"Q":5,"R":true,"S":[],"QQ":[{}],"LL":5,"K":5}`, `{"L":"fail","Q":"after"}`, `{"Q":"fail","L":1}`, `{"R":1.5,"S":{},"K":{"fail":1}}`,
	`{`, `}`, `[`, `]`, `[1`, `[1,`, `[1,]`, `[,1]`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{a:1}`, `{'a':1}`, `{"a" 1}`, `[1 2]`, `"`, `"a`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"\n\"", "\"a\tb\"", `tru`, `trux`, `nul`, `nulll`, `fals`, `+1`, `01`, `-`, `-a`, `1.`, `.5`, `1.e1`, `1e`, `1e+`, `--1`, `1-`, `00`, `-01`, `1 2`, `{} {}`, `[]x`, ``, ` `, "\x00", "\ufeff{}", `{"I":01}`, `{"I":1.}`, `{"S":"a\qb"}`, `{"I":-}`, `{"I":tru}`, `{"X":[1,}`, `{"L":[[1,2],[3,]}`, `{"S":"x"]`, `{"I":1}}`,
	" \t\r\n{ \"I\" : 1 , \"S\" : \"a\" } \n", "[\n        1,\n            2\n]",
	strings.Repeat("[", 10000) + strings.Repeat("]", 10000), strings.Repeat("[", 10001) + strings.Repeat("]", 10001), strings.Repeat(`{"a":`, 10001) + "1" + strings.Repeat("}", 10001),
	`{"I":12345678901234567890123,"F64":123456789012345678901234567890.5e-10,"F32":0.000000000000000000000000000000000000000000001}`,
}

// TestSame decodes all documents into all samples.
func TestSame(t *testing.T) {
	for _, doc := range documents {
		for _, fill := range samples() {
			same(t, []byte(doc), fill)
			if t.Failed() && testing.Verbose() {
				t.FailNow()
			}
		}
	}
}

// TestPrefixes decodes every beginning of some documents, and some with one byte changed.
func TestPrefixes(t *testing.T) {
	for _, doc := range documents {
		if len(doc) > 400 {
			continue
		}
		for _, fill := range samples()[:6] {
			for n := range len(doc) {
				same(t, []byte(doc)[:n], fill)
			}
		}
	}
}

// TestNotAPointer is what encoding/json says to a variable that cannot be set.
func TestNotAPointer(t *testing.T) {
	for _, v := range []any{nil, 5, (*int)(nil), struct{}{}} {
		if d := errorsDiffer(UnmarshalInto(nil, []byte("1"), v), json.Unmarshal([]byte("1"), v)); d != "" {
			t.Errorf("%T: %s", v, d)
		}
	}
	_ = reflect.TypeOf
}
