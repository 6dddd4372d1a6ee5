// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"reflect"

	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// ErrLayout says that the values of a file lie in memory in another way than those of the program,
// or that values of the type cannot be in a file.
var ErrLayout = errors.New("pool: layout does not fit")

// The format, all numbers little-endian:
//
//	14 bytes  magic
//	 2 bytes  version
//	 4 bytes  n, the length of the layout
//	 4 bytes  the number of slots that were used
//	 4 bytes  the first free slot plus one
//	 4 bytes  the number of values
//	 n bytes  the layout as text: a line for the byte order, and typeinfo.Layout
//	 4 bytes  CRC32C of all before
//
// Then the items follow as they lie in memory, a chunk at a time, each with its CRC32C.
const (
	slabMagic   = "freehold slab\n"
	slabVersion = 1
	slabHead    = len(slabMagic) + 2 + 4*4
	layoutMost  = 1 << 20 // A longer layout is damage.
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// byteOrder is the first line of a layout.
func byteOrder() string {
	one := uint16(1)
	if b := unsafex.SliceOf[byte](unsafex.PtrOf(&one), 2, 2); b[0] == 1 {
		return "little-endian\n"
	}
	return "big-endian\n"
}

// fileLayout is the layout of the items of a file. Values with pointers have none. Those with bools
// have none, because Go indexes with the byte of a bool unchecked.
func fileLayout[T any]() (*typeinfo.Layout, error) {
	info := typeinfo.Describe(reflect.TypeFor[T](), reflect.TypeFor[offheap.UnsafeSelfContained]())
	switch {
	case info.PointerPath != "":
		return nil, fmt.Errorf("%w: values of %s hold a Go pointer (%s)", ErrLayout, info.Type, info.PointerPath)
	case info.SelfContained:
		return nil, fmt.Errorf("%w: values of %s hold pointers", ErrLayout, info.Type)
	case info.Bools:
		return nil, fmt.Errorf("%w: values of %s hold a bool; use a number", ErrLayout, info.Type)
	}
	return typeinfo.LayoutOf(reflect.TypeFor[item[T]](), func(reflect.Type) reflect.Type { return nil }), nil
}

// itemBytes is n items of a chunk as bytes.
func itemBytes[T any](c *item[T], n uint32) []byte {
	size := int(n) * int(unsafex.Size[item[T]]())
	return unsafex.SliceOf[byte](unsafex.PtrOf(c), size, size)
}

// inChunk is the number of used slots of the chunk that begins with slot base.
func inChunk[T any](base, used uint32) uint32 { return min(slotsOf[T](), used-base) }

// WriteTo writes the Slab to w: its values, generations and free slots. [Slab.ReadFrom] makes a Slab
// of it that goes on with the same handles. T must not hold Go pointers or bools; otherwise the error
// is [ErrLayout]. An [offheap.Ref] in a value leads to nothing in another process.
func (s *Slab[T]) WriteTo(w io.Writer) (n int64, err error) {
	if s.freed != 0 {
		panic(misuse("Slab.WriteTo", "use after Free", "write a Slab before its Free", s.freed))
	}
	layout, err := fileLayout[T]()
	if err != nil {
		return 0, fmt.Errorf("pool: Slab.WriteTo: %w", err)
	}
	text := byteOrder() + layout.Text()
	head := make([]byte, 0, slabHead+len(text)+4)
	head = append(head, slabMagic...)
	head = binary.LittleEndian.AppendUint16(head, slabVersion)
	for _, v := range []uint32{uint32(len(text)), s.used, s.free, uint32(s.count)} {
		head = binary.LittleEndian.AppendUint32(head, v)
	}
	head = append(head, text...)
	write := func(b []byte) error {
		m, err := w.Write(b)
		n += int64(m)
		if err == nil && m < len(b) {
			err = io.ErrShortWrite
		}
		return err
	}
	if err := write(binary.LittleEndian.AppendUint32(head, crc32.Checksum(head, castagnoli))); err != nil {
		return n, err
	}
	for i, c := range s.chunks {
		b := itemBytes(c, inChunk[T](uint32(i)<<chunkShift[T](), s.used))
		if err := write(b); err != nil {
			return n, err
		}
		if err := write(binary.LittleEndian.AppendUint32(nil, crc32.Checksum(b, castagnoli))); err != nil {
			return n, err
		}
	}
	return n, nil
}

// ReadFrom fills s with what [Slab.WriteTo] wrote, and reads no byte more. A file that is damaged or
// whose T lies in memory in another way is an error, [ErrLayout] in the second case, and leaves s
// empty. So is a refusal of memory. ReadFrom checks slots and generations. The values are numbers
// that the file chooses. s must never have had a value; otherwise ReadFrom panics, because older
// handles could lead to the values of the file. The same holds if r uses s.
func (s *Slab[T]) ReadFrom(r io.Reader) (n int64, err error) {
	s.openUnused()
	f := slabReader[T]{in: r, into: Slab[T]{purpose: s.purpose}}
	defer func() {
		for _, c := range f.into.chunks { // They are here if the file is damaged, or r has panicked.
			f.into.freeChunk(c)
		}
	}()
	if err := f.read(); err != nil {
		return f.n, fmt.Errorf("pool: Slab.ReadFrom: %w", err)
	}
	s.openUnused() // r may have used s.
	from := &f.into
	s.chunks, s.alive, s.free, s.used, s.count = from.chunks, from.alive, from.free, from.used, from.count
	from.chunks = nil
	return f.n, nil
}

// openUnused prepares s for ReadFrom. It panics if s has had a value.
func (s *Slab[T]) openUnused() {
	s.open("ReadFrom")
	if s.used != 0 {
		panic(misuse("Slab.ReadFrom", "a Slab in use", "read into a Slab that never had a value", 0))
	}
}

// A slabReader reads one file.
type slabReader[T any] struct {
	in   io.Reader
	n    int64 // Bytes that were read.
	into Slab[T]
}

// full reads all of b, which is the part of the file with that name.
func (f *slabReader[T]) full(b []byte, part string) error {
	m, err := io.ReadFull(f.in, b)
	f.n += int64(m)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("%s, at byte %d: %w", part, f.n, err)
	}
	return nil
}

