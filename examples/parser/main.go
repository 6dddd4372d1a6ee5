// SPDX-License-Identifier: Apache-2.0

// Command parser parses configuration files to syntax trees, computes a sum from each tree, and
// keeps one block of all of them.
//
//	go run ./examples/parser           # the trees lie in an arena
//	go run ./examples/parser -plain    # the trees lie on the Go heap
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/examples/internal/cost"
	"github.com/freehold-go/freehold/examples/parser/config"
)

func main() {
	plain := flag.Bool("plain", false, "use the Go heap")
	files := flag.Int("files", 2000, "number of files")
	flag.Parse()
	if err := run(os.Stdout, *plain, *files); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out io.Writer, plain bool, files int) (err error) {
	sources := make([][]byte, min(files, 100))
	for i := range sources {
		sources[i] = config.Source(i, 50)
	}
	use := usePlain
	if plain {
		fmt.Fprintln(out, "on the Go heap")
	} else {
		fmt.Fprintln(out, "in an arena")
		use = useArena
	}
	var t totals
	spent := cost.Of(func() {
		t, err = use(sources, files)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d files with %.0f MiB of memory; the largest service is %s of line %d with %.0f MiB\n",
		files, t.memory, t.largest.Label, t.largest.Line, t.most)
	fmt.Fprintf(out, "parse    %v\n", spent)
	return nil
}

// totals are the result over all files.
type totals struct {
	memory  float64
	largest *config.Block
	most    float64
}

// add adds a file. It keeps the block with the most memory: a copy of it, by keep.
func (t *totals) add(f *config.File, keep func(b *config.Block) (*config.Block, error)) error {
	for _, b := range f.Blocks {
		memory, err := b.Memory()
		if err != nil {
			return err
		}
		t.memory += memory
		if memory > t.most {
			if t.largest, err = keep(b); err != nil {
				return err
			}
			t.most = memory
		}
	}
	return nil
}

func usePlain(sources [][]byte, files int) (t totals, err error) {
	for i := range files {
		f, err := config.ParsePlain(sources[i%len(sources)])
		if err != nil {
			return t, err
		}
		if err := t.add(f, func(b *config.Block) (*config.Block, error) { return b, nil }); err != nil {
			return t, err
		}
	}
	return t, nil
}

// useArena parses all files in one arena. The tree of a file dies before the next one is parsed.
// One owner, this function, sees the whole life of each tree, so the arena may reuse its memory:
// after the first files it takes none from the Go heap.
func useArena(sources [][]byte, files int) (t totals, err error) {
	a := arena.NewArena()
	defer a.Free()
	for i := range files {
		f, err := config.Parse(a, sources[i%len(sources)])
		if err != nil {
			return t, err
		}
		// The block that is kept outlives the arena: arena.Heap copies it to the Go heap, with all
		// nodes and strings that it leads to.
		keep := func(b *config.Block) (*config.Block, error) { return arena.Heap(b) }
		if err := t.add(f, keep); err != nil {
			return t, err
		}
		a.Reset(arena.Keep) // Frees the tree. f must not be used any more.
	}
	return t, nil
}
