// Package examples has the programs of the folder examples of the library as workloads, each in
// plain Go and with freehold.
package examples

import (
	"slices"

	"github.com/freehold-go/freehold/cmd/bench"
)

// Workloads returns the workloads: "examples/skiplist" and so on.
func Workloads() []bench.Workload {
	return slices.Concat(mergeWorkloads(), skiplistWorkloads(), handlerWorkloads(), parserWorkloads(), frameWorkloads(), readThroughWorkloads())
}
