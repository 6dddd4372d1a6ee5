// Command json-fields decodes documents into maps of any to read three of their fields.
//
// After the change gjson reads the fields, and nothing is decoded.
package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

// total keeps the compiler from dropping the work.
var total float64

func main() {
	load.Main(load.Sample{Ops: 70_000, Before: before, After: after})
}

func before() load.Op {
	doc := document()
	return func(int) {
		var fields map[string]any
		if err := json.Unmarshal(doc, &fields); err != nil {
			panic(err)
		}
		user := fields["user"].(map[string]any)
		total += fields["amount"].(float64) + user["age"].(float64) + float64(len(fields["currency"].(string)))
	}
}

func after() load.Op {
	doc := document()
	return func(int) {
		if !gjson.ValidBytes(doc) {
			panic("not JSON")
		}
		total += gjson.GetBytes(doc, "amount").Float() + gjson.GetBytes(doc, "user.age").Float() +
			float64(len(gjson.GetBytes(doc, "currency").String()))
	}
}

func document() []byte {
	var items []string
	for i := range 30 {
		items = append(items, fmt.Sprintf(`{"sku":"item-%d","quantity":%d,"price":%d.25,"gift":%v}`, i, i%4, i*3, i%2 == 0))
	}
	return []byte(`{"amount":120.5,"currency":"EUR","items":[` + strings.Join(items, ",") + `],"user":{"name":"Ada","age":36}}`)
}
