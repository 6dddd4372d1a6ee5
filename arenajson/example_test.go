// SPDX-License-Identifier: Apache-2.0

package arenajson_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/arenajson"
	"github.com/freehold-go/freehold/offheap"
)

type order struct {
	ID    string
	Items []struct {
		SKU   string
		Price float64
	}
}

func decodeAll(documents [][]byte) (total float64, err error) {
	a := arena.NewArena()
	defer a.Free()
	for _, text := range documents {
		o, err := arenajson.Unmarshal[order](a, text)
		if err != nil {
			return 0, err
		}
		for _, item := range o.Items {
			total += item.Price
		}
		a.Reset(arena.Keep) // frees the order; the next one uses the same memory
	}
	return total, nil
}

func Example() {
	total, err := decodeAll([][]byte{
		[]byte(`{"id": "o-1", "items": [{"sku": "A", "price": 19.5}, {"sku": "B", "price": 5}]}`),
		[]byte(`{"id": "o-2", "items": []}`),
	})
	fmt.Println(total, err)
	// Output: 24.5 <nil>
}

// A nil arena is the Go heap: nothing is to be freed.
func ExampleUnmarshal_withoutArena() {
	o, err := arenajson.Unmarshal[order](nil, []byte(`{"id": "o-3"}`))
	fmt.Println(o.ID, err)
	// Output: o-3 <nil>
}

// A limit of the arena bounds what a document may need.
func ExampleUnmarshal_limit() {
	a := arena.NewArena()
	defer a.Free()
	a.SetLimit(64 << 10)
	_, err := arenajson.Unmarshal[[]order](a, []byte("["+strings.Repeat("{},", 10000)+"{}]"))
	fmt.Println(errors.Is(err, offheap.ErrLimit))
	// Output: true
}

func ExampleParse() {
	a := arena.NewArena()
	defer a.Free()
	v, err := arenajson.Parse(a, []byte(`{"user": {"name": "Ada", "tags": ["x", "y"]}, "n": 3}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Get("user", "name").Text(), v.Get("user", "tags", 1), v.Get("user", "age").Kind())
	for name, member := range v.Members() {
		fmt.Println(name, member)
	}
	// Output:
	// Ada "y" none
	// user {"name":"Ada","tags":["x","y"]}
	// n 3
}

// Each has one value alive at a time, so that a stream of any length needs little memory.
func ExampleEach() {
	a := arena.NewArena()
	defer a.Free()
	stream := strings.NewReader("{\"id\": \"o-1\"}\n{\"id\": 5}\n{\"id\": \"o-3\"}\n")
	for o, err := range arenajson.Each[order](a, stream) {
		if err != nil {
			fmt.Println("skipped:", err)
			continue
		}
		fmt.Println(o.ID)
	}
	// Output:
	// o-1
	// skipped: json: cannot unmarshal number into Go struct field order.id of type string
	// o-3
}

// With ValuesForAny a part of unknown shape becomes a tree in the arena, without maps.
func ExampleOptions_valuesForAny() {
	type event struct {
		Kind string
		Data any
	}
	a := arena.NewArena()
	defer a.Free()
	e, err := arenajson.Unmarshal[event](a, []byte(`{"kind": "paid", "data": {"order": "o-4", "amounts": [19.50, 5]}}`), arenajson.Options{ValuesForAny: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	data := e.Data.(arenajson.Value)
	fmt.Println(e.Kind, data.Get("order").Text(), data.Get("amounts", 0).Number())
	// Output: paid o-4 19.50
}

// An arena.Map as a field lies in the arena and ends with it. It needs no Go map.
func ExampleUnmarshal_map() {
	type stock struct {
		Left *arena.Map[string, int]
	}
	a := arena.NewArena()
	defer a.Free()
	s, err := arenajson.Unmarshal[stock](a, []byte(`{"left": {"A": 3, "B": 7, "A": 5}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	n, ok := s.Left.Get("A")
	fmt.Println(n, ok, s.Left.Len())
	// Output: 5 true 2
}

// Version 2 knows names by their case, and refuses a name that stands twice.
func ExampleOptions_v2() {
	type user struct {
		Name string `json:"name"`
	}
	for _, text := range []string{`{"name": "Ada", "NAME": "Bob"}`, `{"name": "Ada", "name": "Bob"}`} {
		u, err := arenajson.Unmarshal[user](nil, []byte(text), arenajson.Options{V2: true})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(u.Name)
	}
	// Output:
	// Ada
	// jsontext: duplicate object member name "name"
}
