// Package layers handles a request as services do: each layer is a package of its own that leaves a
// little garbage behind.
//
// Samples about memory that lives long use it, because there no single place makes the garbage that
// drives the collector.
package layers

import (
	"github.com/freehold-go/freehold/benchmarks/samples/layers/page"
	"github.com/freehold-go/freehold/benchmarks/samples/layers/query"
	"github.com/freehold-go/freehold/benchmarks/samples/layers/token"
)

// last is where the last page goes, so that it is allocated as that of a server is.
var last *page.Page

// Serve handles a request about the thing with the number: find looks it up and says two numbers of
// it.
func Serve(number uint64, find func(uint64) (a, b uint64)) {
	q := query.Parse(number)
	t := token.Read(number)
	a, b := find(q.Number())
	last = page.Render(t.Subject(), a, b)
}
