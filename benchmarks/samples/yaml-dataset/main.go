// Command yaml-dataset reads YAML beside a data set of 60 MB in one slice of bytes.
//
// The collector does not look into the slice, but counts it: the heap may grow by as much again
// between two collections. The change is the one that looks right and is not: the data set moves
// off the heap, and collections become frequent.
package main

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
	"github.com/freehold-go/freehold/offheap"
)

const size = 60 << 20

type config struct {
	Name     string
	Replicas int
	Labels   map[string]string
	Ports    []port
}

type port struct {
	Name   string
	Number int
}

type host struct {
	name string
	next *host
}

// total keeps the compiler from dropping the work.
var total int

func main() {
	load.Main(load.Sample{Ops: 40_000, Before: before, After: after})
}

func before() load.Op { return reading(make([]byte, size)) }

func after() load.Op { return reading(offheap.Alloc(size)) }

func reading(data []byte) load.Op {
	for i := range data {
		data[i] = byte(i * 31)
	}
	var hosts *host // live data with pointers
	for i := range 500_000 {
		hosts = &host{name: fmt.Sprintf("host-%d", i), next: hosts}
	}
	doc := document()
	return func(i int) {
		var c config
		if err := yaml.Unmarshal(doc, &c); err != nil {
			panic(err)
		}
		total += c.Replicas + int(data[i*8191%size]) + len(hosts.name)
	}
}

func document() []byte {
	var b strings.Builder
	b.WriteString("name: gateway\nreplicas: 3\nlabels:\n")
	for i := range 10 {
		fmt.Fprintf(&b, "  label-%d: value-%d\n", i, i)
	}
	b.WriteString("ports:\n")
	for i := range 10 {
		fmt.Fprintf(&b, "  - name: port-%d\n    number: %d\n", i, 8000+i)
	}
	return []byte(b.String())
}
