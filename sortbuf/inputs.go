// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"sync/atomic"
)

// An input yields records in order. Key and value are valid until the next call. ok is false behind
// the last record.
type input interface {
	next() (key, value []byte, ok bool, err error)
}

// A memoryRun is a run of records in memory.
type memoryRun struct {
	*records
	index []byte   // The memory of the two:
	byKey []entry  // In order, if keys compare as bytes.
	order []uint64 // In order, if there is a comparator.
	ready bool     // It is sorted.
}

// indexBytes is the memory of the index of n records.
func indexBytes(n int64) int64 { return 16 * n }

// sort sorts the run with the index in memory. It returns false if stop was set; the run can be
// sorted again.
func (m *memoryRun) sort(o *Options, memory []byte, stop *atomic.Bool) bool {
	m.index, m.byKey, m.order = memory, nil, nil
	n := int(m.n)
	o.report(PhaseSort, 0, m.n)
	switch {
	case n == 0:
		m.ready = true
	case o.Compare == nil:
		m.byKey = words[entry](memory)[:n]
		m.ready = sortByKey(m.records, m.byKey, o.Parallel, stop)
	default:
		all := words[uint64](memory)
		m.order = all[:n]
		m.ready = sortByCompare(m.records, all[n:2*n], m.order, o.Compare, o.Parallel, stop)
	}
	if m.ready {
		o.report(PhaseSort, m.n, m.n)
	}
	return m.ready
}

// release frees the memory of the run.
func (m *memoryRun) release(mem *memory) {
	m.dropIndex(mem)
	for _, b := range m.blocks {
		mem.free(b)
	}
	m.records = newRecords(int(m.mask + 1))
}

// dropIndex frees the index.
func (m *memoryRun) dropIndex(mem *memory) {
	mem.free(m.index)
	m.index, m.byKey, m.order, m.ready = nil, nil, nil, false
}

// ends are the first and the last key.
func (m *memoryRun) ends() (first, last []byte) {
	if m.n == 0 {
		return nil, nil
	}
	return m.key(m.at(0)), m.key(m.at(int(m.n) - 1))
}

func (m *memoryRun) at(i int) uint64 {
	if m.byKey != nil {
		return m.byKey[i].pos
	}
	return m.order[i]
}

// A memoryInput reads a memoryRun.
type memoryInput struct {
	*memoryRun
	i    int
	seen byte // Of the bytes that touch has read, so that the compiler keeps the reads.
}

// aheadBy is how many records are read ahead of their use. Each is a cache miss, and these overlap.
const aheadBy = 32

// touch reads a byte of each of the records from the i-th on.
func (m *memoryInput) touch(i int) {
	if end := i + aheadBy; end <= len(m.byKey) {
		for _, e := range m.byKey[i:end] {
			m.seen += m.first(e.pos)
		}
	} else if end <= len(m.order) {
		for _, pos := range m.order[i:end] {
			m.seen += m.first(pos)
		}
	}
}

func (m *memoryInput) next() (key, value []byte, ok bool, err error) {
	i := m.i
	if i%aheadBy == 0 {
		m.touch(i + aheadBy)
	}
	if i < len(m.byKey) {
		m.i++
		key, value = m.record(m.byKey[i].pos)
		return key, value, true, nil
	}
	if i < len(m.order) {
		m.i++
		key, value = m.record(m.order[i])
		return key, value, true, nil
	}
	return nil, nil, false, nil
}

// A diskRun is a spilled run.
type diskRun struct {
	f           *os.File
	path        string
	end         int64 // Of the blocks.
	size        int64 // Of the file.
	records     int64
	largest     int64 // The largest payload.
	first, last []byte
}

// need is the memory to read the run with.
func (r *diskRun) need(o *Options) int64 {
	n := max(r.largest, int64(o.block)) + blockHeadBytes
	if o.Codec != nil {
		n += int64(rawBytes(o.block)) // Larger blocks are not compressed.
	}
	return n
}

// A blockReader reads the blocks of a file one after the other. It checks each.
type blockReader struct {
	o       *Options
	r       io.ReaderAt
	path    string
	at, end int64
	number  int64 // Of the next block.

	buf      []byte // What was read, without what was used.
	whole    []byte // The memory of buf.
	unpacked []byte
}

// newBlockReader reads a spilled run with memory of at least its need.
func newBlockReader(o *Options, r *diskRun, memory []byte) *blockReader {
	b := &blockReader{o: o, r: r.f, path: r.path, at: headerBytes, end: r.end, whole: memory}
	if o.Codec != nil {
		n := rawBytes(o.block)
		b.unpacked, b.whole = memory[:0:n], memory[n:]
	}
	return b
}

// next returns the next block of records. It is valid until the next call. The error is io.EOF behind
// the last one.
func (b *blockReader) next() (block, error) {
	if b.at >= b.end {
		return block{}, io.EOF
	}
	if err := b.fill(blockHeadBytes); err != nil {
		return block{}, err
	}
	h := readHead(b.buf)
	damaged := func(why string) error {
		return &DamagedError{File: b.path, Block: b.number, Offset: b.at, Cause: why}
	}
	if why := h.plausible(b.end - b.at - blockHeadBytes); why != "" {
		return block{}, damaged(why)
	}
	n := blockHeadBytes + int(h.stored)
	if n > len(b.whole) {
		return block{}, damaged("the block is larger than any that was written")
	}
	if err := b.fill(n); err != nil {
		return block{}, err
	}
	payload := b.buf[blockHeadBytes:n]
	if !h.sound(b.buf, payload, b.at) {
		return block{}, damaged(wrongSum)
	}
	payload, why := h.unpack(payload, b.unpacked, b.o.Codec)
	if why != "" {
		return block{}, damaged(why)
	}
	b.buf = b.buf[n:]
	b.at += int64(n)
	b.number++
	return block{payload: payload, count: int(h.count)}, nil
}

