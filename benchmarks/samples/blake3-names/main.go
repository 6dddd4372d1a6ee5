// Command blake3-names hashes short names with a new hasher for each, whose state is some
// kilobytes.
//
// After the change one hasher is reset.
package main

import (
	"hash"
	"strconv"

	"github.com/zeebo/blake3"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

// newHash is the algorithm that is configured.
var newHash = func() hash.Hash { return blake3.New() }

// total keeps the compiler from dropping the work.
var total byte

func main() {
	load.Main(load.Sample{Ops: 800_000, Before: before, After: after})
}

func before() load.Op {
	var name, sum []byte
	return func(i int) {
		name = strconv.AppendInt(append(name[:0], "name-"...), int64(i), 10)
		sum = digest(newHash(), name, sum[:0])
		total += sum[0]
	}
}

func after() load.Op {
	var name, sum []byte
	h := newHash()
	return func(i int) {
		name = strconv.AppendInt(append(name[:0], "name-"...), int64(i), 10)
		h.Reset()
		sum = digest(h, name, sum[:0])
		total += sum[0]
	}
}

func digest(h hash.Hash, name, sum []byte) []byte {
	h.Write(name)
	return h.Sum(sum)
}
