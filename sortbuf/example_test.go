// SPDX-License-Identifier: Apache-2.0

package sortbuf_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/freehold-go/freehold/sortbuf"
)

// A Sorter takes records in any order and returns them sorted. With the zero Options it may use a
// quarter of the container's memory, and spills what exceeds that.
func ExampleSorter() {
	s, err := sortbuf.New(sortbuf.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, word := range []string{"pear", "apple", "fig"} {
		if err := s.Add([]byte(word), []byte(strconv.Itoa(len(word)))); err != nil {
			log.Fatal(err)
		}
	}
	for r, err := range s.Sorted(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s\n", r.Key, r.Value)
	}
	// Output:
	// apple 5
	// fig 3
	// pear 4
}

// Each goroutine that adds records has a Writer of its own.
func ExampleWriter() {
	s, err := sortbuf.New(sortbuf.Options{Memory: 64 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	var wg sync.WaitGroup
	for i := range 3 {
		w := s.Writer()
		wg.Go(func() {
			for j := range 2 {
				if err := w.Add(fmt.Appendf(nil, "key %d", 3*j+i), nil); err != nil {
					log.Print(err)
				}
			}
		})
	}
	wg.Wait()
	for r, err := range s.Sorted(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", r.Key)
	}
	// Output:
	// key 0
	// key 1
	// key 2
	// key 3
	// key 4
	// key 5
}

// Combine makes one record of those with equal keys, before they are written to disk. Limit keeps the
// first records only.
func ExampleOptions() {
	s, err := sortbuf.New(sortbuf.Options{
		Limit: 2,
		Combine: func(dst, a, b []byte) []byte { // Values are numbers in decimal digits.
			x, _ := strconv.Atoi(string(a))
			y, _ := strconv.Atoi(string(b))
			return strconv.AppendInt(dst, int64(x+y), 10)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, word := range []string{"to", "be", "or", "not", "to", "be"} {
		if err := s.Add([]byte(word), []byte("1")); err != nil {
			log.Fatal(err)
		}
	}
	for r, err := range s.Sorted(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s\n", r.Key, r.Value)
	}
	// Output:
	// be 2
	// not 1
}

// Groups yields the records of a key together.
func ExampleGroup() {
	s, err := sortbuf.New(sortbuf.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for i, word := range []string{"b", "a", "b", "a", "a"} {
		if err := s.Add([]byte(word), []byte(strconv.Itoa(i))); err != nil {
			log.Fatal(err)
		}
	}
	for g, err := range sortbuf.Groups(s.Sorted(context.Background()), nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s:", g.Key)
		for v, err := range g.Values {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf(" %s", v)
		}
		fmt.Println()
	}
	// Output:
	// a: 1 3 4
	// b: 0 2
}

// Save writes sorted records to a file. A Run reads it, and finds keys without reading the rest.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "sortbuf")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	s, err := sortbuf.New(sortbuf.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for i := range 1000 {
		if err := s.Add(sortbuf.AppendUint64(nil, uint64(i*i)), strconv.AppendInt(nil, int64(i), 10)); err != nil {
			log.Fatal(err)
		}
	}
	path := filepath.Join(dir, "squares")
	if err := sortbuf.Save(ctx, path, s.Sorted(ctx), sortbuf.Options{}); err != nil {
		log.Fatal(err)
	}
	run, err := sortbuf.Open(path, sortbuf.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer run.Close()
	for v, err := range run.Find(sortbuf.AppendUint64(nil, 144)) {
		fmt.Printf("the root of 144 is %s, %v\n", v, err)
	}
	for r, err := range run.Range(sortbuf.AppendUint64(nil, 10), sortbuf.AppendUint64(nil, 30)) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("the root of a square from 10 to 29 is %s\n", r.Value)
	}
	// Output:
	// the root of 144 is 12, <nil>
	// the root of a square from 10 to 29 is 4
	// the root of a square from 10 to 29 is 5
}

// A Buffer holds records that never move, in the order of arrival, and sorts an index of them.
func ExampleBuffer() {
	var b sortbuf.Buffer
	defer b.Free()
	var places []sortbuf.Pos
	for _, word := range []string{"pear", "apple", "fig"} {
		pos, err := b.Append([]byte(word))
		if err != nil {
			log.Fatal(err)
		}
		places = append(places, pos)
	}
	for _, record := range b.Sorted(nil) {
		fmt.Printf("%s\n", record)
	}
	fmt.Printf("first: %s\n", b.At(places[0]))
	// Output:
	// apple
	// fig
	// pear
	// first: pear
}

// Keys of several columns: the name ascending, then the amount descending.
func ExampleDescending() {
	s, err := sortbuf.New(sortbuf.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	var key []byte
	for _, sale := range []struct {
		name   string
		amount int64
	}{{"bob", 5}, {"al", 7}, {"bob", -3}, {"al", 70}} {
		key = sortbuf.AppendString(key[:0], sale.name)
		column := len(key)
		key = sortbuf.Descending(sortbuf.AppendInt64(key, sale.amount), column)
		if err := s.Add(key, fmt.Appendf(nil, "%s %d", sale.name, sale.amount)); err != nil {
			log.Fatal(err)
		}
	}
	for r, err := range s.Sorted(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", r.Value)
	}
	// Output:
	// al 70
	// al 7
	// bob 5
	// bob -3
}
