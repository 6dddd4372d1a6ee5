// SPDX-License-Identifier: Apache-2.0

package sortbuf_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/offheap"
	"github.com/freehold-go/freehold/sortbuf"
)

// docs/moving-over.md and docs/sorting.md quote the functions of this file.

func sliceBefore(w io.Writer, lines func(yield func(line []byte) bool)) error {
	var all [][]byte
	for line := range lines {
		all = append(all, slices.Clone(line))
	}
	sort.Slice(all, func(i, j int) bool { return string(all[i]) < string(all[j]) })
	for _, line := range all {
		if _, err := fmt.Fprintf(w, "%s\n", line); err != nil {
			return err
		}
	}
	return nil
}

func sliceAfter(ctx context.Context, w io.Writer, lines func(yield func(line []byte) bool)) error {
	s, err := sortbuf.New(sortbuf.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	for line := range lines {
		if err := s.Add(line, nil); err != nil { // It copies the line.
			return err
		}
	}
	for r, err := range s.Sorted(ctx) {
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s\n", r.Key); err != nil {
			return err
		}
	}
	return nil
}

func bufferAfter(lines []string, use func(record []byte)) error {
	var b sortbuf.Buffer
	defer b.Free()
	for _, line := range lines {
		if _, err := b.Append([]byte(line)); err != nil {
			return err
		}
	}
	for _, record := range b.Sorted(nil) {
		use(record)
	}
	return nil
}

func extsortAfter(ctx context.Context, in <-chan []byte, use func(record []byte)) error {
	s, err := sortbuf.New(sortbuf.Options{Memory: 128 << 20})
	if err != nil {
		return err
	}
	defer s.Close()
	for record := range in {
		if err := s.Add(record, nil); err != nil {
			return err
		}
	}
	for r, err := range s.Sorted(ctx) {
		if err != nil {
			return err
		}
		use(r.Key)
	}
	return nil
}

// A sale is what salesKey sorts.
type sale struct {
	shop   string
	amount float64
	time   int64
}

func salesKey(dst []byte, s sale) []byte {
	dst = sortbuf.AppendString(dst, s.shop)
	column := len(dst)
	dst = sortbuf.Descending(sortbuf.AppendFloat64(dst, s.amount), column) // The largest first.
	return sortbuf.AppendInt64(dst, s.time)
}

// indexes is the account of all collectors.
var indexes = offheap.NewPurpose("indexes")

func shared(collectors int) ([]*sortbuf.Sorter, error) {
	indexes.SetLimit(256 << 20)
	var list []*sortbuf.Sorter
	for range collectors {
		s, err := sortbuf.New(sortbuf.Options{Purpose: indexes, Memory: 256 << 20})
		if err != nil {
			return list, err
		}
		list = append(list, s)
	}
	return list, nil
}

func TestMovingOver(t *testing.T) {
	ctx := context.Background()
	lines := strings.Fields("pear apple fig apple")
	each := func(yield func([]byte) bool) {
		for _, line := range lines {
			if !yield([]byte(line)) {
				return
			}
		}
	}
	var before, after strings.Builder
	if err := sliceBefore(&before, each); err != nil {
		t.Fatal(err)
	}
	if err := sliceAfter(ctx, &after, each); err != nil {
		t.Fatal(err)
	}
	var buffer, ext []string
	if err := bufferAfter(lines, func(r []byte) { buffer = append(buffer, string(r)) }); err != nil {
		t.Fatal(err)
	}
	in := make(chan []byte, len(lines))
	for line := range each {
		in <- line
	}
	close(in)
	if err := extsortAfter(ctx, in, func(r []byte) { ext = append(ext, string(r)) }); err != nil {
		t.Fatal(err)
	}
	want := []string{"apple", "apple", "fig", "pear"}
	if before.String() != after.String() || !slices.Equal(buffer, want) || !slices.Equal(ext, want) || !slices.Equal(strings.Fields(after.String()), want) {
		t.Errorf("%q, %q, %q, %q", before.String(), after.String(), buffer, ext)
	}
	a, b, c := salesKey(nil, sale{"a", 5, 9}), salesKey(nil, sale{"a", 5, 10}), salesKey(nil, sale{"a", -5, 1})
	if !(string(a) < string(b) && string(b) < string(c)) {
		t.Errorf("%x, %x, %x are out of order", a, b, c)
	}
	sorters, err := shared(3)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sorters {
		s.Close()
	}
}
