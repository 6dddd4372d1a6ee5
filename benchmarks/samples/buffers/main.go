// Command buffers makes a buffer of 256 KiB for each upload that it copies.
//
// After the change the buffers come from a sync.Pool.
package main

import (
	"bytes"
	"sync"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

const size = 256 << 10

// receive is a variable, so that the buffer is allocated as that of a server is.
var receive func(buffer, upload []byte)

var pool = sync.Pool{New: func() any {
	b := make([]byte, size)
	return &b
}}

// total keeps the compiler from dropping the work.
var total int

func main() {
	receive = count
	load.Main(load.Sample{Ops: 40_000, Before: before, After: after})
}

func before() load.Op {
	upload := bytes.Repeat([]byte("a line of an upload\n"), 3_000)
	return func(int) {
		b := make([]byte, size)
		receive(b, upload)
	}
}

func after() load.Op {
	upload := bytes.Repeat([]byte("a line of an upload\n"), 3_000)
	return func(int) {
		b := pool.Get().(*[]byte)
		receive(*b, upload)
		pool.Put(b)
	}
}

func count(buffer, upload []byte) {
	n := copy(buffer, upload)
	total += bytes.Count(buffer[:n], []byte("\n"))
}
