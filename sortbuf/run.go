// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// A Run is an open file of Save. The file is mapped: its pages are the system's file cache, which all
// processes share, and count in no budget. A Run is safe for concurrent use, but for Close.
//
// Each block is checked before its first use. A damaged block is an error that is [ErrDamaged]; other
// blocks stay readable. The file must not be changed while it is open: a program that reads behind
// the end of a file that was truncated meanwhile gets SIGBUS.
//
// Keys and values are valid until the next step of their iteration. Close makes the pages
// inaccessible and keeps their addresses, so a later access faults and never shows other memory.
type Run struct {
	_       noCopy
	m       *mapped
	cleanup runtime.Cleanup
}

// A mapped is the state of a Run.
type mapped struct {
	o      Options
	path   string
	data   []byte
	addr   uintptr // Of the map; 0 if data lies on the Go heap.
	closed atomic.Bool
	fileTrailer
	checked []atomic.Uint32 // A bit for each block that was checked.
}

// Open maps a file of Save. Of the Options, Compare must be the comparator and Codec the codec that
// Save had: other ones are an error, but that another comparator than Save's orders the keys in
// another way cannot be seen. Memory has no effect.
func Open(path string, o Options) (*Run, error) {
	o.Memory = max(o.Memory, leastMemory) // It has no effect, so the machine need not be asked.
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := o.fault("open"); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	m := &mapped{o: o, path: path}
	if size < headerBytes+trailerBytes || size > math.MaxInt {
		return nil, m.damaged(0, "the file is too short")
	}
	if err := m.load(f, size); err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		m.close()
		return nil, err
	}
	r := &Run{m: m}
	r.cleanup = runtime.AddCleanup(r, (*mapped).close, m)
	return r, nil
}

// damaged is the error of damage outside the blocks.
func (m *mapped) damaged(at int64, why string) error {
	return &DamagedError{File: m.path, Block: -1, Offset: at, Cause: why}
}

// check reads header and trailer.
func (m *mapped) check() error {
	end := int64(len(m.data)) - trailerBytes
	if why, sound := checkHeader(m.data[:headerBytes], &m.o); sound && why != "" {
		return &os.PathError{Op: "open", Path: m.path, Err: errors.New("sortbuf: " + why)}
	} else if why != "" {
		return m.damaged(0, why)
	}
	var why string
	if m.fileTrailer, why = decodeTrailer(m.data[end:], end); why != "" {
		return m.damaged(end, why)
	}
	m.checked = make([]atomic.Uint32, m.blocks/32+1)
	return nil
}

// load maps the file.
func (m *mapped) load(f *os.File, size int64) (err error) {
	if err := m.o.fault("map"); err != nil {
		return err
	}
	if !vmem.Supported {
		m.data = make([]byte, size)
		_, err := io.ReadFull(f, m.data)
		return err
	}
	if m.addr, err = vmem.System().MapFile(f, 0, uintptr(size), vmem.Read); err != nil {
		return err
	}
	// SAFETY: the map has so many bytes, and RetireFile keeps the addresses.
	m.data = unsafex.Bytes(m.addr, uintptr(size))
	return nil
}

func (m *mapped) close() {
	if !m.closed.Swap(true) && m.addr != 0 {
		_ = vmem.System().RetireFile(m.addr, uintptr(len(m.data)))
	}
}

// Close ends the use of the file. No other call may be under way. A second Close does nothing.
func (r *Run) Close() error {
	r.cleanup.Stop()
	r.m.close()
	return nil
}

// Len is the number of records.
func (r *Run) Len() int64 { return r.m.records }

// A place is where a block begins, and its number.
type place struct {
	at     int64
	number int64
}

// block returns a block and its head. dst is memory for the decompressed payload.
func (m *mapped) block(p place, level uint32, dst []byte) (b block, h blockHead, err error) {
	damaged := func(why string) (block, blockHead, error) {
		return block{}, h, &DamagedError{File: m.path, Block: p.number, Offset: p.at, Cause: why}
	}
	if m.closed.Load() {
		return block{}, h, ErrClosed
	}
	if p.at < headerBytes || p.at > m.blocksEnd-blockHeadBytes || p.number < 0 || p.number >= m.blocks {
		return damaged("there is no block at this place")
	}
	head := m.data[p.at : p.at+blockHeadBytes]
	h = readHead(head)
	if why := h.plausible(m.blocksEnd - p.at - blockHeadBytes); why != "" {
		return damaged(why)
	}
	if level != anyLevel && h.level != level {
		return damaged("the block is of another level")
	}
	payload := m.data[p.at+blockHeadBytes : p.at+blockHeadBytes+int64(h.stored)]
	bit, word := uint32(1)<<(p.number%32), &m.checked[p.number/32]
	if word.Load()&bit == 0 {
		if !h.sound(head, payload, p.at) {
			return damaged(wrongSum)
		}
		word.Or(bit)
	}
	raw, why := h.unpack(payload, dst, m.o.Codec)
	if why != "" {
		return damaged(why)
	}
	b, ok := h.listed(raw)
	if !ok {
		return damaged("the block has no room for its restarts")
	}
	return b, h, nil
}

