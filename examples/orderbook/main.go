// SPDX-License-Identifier: Apache-2.0

// Command orderbook matches orders and shows what the book costs the collector.
//
//	go run ./examples/orderbook           # handles into a slab off the heap
//	go run ./examples/orderbook -plain    # pointers and a map on the Go heap
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/freehold-go/freehold/examples/internal/cost"
	"github.com/freehold-go/freehold/examples/orderbook/book"
	"github.com/freehold-go/freehold/offheap"
)

func main() {
	plain := flag.Bool("plain", false, "use the Go heap")
	n := flag.Int("n", 3_000_000, "number of orders")
	flag.Parse()
	run(os.Stdout, *plain, *n)
}

func run(out io.Writer, plain bool, n int) {
	var b book.Book
	free := func() {}
	if plain {
		b = book.NewPlain()
	} else {
		slab := book.NewSlab()
		b, free = slab, slab.Free
	}
	var cancelled int
	matching := cost.Of(func() { cancelled = book.Work(b, n) })
	collection := cost.Of(runtime.GC)
	fmt.Fprintf(out, "%d orders in the book, %d cancelled, checksum of the trades %x\n", b.Len(), cancelled, b.Traded())
	fmt.Fprintf(out, "match    %v\n", matching)
	fmt.Fprintf(out, "collect  %v of CPU beside the book\n", collection.Collector.Round(10*time.Microsecond))
	fmt.Fprintf(out, "off heap %d KiB\n", offheap.ReadStats().InUse>>10)
	free()
}
