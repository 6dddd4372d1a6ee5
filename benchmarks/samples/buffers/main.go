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

// last is where the buffer goes, so that it is allocated as that of a server is.
var last *[]byte

var pool = sync.Pool{New: func() any {
	b := make([]byte, size)
	return &b
}}

// total keeps the compiler from dropping the work.
var total int

func main() {
	load.Main(load.Sample{Ops: 40_000, Before: before, After: after})
}

func before() load.Op {
	upload := bytes.Repeat([]byte("a line of an upload\n"), 3_000)
	return func(int) {
		b := make([]byte, size)
		last = &b
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

func receive(buffer, upload []byte) {
	n := copy(buffer, upload)
	total += bytes.Count(buffer[:n], []byte("\n"))
}
