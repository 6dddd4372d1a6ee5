// Command concat builds lines of CSV by adding strings.
//
// After the change it appends to one slice of bytes and makes a string of it at the end.
package main

import (
	"strconv"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

const columns = 40

// line is where the last line goes, so that it is allocated as that of a server is.
var line string

func main() {
	load.Main(load.Sample{Ops: 300_000, Before: before, After: after})
}

func before() load.Op {
	return func(i int) {
		s := ""
		for c := range columns {
			s += strconv.Itoa(i*c) + ";"
		}
		line = s
	}
}

func after() load.Op {
	var b []byte
	return func(i int) {
		b = b[:0]
		for c := range columns {
			b = append(strconv.AppendInt(b, int64(i*c), 10), ';')
		}
		line = string(b)
	}
}
