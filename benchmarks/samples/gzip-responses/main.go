// Command gzip-responses compresses small responses with a new gzip writer for each, as HTTP
// handlers do that know no pool.
//
// A writer is some hundred kilobytes of tables, cleared for a response of two. After the change
// writers come from a sync.Pool.
package main

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

var pool = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func main() {
	load.Main(load.Sample{Ops: 5_000, Before: before, After: after})
}

func before() load.Op {
	body := page()
	return func(int) {
		w := gzip.NewWriter(io.Discard)
		respond(w, body)
	}
}

func after() load.Op {
	body := page()
	return func(int) {
		w := pool.Get().(*gzip.Writer)
		w.Reset(io.Discard)
		respond(w, body)
		pool.Put(w)
	}
}

func respond(w *gzip.Writer, body []byte) {
	if _, err := w.Write(body); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
}

func page() []byte {
	var b bytes.Buffer
	for i := range 24 {
		fmt.Fprintf(&b, `{"id":%d,"name":"item %d","price":%d.%02d,"tags":["a%d","b%d"]}`, i, i*7919, i*13%97, i*31%100, i%5, i%3)
	}
	return b.Bytes()
}
