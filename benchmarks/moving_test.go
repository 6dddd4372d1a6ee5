package main

import (
	"io"
	"strings"
	"testing"
	"unsafe"

	"github.com/dgraph-io/ristretto/v2/z"
	"github.com/ortuman/nuke"
	"github.com/valyala/bytebufferpool"
)

// The functions of this file are quoted in docs/moving-over.md as what programs look like before
// they move over; internal/checks/lint holds the page to them. What becomes of them is in
// arena/example_moving_test.go and pool/example_moving_test.go.

type zEntry struct {
	number int
	text   []byte // Of the same Allocator: the collector sees neither.
}

func zBefore(lines []string) (total int) {
	a := z.NewAllocator(1<<20, "request")
	defer a.Release()
	for range 3 {
		var list []*zEntry
		for i, line := range lines {
			b := a.AllocateAligned(int(unsafe.Sizeof(zEntry{})))
			e := (*zEntry)(unsafe.Pointer(unsafe.SliceData(b)))
			e.number = i
			e.text = a.Copy([]byte(line)) // A slice of the Go heap would be lost.
			list = append(list, e)
		}
		for _, e := range list {
			total += e.number + len(e.text)
		}
		a.Reset()
	}
	return total
}

type location struct{ x, y int }

func nukeBefore(lines []string) (total int) {
	a := nuke.NewMonotonicArena(256<<10, 20)
	defer a.Reset(true)
	lengths := nuke.MakeSlice[int](a, 0, 4)
	for _, line := range lines {
		p := nuke.New[location](a)
		p.x = len(line)
		lengths = nuke.SliceAppend(a, lengths, p.x)
	}
	for _, n := range lengths {
		total += n
	}
	a.Reset(false)
	return total
}

func TestMovingBefore(t *testing.T) {
	lines := []string{"a", "bc", "def"}
	if n := zBefore(lines); n != 27 {
		t.Errorf("z.Allocator: %d", n)
	}
	if n := nukeBefore(lines); n != 6 {
		t.Errorf("nuke: %d", n)
	}
}

func bytebufferpoolBefore(w io.Writer, words []string) error {
	b := bytebufferpool.Get()
	defer bytebufferpool.Put(b)
	for _, word := range words {
		b.WriteString(word)
		b.WriteByte('\n')
	}
	_, err := b.WriteTo(w)
	return err
}

func TestMovingBuffer(t *testing.T) {
	var w strings.Builder
	if err := bytebufferpoolBefore(&w, []string{"two", "words"}); err != nil || w.String() != "two\nwords\n" {
		t.Fatalf("%q, %v", w.String(), err)
	}
}
