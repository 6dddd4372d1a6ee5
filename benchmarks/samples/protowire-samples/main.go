// Command protowire-samples decodes packed numbers of protocol buffers into slices that grow by
// append.
//
// After the change it counts the numbers first, which a look at one bit of each byte does, and
// makes the slice with that capacity.
package main

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

const numbers = 3_000

// last is where decoded samples go, so that they are allocated as those of a server are.
var last []uint64

func main() {
	load.Main(load.Sample{Ops: 50_000, Before: before, After: after})
}

func before() load.Op {
	data := packed()
	return func(int) {
		var values []uint64
		last = decode(values, data)
	}
}

func after() load.Op {
	data := packed()
	return func(int) {
		n := 0
		for _, b := range data {
			if b < 0x80 {
				n++
			}
		}
		last = decode(make([]uint64, 0, n), data)
	}
}

func decode(values []uint64, data []byte) []uint64 {
	for len(data) > 0 {
		v, n := protowire.ConsumeVarint(data)
		if n < 0 {
			panic(protowire.ParseError(n))
		}
		values = append(values, v)
		data = data[n:]
	}
	return values
}

func packed() (data []byte) {
	for i := range uint64(numbers) {
		data = protowire.AppendVarint(data, i*7919%100_000)
	}
	return data
}
