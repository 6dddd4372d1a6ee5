// SPDX-License-Identifier: Apache-2.0

// Command collector builds an index from many collectors and shows the collector's work.
//
//	go run ./examples/collector           # a Sorter with a budget
//	go run ./examples/collector -plain    # slices on the Go heap
package main

import (
	"context"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"os"

	"github.com/freehold-go/freehold/examples/collector/collect"
	"github.com/freehold-go/freehold/examples/internal/cost"
)

func main() {
	plain := flag.Bool("plain", false, "use the Go heap")
	collectors := flag.Int("collectors", 50, "number of collectors")
	n := flag.Int("n", 5000, "number of documents of a collector")
	memory := flag.Int64("memory", 64<<20, "budget in bytes")
	flag.Parse()
	if err := run(os.Stdout, *plain, *collectors, *n, *memory); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer, plain bool, collectors, n int, memory int64) (err error) {
	index := crc32.NewIEEE()
	building := cost.Of(func() {
		if plain {
			err = collect.Plain(index, collectors, n)
		} else {
			err = collect.Sorted(context.Background(), index, collectors, n, memory)
		}
	})
	fmt.Fprintf(out, "%d collectors, %d documents each, index %08x\n", collectors, n, index.Sum32())
	fmt.Fprintf(out, "build    %v\n", building)
	return err
}
