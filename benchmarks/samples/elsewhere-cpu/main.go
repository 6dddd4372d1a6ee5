// Command elsewhere-cpu compresses with one zstd encoder that is used again and again: all of its
// cost is computing.
package main

import (
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

func main() {
	load.Main(load.Sample{Ops: 1_500, Before: compressing})
}

func compressing() load.Op {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	var text, out []byte
	for i := range 10_000 {
		text = fmt.Appendf(text, "%d: a line with the number %d\n", i, i*7919)
	}
	return func(int) { out = encoder.EncodeAll(text, out[:0]) }
}