// sum reads the CRC32C of a part and compares it.
func (f *slabReader[T]) sum(sum uint32, part string) error {
	var b [4]byte
	if err := f.full(b[:], "the checksum of "+part); err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(b[:]) != sum {
		return fmt.Errorf("%s is damaged: its checksum, before byte %d, does not fit", part, f.n)
	}
	return nil
}

func (f *slabReader[T]) read() error {
	layout, err := fileLayout[T]()
	if err != nil {
		return err
	}
	if err := f.header(layout); err != nil {
		return err
	}
	s := &f.into
	for base := uint32(0); base < s.used; {
		c, err := s.newChunk()
		if err != nil {
			return err
		}
		s.chunks = append(s.chunks, c)
		k := inChunk[T](base, s.used)
		part := fmt.Sprintf("the part of slots %d to %d", base, base+k-1)
		b := itemBytes(c, k)
		if err := f.full(b, part); err != nil {
			return err
		}
		if err := f.sum(crc32.Checksum(b, castagnoli), part); err != nil {
			return err
		}
		base += k
	}
	return s.check()
}

// header reads all before the items.
func (f *slabReader[T]) header(layout *typeinfo.Layout) error {
	head := make([]byte, slabHead)
	if err := f.full(head, "the header"); err != nil {
		return err
	}
	if string(head[:len(slabMagic)]) != slabMagic {
		return errors.New("the header does not begin a file of a Slab")
	}
	rest := head[len(slabMagic):]
	if v := binary.LittleEndian.Uint16(rest); v != slabVersion {
		return fmt.Errorf("the header has version %d, and %d is known", v, slabVersion)
	}
	number := func(i int) uint32 { return binary.LittleEndian.Uint32(rest[2+4*i:]) }
	if number(0) > layoutMost {
		return fmt.Errorf("the header is damaged: its layout has %d bytes", number(0))
	}
	text := make([]byte, number(0))
	if err := f.full(text, "the layout"); err != nil {
		return err
	}
	sum := crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, text)
	if err := f.sum(sum, "the header"); err != nil {
		return err
	}
	order := byteOrder()
	theirs, ok := string(text), false
	if len(theirs) >= len(order) {
		ok = theirs[:len(order)] == order
	}
	if !ok {
		return fmt.Errorf("%w: the file has the byte order of another processor (%s here)", ErrLayout, order[:len(order)-1])
	}
	if d := layout.Difference(theirs[len(order):]); d != "" {
		return fmt.Errorf("%w: %s", ErrLayout, d)
	}
	f.into.used, f.into.free, f.into.count = number(1), number(2), int(number(3))
	return nil
}

// check makes the bits of the living slots, and checks that each slot has a value, is free, or is
// retired.
func (s *Slab[T]) check() error {
	s.alive = make([]uint64, wordsFor(len(s.chunks)<<chunkShift[T]()))
	alive, free := 0, 0
	for i := range s.used {
		switch gen := s.slot(i).gen; {
		case gen > retiredGen || gen == 0:
			return fmt.Errorf("slot %d has generation %d", i, gen)
		case gen&1 != 0:
			s.alive[i/64] |= 1 << (i % 64)
			alive++
		case gen != retiredGen:
			free++
		}
	}
	if alive != s.count {
		return fmt.Errorf("%d slots have values, and the header has %d", alive, s.count)
	}
	for next := s.free; next != 0; free-- {
		if next > s.used || free == 0 {
			return fmt.Errorf("the list of free slots leads to slot %d, and %d more are free", next-1, free)
		}
		it := s.slot(next - 1)
		if it.gen&1 != 0 || it.gen == retiredGen {
			return fmt.Errorf("slot %d with generation %d is in the list of free slots", next-1, it.gen)
		}
		next = it.next
	}
	if free != 0 {
		return fmt.Errorf("%d free slots are not in the list of free slots", free)
	}
	return nil
}
