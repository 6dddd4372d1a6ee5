// Command goja-rules decides over the requests of a gateway by rules that its operators write in
// JavaScript, with dop251/goja.
//
// It runs the text of a route's rule for each request. After the change it compiles each rule once.
package main

import (
	"fmt"

	"github.com/dop251/goja"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

type request struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	User    string            `json:"user"`
	Roles   []string          `json:"roles"`
	Headers map[string]string `json:"headers"`
	Size    int               `json:"size"`
}

func main() {
	load.Main(load.Sample{Ops: 20_000, Before: before, After: after})
}

func before() load.Op {
	return deciding(func(vm *goja.Runtime, route int) (goja.Value, error) { return vm.RunString(rule(route)) })
}

func after() load.Op {
	var rules [routes]*goja.Program
	for route := range rules {
		rules[route] = goja.MustCompile(fmt.Sprintf("route-%d", route), rule(route), false)
	}
	return deciding(func(vm *goja.Runtime, route int) (goja.Value, error) { return vm.RunProgram(rules[route]) })
}

func deciding(run func(vm *goja.Runtime, route int) (goja.Value, error)) load.Op {
	vm := goja.New()
	vm.SetFieldNameMapper(goja.TagFieldNameMapper("json", true))
	return func(i int) {
		route := i % routes
		r := &request{
			Method: []string{"GET", "POST", "DELETE"}[i%3], Path: fmt.Sprintf("/v1/route%d/items/%d", route, i), User: fmt.Sprintf("user-%d", i%1000),
			Roles: []string{"reader", "writer", "billing"}[:1+i%3], Headers: map[string]string{"X-Region": "eu", "X-Tier": "gold"}, Size: i % 5000,
		}
		if err := vm.Set("request", r); err != nil {
			panic(err)
		}
		answer, err := run(vm, route)
		if err != nil {
			panic(err)
		}
		if s := answer.String(); s != "allow" && s != "deny" && s != "throttle" {
			panic(s)
		}
	}
}

const routes = 12

func rule(route int) string { return rules[route] }

var rules = func() (all [routes]string) {
	for route := range all {
		all[route] = fmt.Sprintf(`
// Route %[1]d: who may do what.
(function () {
	var limits = {free: 100, silver: 1000, gold: 4000};
	var tier = request.headers["X-Tier"] || "free";
	if (request.size > (limits[tier] || limits.free)) {
		return "throttle";
	}
	function has(role) {
		return request.roles.indexOf(role) >= 0;
	}
	switch (request.method) {
	case "GET":
		return has("reader") ? "allow" : "deny";
	case "POST":
		if (request.headers["X-Region"] !== "eu" && %[1]d %% 2 === 0) {
			return "deny";
		}
		return has("writer") || has("billing") ? "allow" : "deny";
	case "DELETE":
		return has("billing") && request.path.indexOf("/v1/route%[1]d/") === 0 ? "allow" : "deny";
	default:
		return "deny";
	}
})()`, route)
	}
	return all
}()
