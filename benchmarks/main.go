// Command benchmarks runs freehold's workloads with rivals beside the contestants that the command freehold has.
//
//	cd benchmarks && go run . -run list
//	cd benchmarks && go run . -full
//
// It takes the flags of freehold bench. The C allocators need cgo and Debian's libjemalloc-dev and libmimalloc-dev;
// CGO_ENABLED=0 leaves them out. Ristretto's allocator needs its build tag, jemalloc, to be more than the Go heap. It
// looks for the archive in a fixed place and for functions that start with je_, which Debian's header has on request:
//
//	ln -s /usr/lib/x86_64-linux-gnu/libjemalloc.a /usr/local/lib/libjemalloc.a
//	cd benchmarks && CGO_CFLAGS="-O2 -g -DJEMALLOC_NO_DEMANGLE=" go run -tags jemalloc . -full
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/freehold-go/freehold/cmd/bench"
)

func main() {
	bench.RunChild()
	command := bench.Command()
	command.Name = "benchmarks"
	command.Usage = "freehold's workloads with rivals"
	if err := command.Run(context.Background(), os.Args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
