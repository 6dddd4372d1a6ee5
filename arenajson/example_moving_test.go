// SPDX-License-Identifier: Apache-2.0

package arenajson_test

import (
	"fmt"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/arenajson"
)

// The table on docs/decoding.md names these calls as what programs have after they move over; internal/checks/lint holds
// the table to this file. What they have before is in benchmarks/moving_decoding_test.go.

func movedTypes[T any](a *arena.Arena, data []byte) (*T, error) {
	var v T
	if err := arenajson.UnmarshalInto(a, data, &v); err != nil {
		return nil, err
	}
	if err := arenajson.UnmarshalInto(a, data, &v, arenajson.Options{AliasInput: true}); err != nil {
		return nil, err
	}
	return unmarshalled[T](a, data)
}

func unmarshalled[T any](a *arena.Arena, data []byte) (*T, error) {
	v, err := arenajson.Unmarshal[T](a, data)
	return v, err
}

func movedTrees(a *arena.Arena, data []byte) (text string, err error) {
	defer a.Reset(arena.Keep)
	v, err := arenajson.Parse(a, data)
	if err != nil {
		return "", err
	}
	n, err := v.Get("a", 3).Int()
	if err != nil {
		return "", err
	}
	o := arenajson.NewObject(a, v)
	s, err := arenajson.StringValue(a, fmt.Sprint("after ", n))
	if err != nil {
		return "", err
	}
	list, err := arenajson.ArrayValue(a, v.Get("a"), s)
	if err != nil {
		return "", err
	}
	o.Set("a", s)
	o.Set("list", list)
	o.Delete("old")
	o.Merge(v.Get("more"))
	if v, err = o.Value(); err != nil {
		return "", err
	}
	b := []byte(v.Get("a").Text() + " ")
	return string(v.AppendJSON(b)), nil
}

// What programs that move over call instead: a type by UnmarshalInto or Unmarshal, a tree by Parse, an edited one by NewObject.
func Example_movingOver() {
	a := arena.NewArena()
	defer a.Free()
	o, err := movedTypes[order](a, []byte(`{"id":"o-1","items":[{"sku":"A","price":2}]}`))
	fmt.Println(o.ID, len(o.Items), err)
	fmt.Println(movedTrees(a, []byte(`{"a":[1,2,3,4],"old":true,"more":{"b":null}}`)))
	// Output:
	// o-1 1 <nil>
	// after 4 {"a":"after 4","more":{"b":null},"list":[[1,2,3,4],"after 4"],"b":null} <nil>
}
