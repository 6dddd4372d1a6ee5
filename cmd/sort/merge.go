// SPDX-License-Identifier: Apache-2.0

package sort

import (
	"bytes"
	"fmt"
)

// What a merge reads of an input at a time, and of all inputs together.
const (
	leastMergeBlock = 16 << 10
	mostMergeBlock  = 128 << 10
	mergeMemory     = 16 << 20
)

// mergeFiles merges sorted files and holds no more than a block of each. If there are more than may
// be open, or if the output is one of them and is written in place, it sorts them instead, which
// reads them one by one and to the end before it writes.
func (c *command) mergeFiles(files []string, out *output) error {
	most := maxOpenFiles() - openByOthers
	if c.batch > 0 {
		most = c.batch
	}
	if len(files) > most || out.overwrites(files) {
		return c.sortFiles(files, out)
	}
	open, err := c.openAll(files)
	if outOfFiles(err) {
		return c.sortFiles(files, out)
	}
	if err != nil {
		return err
	}
	return c.mergeLines(open, out)
}

// openByOthers are descriptors that the standard streams, the output and Go's runtime take.
const openByOthers = 16

// openAll opens all files, or none.
func (c *command) openAll(files []string) (open []*lines, err error) {
	block := min(max(mergeMemory/len(files), leastMergeBlock), mostMergeBlock)
	for _, name := range files {
		in, err := c.open(name)
		if err != nil {
			closeAll(open)
			return nil, err
		}
		open = append(open, &lines{input: in, buf: make([]byte, 0, block)})
	}
	return open, nil
}

func closeAll(open []*lines) {
	for _, in := range open {
		in.close()
	}
}

// A head is the next line of an input in a merge.
type head struct {
	*lines
	key    []byte
	number int // of the input: of equal keys the one of the first input comes first
}

// next moves on to the next line and makes its key.
func (h *head) next(o *order) (ok bool, err error) {
	if ok, err = h.advance(); !ok {
		return false, err
	}
	if o.layout == lineIsKey {
		h.key = h.line
	} else {
		h.key = o.appendKey(h.key[:0], h.line)
	}
	return true, nil
}

// mergeLines writes the lines of sorted inputs in order and closes the inputs.
func (c *command) mergeLines(inputs []*lines, out *output) error {
	defer closeAll(inputs)
	var heap []*head
	for i, in := range inputs {
		h := &head{lines: in, number: i}
		ok, err := h.next(&c.order)
		if err != nil {
			return err
		}
		if ok {
			heap = append(heap, h)
		}
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		down(heap, i)
	}
	var last []byte // the key of the last line that was written, if lines are unique
	written := false
	for len(heap) > 0 {
		first := heap[0]
		if !c.unique || !written || !bytes.Equal(last, first.key) {
			if err := out.write(first.line); err != nil {
				return err
			}
			if c.unique {
				last, written = append(last[:0], first.key...), true
			}
		}
		ok, err := first.next(&c.order)
		if err != nil {
			return err
		}
		if !ok {
			first.close()
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		if len(heap) > 0 {
			down(heap, 0)
		}
	}
	return nil
}

// down moves the head at i to its place among those below it.
func down(heap []*head, i int) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && precedes(heap[child+1], heap[child]) {
			child++
		}
		if !precedes(heap[child], heap[i]) {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}

func precedes(a, b *head) bool {
	if c := bytes.Compare(a.key, b.key); c != 0 {
		return c < 0
	}
	return a.number < b.number
}

// checkOrder returns errDisorder for the first line of a file that is out of order.
func (c *command) checkOrder(name string) error {
	in, err := c.open(name)
	if err != nil {
		return err
	}
	defer in.close()
	h := &head{lines: &lines{input: in, buf: make([]byte, 0, mostMergeBlock)}}
	var last []byte
	for n := int64(1); ; n++ {
		ok, err := h.advance()
		if !ok {
			return err
		}
		key := c.appendKey(h.key[:0], h.line)
		if n > 1 {
			if d := bytes.Compare(last, key); d > 0 || d == 0 && c.unique {
				if c.check == 'c' {
					fmt.Fprintf(c.stderr, "sort: %s:%d: disorder: %s%c", name, n, h.line, c.eol)
				}
				return errDisorder
			}
		}
		last, h.key = key, last
	}
}
