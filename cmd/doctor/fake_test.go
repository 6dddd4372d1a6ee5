// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/internal/profiletest"
)

// A fake makes evidence of stacks that are written down.
type fake struct{ *profiletest.Fake }

func newFake() *fake { return &fake{profiletest.NewFake()} }

// evidence returns the added samples as evidence of a window of ten seconds that begins with an
// empty heap profile.
func (f *fake) evidence() *evidence.Evidence {
	before := &profile.Profile{SampleType: f.Heap.SampleType, PeriodType: f.Heap.PeriodType, Period: f.Heap.Period, TimeNanos: 1}
	f.Heap.TimeNanos = 10e9 + 1
	return &evidence.Evidence{Source: "a fake", CPU: f.CPU, Heap: [2]*profile.Profile{before, f.Heap}}
}

// with adds values of the runtime to an evidence of a program that began with the window.
func with(e *evidence.Evidence, values map[string]float64) *evidence.Evidence {
	e.Metrics[1].Set(evidence.MetricUptime, 10)
	for name, v := range values {
		e.Metrics[1].Set(name, v)
	}
	return e
}

// sourced is evidence of a program whose package example.com/shop lies in a file. A function
// example.com/shop.serve#mark on a stack is at the line that ends with the mark.
func sourced(t *testing.T, text string, fill func(f *fake)) *evidence.Evidence {
	t.Helper()
	f := newFake()
	fill(f)
	f.locate(t, text)
	e := f.evidence()
	e.Main = "example.com/shop"
	return e
}

// locate puts the functions that have a mark into a file with the text, each at the line of its mark.
func (f *fake) locate(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shop.go")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*profile.Profile{f.CPU, f.Heap} {
		for _, l := range p.Location {
			fn := l.Line[0].Function
			name, mark, marked := strings.Cut(fn.Name, "#")
			if !marked {
				continue
			}
			line := slices.IndexFunc(strings.Split(text, "\n"), func(l string) bool { return strings.HasSuffix(l, "// "+mark) })
			if line < 0 {
				t.Fatalf("no line is marked %s", mark)
			}
			fn.Name, fn.Filename, l.Line[0].Line = name, file, int64(line+1)
		}
	}
}

// treesText is a handler that makes trees and lists.
const treesText = `package main

func tree(depth int) *node {
	n := &node{} // node
	n.left = tree(depth - 1) // left
	return n
}

func newNode() *node {
	return &node{} // new
}

func list(n int) (all []*item) {
	for range n {
		all = append(all, &item{}) // item
	}
	return all
}

func each(w writer) {
	var first *item
	for w.next() {
		w.fields(func(name string) {
			i := newItem() // field
			i.next, first = first, i
		})
		w.each(1) // each
	}
	use(first)
}

func newItem() *item {
	return &item{} // new item
}

func handle(w writer) {
	use(list(10)) // list
	use(tree(10)) // tree
	w.root.left = tree(10) // in the writer
	all = tree(10) // global
}

func main() {
	for {
		use(tree(10)) // round
		use(&node{}) // one
		kept := &forest{}
		kept.add(tree(10)) // kept for the round
		longer.add(tree(10)) // kept for longer
	}
}

func BenchmarkTree(b *testing.B) {
	for b.Loop() {
		use(newNode()) // benchmark
	}
}
`
