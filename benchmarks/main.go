// Command benchmarks runs freehold's workloads with rivals beside the contestants that the command
// freehold has, and workloads that decode Protocol Buffers.
//
//	cd benchmarks && go run . -run list
//	cd benchmarks && go run . -full
//	cd benchmarks && go run . -full -run examples
//
// It takes the flags of freehold bench. README.md says what the C allocators need, and how they are
// left out.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/freehold-go/freehold/benchmarks/examples"
	"github.com/freehold-go/freehold/benchmarks/protobuf"
	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/workloads"
)

// set has the workloads of freehold, those of Protocol Buffers, and the examples. The files of this package add the rivals in
// their init functions, which run after it is made.
var set = allWorkloads()

func allWorkloads() *bench.Set {
	set := workloads.All()
	set.AddWorkloads(protobuf.Workloads()...)
	set.AddWorkloads(examples.Workloads()...)
	return set
}

func main() {
	set.RunChild()
	command := set.Command()
	command.Name = "benchmarks"
	command.Usage = "freehold's workloads with rivals"
	if err := command.Run(context.Background(), os.Args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
