// Command goldmark-pages renders Markdown beside a table of links that stays alive, under GOGC=15,
// set to save memory.
//
// The change is one of the environment.
package main

import (
	"bytes"
	"fmt"

	"github.com/yuin/goldmark"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

type link struct {
	from, to *page
	next     *link
}

type page struct {
	title string
	links *link
}

func main() {
	load.Main(load.Sample{Ops: 2_000, Before: render})
}

func render() load.Op {
	site := linked(60_000)
	source := document()
	markdown := goldmark.New()
	var out bytes.Buffer
	return func(i int) {
		out.Reset()
		if err := markdown.Convert(source, &out); err != nil {
			panic(err)
		}
		out.WriteString(site[i%len(site)].title)
	}
}

func linked(n int) []*page {
	site := make([]*page, n)
	for i := range site {
		site[i] = &page{title: fmt.Sprintf("page %d", i)}
		for k := range min(i, 5) {
			site[i].links = &link{from: site[i], to: site[(i*31+k)%i], next: site[i].links}
		}
	}
	return site
}

func document() []byte {
	var b bytes.Buffer
	for i := range 40 {
		fmt.Fprintf(&b, "## Section %d\n\nText with *emphasis*, `code` and a [link](https://example.org/%d).\n\n- one\n- two\n\n", i, i)
	}
	return b.Bytes()
}
