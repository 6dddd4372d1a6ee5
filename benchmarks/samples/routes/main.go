// Command routes compiles the regular expression of a route for each request that it matches.
//
// After the change it is compiled once.
package main

import (
	"regexp"
	"strconv"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

const route = `^/api/v(\d+)/users/([^/]+)/orders/(\d+)$`

// total keeps the compiler from dropping the work.
var total int

func main() {
	load.Main(load.Sample{Ops: 150_000, Before: before, After: after})
}

func before() load.Op {
	return func(i int) {
		re := regexp.MustCompile(route)
		total += len(re.FindStringSubmatch(path(i)))
	}
}

func after() load.Op {
	re := regexp.MustCompile(route)
	return func(i int) {
		total += len(re.FindStringSubmatch(path(i)))
	}
}

func path(i int) string { return "/api/v2/users/ada/orders/" + strconv.Itoa(i) }
