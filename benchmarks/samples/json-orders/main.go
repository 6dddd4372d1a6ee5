// Command json-orders decodes documents into structs with encoding/json, which works by reflection.
//
// After the change goccy/go-json does so, with a decoder for the type that it makes once.
package main

import (
	"encoding/json"
	"fmt"
	"strings"

	gojson "github.com/goccy/go-json"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

type order struct {
	ID       int64   `json:"id"`
	Customer string  `json:"customer"`
	Paid     bool    `json:"paid"`
	Items    []item  `json:"items"`
	Total    float64 `json:"total"`
}

type item struct {
	SKU      string  `json:"sku"`
	Quantity int     `json:"quantity"`
	Price    float64 `json:"price"`
	Gift     *string `json:"gift"`
}

// total keeps the compiler from dropping the work.
var total float64

func main() {
	load.Main(load.Sample{Ops: 70_000, Before: before, After: after})
}

func before() load.Op { return decoding(json.Unmarshal) }

func after() load.Op {
	return decoding(func(data []byte, v any) error { return gojson.Unmarshal(data, v) })
}

func decoding(unmarshal func([]byte, any) error) load.Op {
	doc := document()
	return func(int) {
		var o order
		if err := unmarshal(doc, &o); err != nil {
			panic(err)
		}
		for i := range o.Items {
			total += o.Items[i].Price
		}
	}
}

func document() []byte {
	var items []string
	for i := range 30 {
		items = append(items, fmt.Sprintf(`{"sku":"item-%d","quantity":%d,"price":%d.25,"gift":"to %d"}`, i, i%4, i*3, i))
	}
	return []byte(`{"id":12,"customer":"Ada Lovelace","paid":true,"items":[` + strings.Join(items, ",") + `],"total":820.5}`)
}