// fill makes at least n bytes of the file available in buf.
func (b *blockReader) fill(n int) error {
	have := len(b.buf)
	if have >= n {
		return nil
	}
	copy(b.whole, b.buf)
	from := b.at + int64(have)
	want := min(int64(len(b.whole)-have), b.end-from)
	if err := b.o.fault("read"); err != nil {
		return err
	}
	m, err := b.r.ReadAt(b.whole[have:have+int(max(want, 0))], from)
	b.buf = b.whole[:have+m]
	switch {
	case len(b.buf) >= n:
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return &DamagedError{File: b.path, Block: b.number, Offset: b.at, Cause: "the file ends within a block"}
	}
	return err
}

// A blockInput reads the records of blocks.
type blockInput struct {
	from interface{ next() (block, error) }
	stop func() error // Asked before each block.
	b    block
}

func (i *blockInput) next() (key, value []byte, ok bool, err error) {
	for i.b.count == 0 {
		if err := i.stop(); err != nil {
			return nil, nil, false, err
		}
		if i.b, err = i.from.next(); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return nil, nil, false, err
		}
	}
	key, value, rest, ok := trySplit(i.b.payload)
	if !ok {
		return nil, nil, false, errChanged
	}
	i.b.payload = rest
	i.b.count--
	return key, value, true, nil
}

// errChanged says that a block whose checksum was right holds no records.
var errChanged = &DamagedError{File: "a file in use", Block: -1, Cause: "it was changed while it was read"}

// A merged is the records of several inputs, in order. Of equal keys that of the earlier input is
// first.
type merged struct {
	inputs  []input
	values  [][]byte
	tree    *loserTree
	started bool
}

// newMerged merges inputs whose keys have a prefix in common.
func newMerged(o *Options, inputs []input, prefix int) input {
	if len(inputs) == 1 {
		return inputs[0]
	}
	return &merged{inputs: inputs, values: make([][]byte, len(inputs)), tree: newLoserTree(len(inputs), prefix, o.Compare)}
}

func (m *merged) next() (key, value []byte, ok bool, err error) {
	t := m.tree
	if !m.started {
		for i, in := range m.inputs {
			key, value, ok, err := in.next()
			if err != nil {
				return nil, nil, false, err
			}
			if ok {
				t.open(i, key)
				m.values[i] = value
			}
		}
		t.start()
		m.started = true
	} else if t.left > 0 {
		w := t.winner
		key, value, ok, err := m.inputs[w].next()
		switch {
		case err != nil:
			return nil, nil, false, err
		case ok:
			t.set(w, key)
			m.values[w] = value
		default:
			t.end(w)
		}
		t.replay()
	}
	if t.left == 0 {
		return nil, nil, false, nil
	}
	return t.heads[t.winner].key, m.values[t.winner], true, nil
}

// equal says whether two keys are equal.
func (o *Options) equal(a, b []byte) bool {
	if o.Compare == nil {
		return bytes.Equal(a, b)
	}
	return o.Compare(a, b) == 0
}

// compare orders two keys.
func (o *Options) compare(a, b []byte) int {
	if o.Compare == nil {
		return bytes.Compare(a, b)
	}
	return o.Compare(a, b)
}

// A combined makes one record of those with equal keys.
type combined struct {
	o                 *Options
	in                input
	key, value, other []byte // Copies on the Go heap.
	nextKey, nextVal  []byte
	have, end         bool
}

func (c *combined) next() (key, value []byte, ok bool, err error) {
	if !c.have && !c.end {
		if err := c.step(); err != nil {
			return nil, nil, false, err
		}
	}
	if c.end {
		return nil, nil, false, nil
	}
	c.key = append(c.key[:0], c.nextKey...)
	c.value = append(c.value[:0], c.nextVal...)
	for {
		if err := c.step(); err != nil {
			return nil, nil, false, err
		}
		if c.end || !c.o.equal(c.key, c.nextKey) {
			break
		}
		c.other = c.o.Combine(c.other[:0], c.value, c.nextVal)
		c.value, c.other = c.other, c.value
		if n := len(c.key) + len(c.value); int64(n) > c.o.mostRecord() {
			return nil, nil, false, tooLarge(uint64(n), c.o)
		}
	}
	return c.key, c.value, true, nil
}

// step reads the next record of the input.
func (c *combined) step() (err error) {
	c.nextKey, c.nextVal, c.have, err = c.in.next()
	c.end = err == nil && !c.have
	return err
}

// A limited is the first records of its input.
type limited struct {
	in   input
	left int64
}

func (l *limited) next() (key, value []byte, ok bool, err error) {
	if l.left == 0 {
		return nil, nil, false, nil
	}
	l.left--
	return l.in.next()
}

// output is what the Options make of records in order: Combine, then Limit.
func (o *Options) output(in input) input {
	if o.Combine != nil {
		in = &combined{o: o, in: in}
	}
	if o.Limit > 0 {
		in = &limited{in, o.Limit}
	}
	return in
}

// prefixOf is the length of the prefix that all keys of sorted inputs have in common: that of the
// least first and the greatest last key.
func prefixOf(o *Options, firsts, lasts [][]byte) int {
	if o.Compare != nil || len(firsts) == 0 {
		return 0
	}
	first, last := firsts[0], lasts[0]
	for i := range firsts {
		if bytes.Compare(firsts[i], first) < 0 {
			first = firsts[i]
		}
		if bytes.Compare(lasts[i], last) > 0 {
			last = lasts[i]
		}
	}
	return common(first, last, math.MaxInt)
}
