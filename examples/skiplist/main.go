// SPDX-License-Identifier: Apache-2.0

// Command skiplist fills an ordered index from many goroutines and shows what the index costs the
// collector.
//
//	go run ./examples/skiplist           # off the heap, with package offheap
//	go run ./examples/skiplist -plain    # the same on the Go heap
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/freehold-go/freehold/examples/internal/cost"
	"github.com/freehold-go/freehold/examples/skiplist/list"
	"github.com/freehold-go/freehold/offheap"
)

func main() {
	plain := flag.Bool("plain", false, "use the Go heap")
	n := flag.Int("n", 1_000_000, "number of entries")
	flag.Parse()
	run(os.Stdout, *plain, *n)
}

func run(out io.Writer, plain bool, n int) {
	var index list.Index
	free := func() {}
	if plain {
		index = new(list.Plain)
	} else {
		off := new(list.OffHeap)
		index, free = off, off.Free
	}
	goroutines := 2 * runtime.GOMAXPROCS(0)
	var found, sum uint64
	filling := cost.Of(func() { list.Fill(index, n, goroutines) })
	reading := cost.Of(func() { found, sum = list.LookUp(index, n, goroutines) })
	collection := cost.Of(runtime.GC)
	value, _ := index.Get(nil, list.Key(nil, n-1))
	fmt.Fprintf(out, "%d of %d entries found, checksum %x; the last value is %s\n", found, n, sum, value)
	fmt.Fprintf(out, "set      %v\n", filling)
	fmt.Fprintf(out, "get      %v\n", reading)
	fmt.Fprintf(out, "collect  %v of CPU beside the list\n", collection.Collector.Round(10*time.Microsecond))
	fmt.Fprintf(out, "off heap %d MiB\n", offheap.ReadStats().InUse>>20)
	free()
}