const anyLevel = math.MaxUint32

// search returns the offset in the payload, and the number, of the last record that is marked and
// whose key is below key; 0 if there is none.
func (m *mapped) search(b block, key []byte) (at, number int) {
	n := len(b.marks) / 4
	lo, hi := 0, n // The marks below lo are below key, those from hi on are not.
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		k, ok := markedKey(b, mid)
		if ok && m.o.compare(k, key) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return 0, 0
	}
	return int(le.Uint32(b.marks[(lo-1)*4:])), (lo - 1) * restartEvery
}

// markedKey is the key of the i-th marked record.
func markedKey(b block, i int) (key []byte, ok bool) {
	at := le.Uint32(b.marks[i*4:])
	if int64(at) >= int64(len(b.payload)) {
		return nil, false
	}
	p := b.payload[at:]
	if len(p) >= 2 && (p[0]|p[1]) < 0x80 && 2+int(p[0]) <= len(p) {
		return p[2 : 2+int(p[0])], true
	}
	key, _, _, ok = trySplit(p)
	return key, ok
}

// from returns b without the records that are below key.
func (m *mapped) from(b block, key []byte) (block, error) {
	at, number := m.search(b, key)
	if at > len(b.payload) || number > b.count {
		return b, errChanged
	}
	b.payload, b.count = b.payload[at:], b.count-number
	for b.count > 0 {
		k, _, rest, ok := trySplit(b.payload)
		if !ok {
			return b, errChanged
		}
		if m.o.compare(k, key) >= 0 {
			break
		}
		b.payload, b.count = rest, b.count-1
	}
	return b, nil
}

// leaf returns the place of the block of level 0 that may have the first record not below key.
func (m *mapped) leaf(key []byte) (place, error) {
	p := place{m.root, int64(m.rootNumber)}
	for level := m.height; level > 0; level-- {
		b, _, err := m.block(p, level, nil)
		if err != nil {
			return p, err
		}
		at, number := m.search(b, key)
		if at > len(b.payload) {
			return p, errChanged
		}
		b.payload, b.count = b.payload[at:], b.count-number
		for i := 0; b.count > 0; i++ { // Up to the last record below key.
			k, v, rest, ok := trySplit(b.payload)
			if !ok || len(v) != placeBytes {
				return p, errChanged
			}
			if i > 0 && m.o.compare(k, key) >= 0 {
				break
			}
			p = place{int64(le.Uint64(v)), int64(le.Uint32(v[8:]))}
			b.payload, b.count = rest, b.count-1
		}
	}
	return p, nil
}

// A mappedReader reads the blocks of level 0 from a place on.
type mappedReader struct {
	m        *mapped
	p        place
	below    []byte // If it is not nil, records below it are skipped.
	unpacked []byte
}

// next returns the next block, and io.EOF behind the last one. After a damaged block it goes on with
// the next one that the index has.
func (r *mappedReader) next() (block, error) {
	for {
		if r.m.records == 0 || r.p.at >= r.m.blocksEnd {
			return block{}, io.EOF
		}
		b, h, err := r.m.block(r.p, anyLevel, r.unpacked)
		if err != nil {
			if r.m.closed.Load() {
				return block{}, ErrClosed
			}
			r.p = r.m.after(r.p)
			return block{}, err
		}
		if h.stored != h.raw {
			r.unpacked = b.payload[:0]
		}
		r.p = place{r.p.at + blockHeadBytes + int64(h.stored), r.p.number + 1}
		if h.level > 0 {
			continue
		}
		if r.below != nil {
			if b, err = r.m.from(b, r.below); err != nil || b.count == 0 {
				if err != nil {
					return block{}, err
				}
				continue
			}
			r.below = nil
		}
		return b, nil
	}
}

// after is the place of the first block of level 0 behind p, by the index.
func (m *mapped) after(p place) place {
	best := place{m.blocksEnd, m.blocks}
	var visit func(at place, level uint32)
	visit = func(at place, level uint32) {
		b, _, err := m.block(at, level, nil)
		for err == nil && b.count > 0 {
			_, v, rest, ok := trySplit(b.payload)
			if !ok || len(v) != placeBytes {
				return
			}
			child := place{int64(le.Uint64(v)), int64(le.Uint32(v[8:]))}
			switch {
			case level > 1:
				visit(child, level-1)
			case child.at > p.at && child.at < best.at:
				best = child
			}
			b.payload, b.count = rest, b.count-1
		}
	}
	if m.height > 0 {
		visit(place{m.root, int64(m.rootNumber)}, m.height)
	}
	return best
}

