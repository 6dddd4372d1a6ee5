// SPDX-License-Identifier: Apache-2.0

// Command profilemerge merges profiles as a service does that stores them: each query merges many
// profiles and writes the result.
//
//	go run ./examples/profilemerge                      # each merge has an arena
//	go run ./examples/profilemerge -plain               # each merge is on the Go heap
//	go run ./examples/profilemerge -o all.pb a.pb b.pb  # merges files
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/examples/internal/cost"
	"github.com/freehold-go/freehold/examples/profilemerge/merge"
)

func main() {
	plain := flag.Bool("plain", false, "use the Go heap")
	queries := flag.Int("queries", 20, "number of merges")
	output := flag.String("o", "", "write the last merged profile to `FILE`")
	flag.Parse()
	if err := run(os.Stdout, *plain, *queries, *output, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out io.Writer, plain bool, queries int, output string, files []string) error {
	profiles, err := read(files)
	if err != nil {
		return err
	}
	answer := answerInArena
	if plain {
		answer = answerPlain
	}
	var size counter
	spent := cost.Of(func() {
		for i := 0; i < queries && err == nil; i++ {
			size = 0
			err = answer(&size, profiles)
		}
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d merges of %d profiles; each result has %d bytes\n", queries, len(profiles), size)
	fmt.Fprintf(out, "merge    %v\n", spent)
	if output == "" {
		return nil
	}
	f, err := os.Create(output)
	if err != nil {
		return err
	}
	if err := answer(f, profiles); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// answerPlain answers a query on the Go heap.
func answerPlain(w io.Writer, profiles []*profile.Profile) error {
	merged, err := merge.Plain(profiles)
	if err != nil {
		return err
	}
	return merged.WriteUncompressed(w)
}

// arenas keeps the memory of arenas that were put back, so a query does not begin with an empty
// arena. Many goroutines may use it, each with the arena that it got. A merge takes some megabytes:
// the default of 4 MiB for each arena would keep a part of it.
var arenas = arena.Pool{Bytes: 32 << 20}

// answerInArena answers a query in an arena. The merged profile dies with the query: it is written
// before Put frees it.
func answerInArena(w io.Writer, profiles []*profile.Profile) error {
	a := arenas.Get()
	defer arenas.Put(a)
	merged, err := merge.InArena(a, profiles)
	if err != nil {
		return err
	}
	return merged.WriteUncompressed(w)
}

// read reads profiles from files, or makes some if there are none.
func read(files []string) (profiles []*profile.Profile, err error) {
	if len(files) == 0 {
		for i := range 50 {
			profiles = append(profiles, merge.Input(uint64(i), 1000))
		}
		return profiles, nil
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		p, err := profile.Parse(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		profiles = append(profiles, p)
	}
	return profiles, nil
}

// A counter counts the bytes that are written to it.
type counter int

// Write implements io.Writer.
func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}
