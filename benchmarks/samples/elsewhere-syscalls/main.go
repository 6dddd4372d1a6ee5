// Command elsewhere-syscalls sends single bytes through a pipe: its cost is the system's calls.
package main

import (
	"os"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

func main() {
	load.Main(load.Sample{Ops: 3_000_000, Before: piping})
}

func piping() load.Op {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	b := make([]byte, 1)
	return func(int) {
		if _, err := w.Write(b); err != nil {
			panic(err)
		}
		if _, err := r.Read(b); err != nil {
			panic(err)
		}
	}
}
