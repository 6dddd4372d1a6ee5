// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/freehold-go/freehold/internal/vmem"
)

// This file is where a File lies in memory, and how that changes with its size. No map of a file
// ever moves: a pointer into the file stays right until Close. So a file that grows is mapped in
// parts, each at an address of its own:
//
//  1. Resize gives the new bytes their disk space, so that a full disk is an error.
//  2. The file's new length reaches the disk before the header that names it. If the machine
//     crashes in between, the file is longer than its header says, which OpenFile accepts.
//  3. Resize maps the new bytes and adds the part to the list. From here on, allocations use it.
//
// No value lies across two parts: an allocation that finds no room at the end of a part begins in
// the next one. The next OpenFile maps the whole file as one part.
//
// A file that shrinks loses bytes behind the last value alone, to which no pointer leads. Its maps
// stay until Close.

// A filePart is the bytes [start, end) of a file, which lie at addr. Parts are in the order of
// their offsets, without gaps.
type filePart struct {
	start, end uint64
	addr       uintptr
}

// A fileMap is what MapFile has mapped: a part, and the bytes before it from a multiple of mapUnit
// on.
type fileMap struct{ addr, size uintptr }

// mapUnit is what the offset of a map in its file is a multiple of, on each system.
const mapUnit = 64 << 10

// size is the number of bytes of the file.
func (m *mapping) size() uint64 {
	parts := *m.parts.Load()
	return parts[len(parts)-1].end
}

// used bounds the header's figure by the mapped size: the file may hold anything.
func (m *mapping) used() uint64 { return min(m.head.next.Load(), m.size()) }

// room is the first offset from next on with room for n bytes.
func (m *mapping) room(next, n, align uint64) (off uint64, ok bool) {
	for _, p := range *m.parts.Load() {
		if next > p.end {
			continue
		}
		off = (max(next, p.start) + align - 1) &^ (align - 1)
		if off <= p.end && n <= p.end-off {
			return off, true
		}
	}
	return 0, false
}

// resolve is the address of the n values of d at an offset. It panics if they cannot lie there.
func (m *mapping) resolve(off uint64, d *typeDesc, n uint64) uintptr {
	used := m.used()
	if off >= fileStart && off < used && off&uint64(d.align-1) == 0 && n <= math.MaxInt { // A value of no bytes takes one.
		for _, p := range *m.parts.Load() {
			if off >= p.start && off < p.end && (d.size == 0 || n <= (min(p.end, used)-off)/uint64(d.size)) {
				return p.addr + uintptr(off-p.start)
			}
		}
	}
	panic(fmt.Errorf("offheap: Ref %#x does not lead to %d of %s in %s, of which %d bytes are in use: it is damaged or belongs elsewhere", off, n, d.typ, m.name, used))
}

// Resize changes the size of the file to size bytes, header included. It moves nothing: Refs and
// pointers into the file stay valid. Other goroutines may use the file meanwhile.
//
// A file that grows gets its disk space first. If the disk is full, the error says so, and the file
// is as it was. The new bytes are mapped as a part of their own, and a value must fit into one part
// until the file is opened again: grow by the largest value at least, and better by a quarter or
// more of the file than often by little.
//
// A file can shrink to [File.Used] and no further, which is an error; Resize(Used()) gives back all
// disk space that no value takes. Windows refuses to shrink a file that is mapped. Resize fails if
// the file is open for reading only.
func (f *File) Resize(size int64) error {
	f.check("Resize")
	err := checkFileSize(size)
	if f.readOnly {
		err = fmt.Errorf("%w: it was opened by OpenFileReadOnly", fs.ErrPermission)
	}
	if err == nil {
		err = f.resize(uint64(size))
	}
	if err != nil {
		return fmt.Errorf("offheap: Resize of %s: %w", f.name, err)
	}
	return nil
}

func (m *mapping) resize(size uint64) error {
	m.resizing.Lock()
	defer m.resizing.Unlock()
	switch old := m.size(); {
	case size > old:
		return m.grow(old, size)
	case size < old:
		return m.shrink(old, size)
	}
	return nil
}

// grow makes the file longer. The caller holds resizing.
func (m *mapping) grow(old, size uint64) error {
	if err := vmem.Extend(m.file, int64(old), int64(size)); err != nil {
		return err
	}
	from := old &^ (mapUnit - 1)
	err := m.file.Sync()
	var addr uintptr
	if err == nil {
		if addr, err = vmem.System().MapFile(m.file, int64(from), uintptr(size-from), vmem.ReadWrite); err != nil {
			err = outOfMemory("a mapped file", uintptr(size-from), err)
		}
	}
	if err != nil {
		return errors.Join(err, m.file.Truncate(int64(old)))
	}
	m.maps = append(m.maps, fileMap{addr, uintptr(size - from)})
	m.head.size.Store(size)
	parts := append([]filePart(nil), *m.parts.Load()...) // A reader of the old list does not see the change.
	parts = append(parts, filePart{old, size, addr + uintptr(old-from)})
	m.parts.Store(&parts)
	return nil
}

// shrink makes the file shorter. The caller holds resizing.
func (m *mapping) shrink(old, size uint64) error {
	m.allocs.Lock() // No allocation may go behind the new end.
	defer m.allocs.Unlock()
	if next := m.head.next.Load(); next > size {
		return fmt.Errorf("%d bytes are too few: %d are in use", size, next)
	}
	was := m.parts.Load()
	var parts []filePart
	for _, p := range *was {
		if p.start < size {
			parts = append(parts, filePart{p.start, min(p.end, size), p.addr})
		}
	}
	m.parts.Store(&parts)
	m.head.size.Store(size)
	// The header reaches the disk before the file is cut: a file that is shorter than its header
	// says would count as damaged.
	err := vmem.System().SyncFile(m.maps[0].addr, fileStart)
	if err == nil {
		err = m.file.Truncate(int64(size))
	}
	if err != nil {
		m.head.size.Store(old)
		m.parts.Store(was)
	}
	return err
}

// sync returns when all parts have reached the disk.
func (m *mapping) sync() (err error) {
	m.resizing.Lock()
	defer m.resizing.Unlock()
	for _, p := range m.maps {
		err = errors.Join(err, vmem.System().SyncFile(p.addr, p.size))
	}
	return err
}

// retire ends the use of all maps; their addresses stay out of use.
func (m *mapping) retire() (err error) {
	for _, p := range m.maps {
		err = errors.Join(err, vmem.System().RetireFile(p.addr, p.size))
	}
	if m.file != nil {
		err = errors.Join(err, m.file.Close())
	}
	return err
}
