// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/json"
	"reflect"
	"time"
)

// Types for the rules of version 2.
type (
	bytesV2 struct {
		B   []byte
		A   [4]byte
		S   []byte   `json:",format:base64"`
		U   []byte   `json:",format:base64url"`
		T   []byte   `json:",format:base32"`
		H   [3]byte  `json:",format:base32hex"`
		X   []byte   `json:",format:hex"`
		Y   *[2]byte `json:",format:base16"`
		L   []byte   `json:",format:array"`
		M   [2]byte  `json:",format:array"`
		N   []named8
		Bad []byte `json:",format:base66"`
		P   [][]byte
	}
	numbersV2 struct {
		I  int                   `json:",string"`
		U  uint8                 `json:",string"`
		F  float64               `json:",string"`
		G  float32               `json:",string"`
		S  string                `json:",string"`
		B  bool                  `json:",string"`
		L  []int                 `json:",string"`
		M  map[int]float64       `json:",string"`
		N  struct{ A, B *int }   `json:",string"`
		X  any                   `json:",string"`
		J  json.Number           `json:",string"`
		K  json.Number           //
		NF float64               `json:",format:nonfinite"`
		NQ float64               `json:",string,format:nonfinite"`
		E  interface{}           `json:",string"`
		Q  map[string]*[2]uint16 `json:",string"`
	}
	timesV2 struct {
		T  time.Time
		A  time.Time             `json:",format:unix"`
		B  time.Time             `json:",format:unixmilli"`
		C  time.Time             `json:",format:unixmicro"`
		D  time.Time             `json:",format:unixnano"`
		E  *time.Time            `json:",format:RFC1123"`
		F  time.Time             `json:",format:'2006-01-02'"`
		G  time.Time             `json:",format:DateOnly"`
		H  time.Time             `json:",format:Unknown"`
		I  time.Duration         `json:",format:units"`
		J  time.Duration         `json:",format:sec"`
		K  time.Duration         `json:",format:milli"`
		L  time.Duration         `json:",format:nano"`
		M  time.Duration         `json:",format:iso8601"`
		N  time.Duration         `json:",string,format:micro"`
		O  time.Duration         //
		P  map[time.Time]int     //
		Q  map[time.Duration]int //
		R  time.Time             `json:",format:RFC3339Nano"`
		S  *time.Duration        `json:",format:weeks"`
		T2 time.Time             `json:",string,format:unix"`
	}
	namesV2 struct {
		A int    `json:"name"`
		B int    `json:"Some_Name,case:ignore"`
		C int    `json:"strict,case:strict"`
		D int    `json:"'a,b'"`
		E int    `json:"'quo\"te'"`
		F int    `json:"'-'"`
		G int    `json:"''"`
		H string `json:"'\\u00e9\\n',omitzero"`
		I int    `json:"someNAME"`
		J int    `json:"käse,case:ignore,omitempty"`
		K int
	}
	unknownMap struct {
		A int
		U map[string]int `json:",embed"`
		B int
	}
	unknownRaw struct {
		A int
		U json.RawMessage `json:",embed"`
	}
	inlineMap struct {
		A int
		Inner
		M *map[named]any `json:",embed"`
	}
	inlineRaw struct {
		R *json.RawMessage `json:",embed"`
		A int
	}
	inlines struct {
		In  Inner  `json:",embed"`
		Ptr *Other `json:",embed"`
		F   int
		U   *unknownMap `json:",embed"`
	}
	badV2 struct {
		Two        *badTag
		Three      *badInline
		Four       *twoFallbacks
		Five       *noFields
		Six        *nonStruct
		Seven      *dashName
		Eight      *badOption
		Nine       *quotedWord
		Ten        *twice
		Twelve     *methodInline
		Thirteen   *badCase
		Fourteen   *bothCases
		Fifteen    *lateFormat
		Sixteen    *trailing
		Seventeen  *twoOptions
		Eighteen   *mapKeyInline
		Nineteen   *unknownStruct
		Twenty     *noCase
		TwentyOne  *hiddenMethods
		TwentyTwo  *emptyStruct
		TwentyFour *onlyIgnored
	}
	badTag struct {
		A int `json:"'x"`
	}
	badInline struct {
		A int `json:",embed"`
	}
	twoFallbacks struct {
		A map[string]int  `json:",embed"`
		B json.RawMessage `json:",embed"`
	}
	noFields  struct{ a int }
	nonStruct struct{ named }
	dashName  struct {
		A int `json:"-,"`
	}
	badOption struct {
		A int `json:",omitEmpty"`
	}
	quotedWord struct {
		A int `json:",'string'"`
	}
	methodInline struct {
		A mood `json:",embed"`
	}
	badCase struct {
		A int `json:",case:maybe"`
	}
	bothCases struct {
		A int `json:",case:ignore,case:strict"`
	}
	lateFormat struct {
		A []byte `json:",format:hex,omitzero"`
	}
	trailing struct {
		A int `json:"a,"`
	}
	twoOptions struct {
		A int `json:",string,string"`
	}
	mapKeyInline struct {
		A map[textKey]int `json:",embed"`
	}
	unknownStruct struct {
		A Inner `json:",embed"`
	}
	noCase struct {
		A int `json:",case"`
	}
	hiddenMethods struct {
		mood `json:"m"`
	}
	emptyStruct struct{}
	onlyIgnored struct {
		A int `json:"-"`
	}
	mergesV2 struct {
		M map[string]scalars
		N map[string]*int
		S []scalars
		A [2]scalars
		X any
		E error
		P *scalars
		I map[int]map[string]int
		T map[quiet]string
		F map[float64]string
		B map[[2]byte]string
		K map[any]string
		Q map[*quiet]string
	}
)

