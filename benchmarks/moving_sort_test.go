package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/ristretto/v2/z"
	"github.com/lanrat/extsort"
)

// The functions of this file are quoted in docs/moving-over.md. What becomes of them is in
// sortbuf/example_moving_test.go.

func zBufferBefore(lines []string, use func(record []byte)) error {
	b := z.NewBuffer(64<<20, "lines")
	defer b.Release()
	for _, line := range lines {
		copy(b.SliceAllocate(len(line)), line) // It may grow, and copies all bytes then.
	}
	b.SortSlice(func(l, r []byte) bool { return bytes.Compare(l, r) < 0 })
	return b.SliceIterate(func(record []byte) error {
		use(record)
		return nil
	})
}

func extsortBefore(ctx context.Context, in <-chan []byte, use func(record []byte)) error {
	clone := func(b []byte) ([]byte, error) { return bytes.Clone(b), nil }
	sorter, out, errs := extsort.Generic(in, clone, clone, bytes.Compare, nil)
	go sorter.Sort(ctx)
	for record := range out {
		use(record)
	}
	return <-errs
}

func TestMovingSorts(t *testing.T) {
	lines := strings.Fields("pear apple fig apple")
	var buffer, ext []string
	if err := zBufferBefore(lines, func(r []byte) { buffer = append(buffer, string(r)) }); err != nil {
		t.Fatal(err)
	}
	in := make(chan []byte, len(lines))
	for _, line := range lines {
		in <- []byte(line)
	}
	close(in)
	if err := extsortBefore(t.Context(), in, func(r []byte) { ext = append(ext, string(r)) }); err != nil {
		t.Fatal(err)
	}
	if want := []string{"apple", "apple", "fig", "pear"}; !slices.Equal(buffer, want) || !slices.Equal(ext, want) {
		t.Errorf("%q and %q", buffer, ext)
	}
}
