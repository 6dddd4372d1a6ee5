// Command eager answers requests beside an index of linked objects that stays alive, under GOGC=20,
// set to save memory.
//
// The change is one of the environment.
package main

import (
	"encoding/binary"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

type entry struct {
	next  *entry
	value uint64
	bytes []byte
}

// answer is where the last response goes, so that it is allocated as that of a server is.
var answer []byte

func main() {
	load.Main(load.Sample{Ops: 2_000_000, Before: serving})
}

func serving() load.Op {
	index := make([]*entry, 1<<16)
	for i := range 400_000 {
		at := &index[i%len(index)]
		*at = &entry{next: *at, value: uint64(i), bytes: make([]byte, 16)}
	}
	return func(i int) {
		sum := uint64(0)
		for e := index[uint64(i)*0x9E3779B97F4A7C15>>48]; e != nil; e = e.next {
			sum += e.value
		}
		answer = binary.LittleEndian.AppendUint64(make([]byte, 0, 256), sum)
	}
}