// Types that go vet would report.
var (
	twoNames = reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"x"`},
		{Name: "B", Type: reflect.TypeFor[int](), Tag: `json:"x"`},
	})
	hiddenTag = reflect.StructOf([]reflect.StructField{{Name: "a", PkgPath: "p", Type: reflect.TypeFor[int](), Tag: `json:"a"`}})
)

// samplesV2 are variables of these types, some with contents.
func samplesV2() []func() any {
	return []func() any{
		func() any { return new(bytesV2) }, func() any { return new(numbersV2) }, func() any { return new(timesV2) },
		func() any { return new(namesV2) }, func() any { return new(unknownMap) }, func() any { return new(unknownRaw) },
		func() any { return new(inlineMap) }, func() any { return new(inlineRaw) }, func() any { return new(inlines) },
		func() any { return new(badV2) }, func() any { return new(mergesV2) }, func() any { return new([4]byte) },
		func() any { return new(time.Duration) }, func() any { return new(map[bool]int) }, func() any { return reflect.New(reflect.SliceOf(twoNames)).Interface() }, func() any { return reflect.New(hiddenTag).Interface() },
		func() any {
			return &bytesV2{B: []byte("longer than what comes"), A: [4]byte{1, 2, 3, 4}, L: []byte{9}, N: []named8{7}, P: [][]byte{{1, 2}, nil}}
		},
		func() any {
			return &unknownMap{U: map[string]int{"x": 1, "old": 2}}
		},
		func() any { return &unknownRaw{U: json.RawMessage(" {\"x\":1 } ")} },
		func() any { return &unknownRaw{U: json.RawMessage("[]")} },
		func() any { r := json.RawMessage("{}"); return &inlineRaw{R: &r} },
		func() any { m := map[named]any{"x": map[string]any{"y": 1.5}, "s": "str"}; return &inlineMap{M: &m} },
		func() any {
			n := 5
			return &mergesV2{M: map[string]scalars{"a": {I: 1, S: "s"}}, N: map[string]*int{"a": &n}, S: []scalars{{I: 2}, {S: "t"}}[:1], A: [2]scalars{{I: 3}, {I: 4}},
				X: scalars{I: 5, S: "held"}, E: &fails{6}, P: &scalars{S: "p"}, I: map[int]map[string]int{1: {"a": 1}}, T: map[quiet]string{{"(x)"}: "y"}, F: map[float64]string{1: "one"}}
		},
		func() any { return &mergesV2{X: map[string]any{"a": 1.0, "b": map[string]any{"c": "d"}}} },
		func() any { return &mergesV2{X: []int{1, 2, 3}} },
		func() any { return &mergesV2{X: "text"} },
		func() any { p := &scalars{I: 1}; return &mergesV2{X: &p} },
		func() any { var v any = json.Number("5"); return &v },
	}
}

// documentsV2 are for them.
var documentsV2 = []string{
	`{"B":"AQID","A":"AQIDBA==","S":"+/8=","U":"-_8=","T":"MFRGG===","H":"C5H66===","X":"00fF","Y":"0102","L":[1,2,255],"M":[3,4],"N":[5,6],"P":["AQ==",null,""]}`,
	`{"B":"AQI"}`, `{"B":"AQI=\n"}`, `{"B":"A\nQID"}`, `{"B":"AQID\u000d"}`, `{"B":[1,2]}`, `{"B":""}`, `{"B":null}`, `{"B":"A"}`, `{"B":"AQ=="}`, `{"B":"AR=="}`, `{"A":"AQID"}`, `{"A":"AQIDBAU="}`, `{"A":""}`, `{"A":null}`, `{"A":[1,2,3,4]}`, `{"Y":null}`, `{"X":"0"}`, `{"X":"0g"}`, `{"L":"AQID"}`, `{"L":[256]}`, `{"M":[1]}`, `{"M":[1,2,3]}`, `{"M":[]}`, `{"N":"AQID"}`, `{"Bad":"AQID"}`, `{"Bad":null}`, `"AQIDBA=="`, `{"T":"MFRGG==="}`, `{"T":"mfrgg==="}`, `{"T":"MFRGG"}`, `{"H":"????"}`, `{"B":5}`, `{"U":"+/8="}`,
	`{"I":"12","U":"200","F":"1.5e3","G":"-0","S":"s","B":true,"L":["1","-2"],"M":{"1":"2.5"},"N":{"A":"5","B":null},"X":[1,"2"],"J":"12","K":12.50,"NF":"NaN1","E":"e","Q":{"a":["1","2"]}}`,
	`{"I":12}`, `{"I":" 12"}`, `{"I":"1.0"}`, `{"I":"01"}`, `{"I":"-"}`, `{"I":"-0"}`, `{"I":""}`, `{"I":null}`, `{"I":"null"}`, `{"I":"\u0031"}`, `{"I":"9223372036854775808"}`, `{"I":"-9223372036854775808"}`, `{"U":"-0"}`, `{"U":"256"}`, `{"U":"+1"}`, `{"F":1}`, `{"F":"1."}`, `{"F":"1e999"}`, `{"F":"Inf"}`, `{"F":"0x1"}`, `{"G":"1e39"}`, `{"B":"true"}`, `{"S":"\"x\""}`, `{"L":[1]}`, `{"L":null}`, `{"M":{"1":2}}`, `{"M":{"x":"2"}}`, `{"N":{"A":5}}`, `{"X":5}`, `{"X":"5"}`, `{"J":12}`, `{"J":"x"}`, `{"K":"12"}`, `{"K":"x"}`, `{"K":true}`, `{"K":null}`, `{"NF":"Infinity"}`, `{"NF":"-Infinity"}`, `{"NF":1.5}`, `{"NF":"1.5"}`, `{"NF":null}`, `{"NQ":"Infinity"}`, `{"NQ":"1.5"}`, `{"NQ":1.5}`, `{"E":5}`, `{"E":null}`, `{"Q":{"a":["1"]}}`, `{"Q":{"a":[1,2]}}`, `{"Q":{"a":null}}`,
	`{"T":"2020-01-02T03:04:05.5Z","A":1600000000.5,"B":1600000000123.25,"C":1.000001,"D":-1,"E":"Thu, 02 Jan 2020 03:04:05 UTC","F":"2020-01-02","G":"2020-01-03","I":"1h2m","J":1.5,"K":2000.000001,"L":-5,"M":"PT1H2M3.5S","N":"7.5","P":{"2020-01-02T03:04:05Z":1},"R":"2020-01-02T03:04:05+01:00","T2":"5"}`,
	`{"T":5}`, `{"T":null}`, `{"T":"2020-01-02T3:04:05Z"}`, `{"T":"2020-01-02T03:04:05,5Z"}`, `{"T":"2020-01-02T03:04:05+25:00"}`, `{"T":"x"}`, `{"A":"5"}`, `{"A":1e3}`, `{"A":-0}`, `{"A":-0.5}`, `{"A":-1.5}`, `{"A":9223372036854775807}`, `{"A":9223372036854775808}`, `{"A":-9223372036854775808}`, `{"A":18446744073709551616}`, `{"A":null}`, `{"B":99999999999999999999}`, `{"B":9999999999999999999999999}`, `{"B":-1}`, `{"B":-1500.5}`, `{"D":123456789012345678901234}`, `{"D":1.9}`, `{"E":null}`, `{"E":"x"}`, `{"F":"2020-13-01"}`, `{"H":"x"}`, `{"H":null}`, `{"I":5}`, `{"I":"x"}`, `{"I":null}`, `{"J":"5"}`, `{"J":-0}`, `{"J":-0.000000001}`, `{"J":9223372036.854775807}`, `{"J":9223372036.854775808}`, `{"J":-9223372036.854775808}`, `{"J":1e3}`, `{"J":1.0000000001}`, `{"L":1.5}`, `{"L":18446744073709551616}`, `{"M":"PT"}`, `{"M":"P1D"}`, `{"M":"P"}`, `{"M":"-pt1h"}`, `{"M":"+PT1M"}`, `{"M":"PT1M1H"}`, `{"M":"PT1.5H"}`, `{"M":"PT1.5H1M"}`, `{"M":"PT0,25M"}`, `{"M":"PT1.M"}`, `{"M":"PT01S"}`, `{"M":"PTS"}`, `{"M":"PT9999999H"}`, `{"M":"PT1H5"}`, `{"M":"-PT0S"}`, `{"M":"PT1S1S"}`, `{"M":"PT99999999999999999999S"}`, `{"M":"PT0.0000000019S"}`, `{"M":5}`, `{"N":7}`, `{"N":null}`, `{"N":"x"}`, `{"O":5}`, `{"O":null}`, `{"P":{"x":1}}`, `{"Q":{"5":1}}`, `{"Q":{}}`, `{"S":"1w"}`, `{"S":null}`, `{"T2":5}`, `"5s"`, `,`, `{"O":,5}`, `{"O":: 5}`,
	`{"name":1,"some-name":2,"strict":3,"a,b":4,"quo\"te":5,"-":6,"":7,"é\n":"x","K\u00e4se":8,"K":9}`, `{"Name":1}`, `{"NAME":1}`, `{"SomeName":1,"some_name":2}`, `{"someNAME":1,"SOMENAME":2}`, `{"STRICT":1}`, `{"k":1}`, `{"\u004b":1,"K":2}`, `{"\u006eame":1}`, `{"KÄSE":1,"käse":2}`, `{"\u00e9\u000a":"y"}`, `{"name":1,"name":2}`, `{"x":1,"x":2}`, `{"x":1,"\u0078":2}`, `{"x":{"y":1,"y":2}}`, `{"x":[{"y":1,"y":2}]}`,
	`{"A":1,"x":5,"y":6,"B":2}`, `{"x":7,"old":8}`, `{"x":7,"x":8}`, `{"x":"no"}`, `{"x":null}`, `{"x":{"y":2.5,"z":[]}}`, `{"s":5}`, `{"s":"new"}`, `{"A":1,"b":2,"C":"c","unknown":{"a":[1, 2]},"F":9,"B":3}`, `{"\u0078":1,"n":{"a":"\u00e9"}}`, `{"A":"x","x":1}`, `{"x":1,"A":2,"y":[{}]}`,
	`{"One":{},"Two":null}`, `{"One":{}}`, `{"Two":{}}`, `{"Three":{}}`, `{"Four":{}}`, `{"Five":{}}`, `{"Six":{}}`, `{"Seven":{}}`, `{"Eight":{}}`, `{"Nine":{}}`, `{"Ten":{"B":1}}`, `{"Eleven":{}}`, `{"Twelve":{}}`, `{"Thirteen":{}}`, `{"Fourteen":{}}`, `{"Fifteen":{}}`, `{"Sixteen":{}}`, `{"Seventeen":{}}`, `{"Eighteen":{}}`, `{"Nineteen":{}}`, `{"Twenty":{}}`, `{"TwentyOne":{}}`, `{"TwentyTwo":{}}`, `{"TwentyFour":{}}`, `{"One":5}`, `{"One":null}`, `[{}]`, `[null]`, `[]`, `{"true":1}`,
	`{"M":{"a":{"I":9},"b":{"S":"n"}},"N":{"a":6},"S":[{"U":1},{"U":2},{"U":3}],"A":[{"S":"x"},{}],"X":{"I":7},"P":{"I":8},"I":{"1":{"b":2},"2":{}},"T":{"z":"w"},"F":{"1":"uno","1.0":"due"},"B":{"AQI=":"b"},"K":{"k":"v"},"Q":{"a":"b"}}`,
	`{"M":{"a":{"I":9},"a":{}}}`, `{"M":{"a":null}}`, `{"M":null}`, `{"M":{"a":5}}`, `{"N":{"a":null}}`, `{"S":[]}`, `{"S":[null]}`, `{"S":null}`, `{"S":[{"I":"x"}]}`, `{"S":[{},{"I":"x"},{}]}`, `{"A":[{}]}`, `{"A":[{},{},{}]}`, `{"A":null}`, `{"X":null}`, `{"X":"str"}`, `{"X":5}`, `{"X":{"a":"new","b":{"e":1}}}`, `{"X":[4,5]}`, `{"X":[4,5,6,7]}`, `{"X":{"I":"x"}}`, `{"E":{"N":5}}`, `{"E":null}`, `{"E":5}`, `{"P":null}`, `{"I":{"1":{"a":2},"01":{}}}`, `{"I":{"1":{"a":2},"1":{}}}`, `{"I":{"-0":{},"0":{}}}`, `{"I":{"1e0":{}}}`, `{"T":{"x":"1","x":"2"}}`, `{"F":{"1":"a","1":"b"}}`, `{"F":{"1":"a","1e0":"b"}}`, `{"F":{"x":"a"}}`, `{"B":{"AQ==":"a"}}`, `{"K":{"a":"1","a":"2"}}`, `{"Q":{"a":"1","a":"2"}}`, `{"X":1e999}`, `{"X":[1e999]}`, `{"X":{"a":{"b":1,"b":2}}}`, `{"X":{"a":1,"a":2}}`,
	"\"\xff\"", "{\"\xff\":1}", "{\"X\":\"\xff\"}", "[\"\xc3\"]", `"\ud800"`, `{"\ud800":1}`, `{"x":"\ud800"}`, `{"x":["\udc00\ud800"]}`, `"\ud83d\ude00"`, `"\ufffd"`, "\"\xef\xbf\xbd\"", "{\"x\":\"\xff\"}", "{\"S\":\"a\\n\xff\"}", "{\"S\":\"\\u00e9\xff\\\"\"}",
}
