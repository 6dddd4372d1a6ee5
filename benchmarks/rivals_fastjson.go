package main

import (
	"strconv"

	"github.com/valyala/fastjson"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/workloads"
)

// fastjson parses into a tree of values, as arenajson.Parse does. A tree lies in the memory of its Parser, and ends with the Parser's
// next document.

const fastjsonName = "fastjson"

func init() {
	set.Add("decode", bench.Contestant{Name: fastjsonName, Note: "a tree of values by Parsers that are reused", Prepare: func(r *bench.Run) func() uint64 {
		return workloads.Decode(fastjsonDecode(), false)(r)
	}})
	for _, document := range workloads.StructuredDocuments() {
		set.AddBars("decode", bench.AtMost("decode, "+document+", "+workloads.ArenaValue+" by "+fastjsonName, 0.75, bench.InputRatio("decode", document, workloads.ArenaValue, fastjsonName)))
	}
}

// fastjsonDecode has a Parser for each document that is alive. The first result is made of maps and slices, so that its checksum can be
// compared; it does not count for time.
func fastjsonDecode() func(data []byte, v any) error {
	var parsers [workloads.DecodeAlive]fastjson.Parser
	decoded := 0
	return func(data []byte, v any) error {
		tree, err := parsers[decoded%len(parsers)].ParseBytes(data)
		if err != nil {
			return err
		}
		var result any = tree
		if decoded == 0 {
			result = fastjsonAny(tree)
		}
		decoded++
		*v.(*any) = result
		return nil
	}
}

// fastjsonAny is what encoding/json decodes into an any.
func fastjsonAny(v *fastjson.Value) any {
	switch v.Type() {
	case fastjson.TypeObject:
		members := map[string]any{}
		v.GetObject().Visit(func(name []byte, member *fastjson.Value) { members[string(name)] = fastjsonAny(member) })
		return members
	case fastjson.TypeArray:
		var items []any
		for _, item := range v.GetArray() {
			items = append(items, fastjsonAny(item))
		}
		return items
	case fastjson.TypeString:
		return string(v.GetStringBytes())
	case fastjson.TypeNumber:
		number, _ := strconv.ParseFloat(string(v.MarshalTo(nil)), 64) // Rounded as others do it.
		return number
	case fastjson.TypeTrue, fastjson.TypeFalse:
		return v.GetBool()
	}
	return nil
}