// All returns the records in order. If a block is damaged, it yields the error in its place, and goes
// on behind it unless the caller breaks.
func (r *Run) All() iter.Seq2[Record, error] { return r.Range(nil, nil) }

// Range returns the records with from <= key < to; a nil to stands for the end. It treats damage as
// All does.
func (r *Run) Range(from, to []byte) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		defer runtime.KeepAlive(r)
		m := r.m
		in, err := m.input(from)
		if err != nil {
			yield(Record{}, err)
			return
		}
		for {
			key, value, ok, err := in.next()
			switch {
			case err != nil:
				if !yield(Record{}, err) || !errors.Is(err, ErrDamaged) {
					return
				}
			case !ok || to != nil && m.o.compare(key, to) >= 0 || !yield(Record{key, value}, nil):
				return
			}
		}
	}
}

// input reads the records that are not below from.
func (m *mapped) input(from []byte) (*blockInput, error) {
	if m.closed.Load() {
		return nil, ErrClosed
	}
	in := &blockInput{stop: func() error { return nil }}
	if from == nil || m.records == 0 {
		in.from = &mappedReader{m: m, p: place{at: headerBytes}}
		return in, nil
	}
	p, err := m.leaf(from)
	if err != nil {
		return nil, err
	}
	in.from = &mappedReader{m: m, p: p, below: from}
	return in, nil
}

// Find returns the values of the records with the key, in order. In a file without a codec it
// allocates nothing.
func (r *Run) Find(key []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) { r.find(key, yield) }
}

func (r *Run) find(key []byte, yield func([]byte, error) bool) {
	defer runtime.KeepAlive(r)
	m := r.m
	if m.records == 0 && !m.closed.Load() {
		return
	}
	p, err := m.leaf(key)
	for err == nil && p.at < m.blocksEnd {
		b, h, e := m.block(p, anyLevel, nil)
		if err = e; err != nil {
			break
		}
		p = place{p.at + blockHeadBytes + int64(h.stored), p.number + 1}
		if h.level > 0 {
			continue
		}
		if b, err = m.from(b, key); err != nil {
			break
		}
		for ; b.count > 0; b.count-- {
			k, value, rest, ok := trySplit(b.payload)
			if !ok {
				err = errChanged
				break
			}
			if !m.o.equal(k, key) || !yield(value, nil) {
				return
			}
			b.payload = rest
		}
	}
	if err != nil {
		yield(nil, err)
	}
}

// Verify reads the whole file and checks each block, the order of the records and their number. It
// returns the first damage, or the context's error.
func (r *Run) Verify(ctx context.Context) error {
	defer runtime.KeepAlive(r)
	m := r.m
	for i := range m.checked { // Check again what was checked.
		m.checked[i].Store(0)
	}
	in, err := m.input(nil)
	if err != nil {
		return err
	}
	in.stop = ctx.Err
	var n, size int64
	var last []byte
	for {
		key, value, ok, err := in.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if n > 0 && m.o.compare(last, key) > 0 {
			return m.damaged(m.blocksEnd, "the records are out of order")
		}
		last = append(last[:0], key...)
		n++
		size += int64(len(key) + len(value))
	}
	if n != m.records || size != m.bytes {
		return m.damaged(m.blocksEnd, "the trailer has other counts than the blocks")
	}
	return nil
}

// Merge returns the records of several runs in order. Of equal keys those of the earlier run come
// first. Combine and Limit have their effect; the runs must be open with the same Compare.
func Merge(ctx context.Context, o Options, runs ...*Run) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		defer runtime.KeepAlive(runs)
		o, err := o.withDefaults()
		if err != nil {
			yield(Record{}, err)
			return
		}
		var inputs []input
		var total int64
		for _, r := range runs {
			if (r.m.o.Compare == nil) != (o.Compare == nil) {
				yield(Record{}, &os.PathError{Op: "merge", Path: r.m.path, Err: errors.New("sortbuf: the run is in another order than Options.Compare says")})
				return
			}
			in, err := r.m.input(nil)
			if err != nil {
				yield(Record{}, err)
				return
			}
			in.stop = ctx.Err
			inputs = append(inputs, in)
			total += r.m.records
		}
		if len(inputs) == 0 {
			return
		}
		yieldAll(&o, o.output(newMerged(&o, inputs, 0)), total, yield, func() {})
	}
}
