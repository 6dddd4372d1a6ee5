// Command goja runs a rule of an online shop as JavaScript in dop251/goja: the rule is compiled
// once, and called for each order, which comes and goes as JSON.
package main

import (
	"fmt"
	"strings"

	"github.com/dop251/goja"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const rule = `
var rates = {book: 0.07, food: 0.07, toy: 0.19, tool: 0.19};

function price(text) {
	var order = JSON.parse(text);
	var lines = order.items.filter(function (i) { return i.quantity > 0; }).map(function (i) {
		var net = i.price * i.quantity * (i.quantity > 10 ? 0.9 : 1);
		return {sku: i.sku.toUpperCase(), net: net, tax: net * (rates[i.kind] || 0.19)};
	});
	var groups = {};
	lines.forEach(function (l) {
		var key = l.sku.split("-")[0];
		(groups[key] = groups[key] || []).push(l);
	});
	var total = lines.reduce(function (sum, l) { return sum + l.net + l.tax; }, 0);
	if (order.customer.tags.indexOf("gold") >= 0) {
		total *= 0.97;
	}
	return JSON.stringify({id: order.id, lines: lines, groups: Object.keys(groups).sort(), total: total.toFixed(2)});
}`

func main() {
	load.Main(load.Sample{Ops: 8_000, Before: before})
}

func before() load.Op {
	vm := goja.New()
	if _, err := vm.RunString(rule); err != nil {
		panic(err)
	}
	var price func(order string) (string, error)
	if err := vm.ExportTo(vm.Get("price"), &price); err != nil {
		panic(err)
	}
	orders := make([]string, 200)
	for i := range orders {
		orders[i] = order(i)
	}
	return func(i int) {
		answer, err := price(orders[i%len(orders)])
		if err != nil || !strings.Contains(answer, `"total"`) {
			panic(fmt.Sprint(answer, err))
		}
	}
}

// order is one of 5 to 34 items.
func order(n int) string {
	kinds := []string{"book", "food", "toy", "tool"}
	var items []string
	for i := range 5 + n%30 {
		items = append(items, fmt.Sprintf(`{"sku":"%s-%d","kind":"%s","price":%d.5,"quantity":%d}`, kinds[i%4], n*i%997, kinds[i%4], i*3+1, (n+i)%14))
	}
	return fmt.Sprintf(`{"id":%d,"customer":{"name":"customer %d","tags":["new","gold"]},"items":[%s]}`, n, n, strings.Join(items, ","))
}
