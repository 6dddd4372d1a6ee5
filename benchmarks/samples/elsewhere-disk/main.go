// Command elsewhere-disk writes blocks to a file and waits for the disk after each.
package main

import (
	"os"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

const (
	block = 1 << 20
	size  = 64 * block // the file is written round and round
)

func main() {
	load.Main(load.Sample{Ops: 1_000, Before: writing})
}

func writing() load.Op {
	f, err := os.CreateTemp("", "elsewhere-disk")
	check(err)
	check(os.Remove(f.Name())) // the open file stays until the process ends
	data := make([]byte, block)
	return func(i int) {
		data[i%block]++
		_, err := f.WriteAt(data, int64(i)*block%size)
		check(err)
		check(f.Sync())
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
