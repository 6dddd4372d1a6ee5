// Command xxhash-distinct counts the distinct words of each batch in a map by their hash, which
// grows from nothing each time.
//
// After the change the map is made with room for as many entries as the batch has words.
package main

import (
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

// counts is where the last result goes, so that it is allocated as that of a server is.
var counts map[uint64]uint32

func main() {
	load.Main(load.Sample{Ops: 15_000, Before: before, After: after})
}

func before() load.Op {
	batch := words()
	return func(int) { counts = count(map[uint64]uint32{}, batch) }
}

func after() load.Op {
	batch := words()
	return func(int) { counts = count(make(map[uint64]uint32, len(batch)), batch) }
}

func count(into map[uint64]uint32, batch []string) map[uint64]uint32 {
	for _, w := range batch {
		into[xxhash.Sum64String(w)]++
	}
	return into
}

func words() (batch []string) {
	for i := range 3_000 {
		batch = append(batch, fmt.Sprintf("word-%d", i))
	}
	return batch
}
