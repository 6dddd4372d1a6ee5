// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"runtime"

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
// stay until Close, and serve again if the file grows: the system allows a process only some ten
// thousand maps (vm.max_map_count).

// A filePart is the bytes [start, end) of a file, which lie at addr. Parts are in the order of
// their offsets, without gaps.
type filePart struct {
	start, end uint64
	addr       uintptr
}

// A fileMap is what MapFile has mapped: a part with as many bytes as it can get, and the bytes before
// it from a multiple of mapUnit on.
type fileMap struct {
	addr, size uintptr
	part       filePart
}

// mapUnit is what the offset of a map in its file is a multiple of, on each system.
const mapUnit = 64 << 10

// mapAhead is the share of the file's size by which a map reaches beyond the end. It takes address
// space alone. A file that often grows by little has some hundred maps, and not one for each Resize.
const mapAhead = 8

// size is the number of bytes of the file.
func (m *mapping) size() uint64 {
	parts := *m.parts.Load()
	return parts[len(parts)-1].end
}

// used bounds the header's figure by the mapped size: the file may hold anything.
func (m *mapping) used() uint64 { return min(m.head.next.Load(), m.size()) }

// publish makes the parts those of a file of size bytes, which are mapped. The caller holds resizing.
func (m *mapping) publish(size uint64) {
	var parts []filePart // A reader of the old list does not see the change.
	for _, p := range m.maps {
		if p.part.start < size {
			parts = append(parts, filePart{p.part.start, min(p.part.end, size), p.part.addr})
		}
	}
	m.parts.Store(&parts)
}

// room is the first offset from next on with room for n bytes. The header's size bounds it, too:
// another File may have made the file shorter.
func (m *mapping) room(next, n, align uint64) (off uint64, ok bool) {
	size := m.head.size.Load()
	for _, p := range *m.parts.Load() {
		if next > p.end {
			continue
		}
		off = (max(next, p.start) + align - 1) &^ (align - 1)
		if end := min(p.end, size); off <= end && n <= end-off {
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
// is as it was. Most new bytes are mapped as a part of their own, and a value must fit into one part
// until the file is opened again: grow by the largest value at least, and better by a quarter or
// more of the file than often by little. Bytes that the file had before it shrank come back where
// they were mapped.
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
	old := m.size()
	if now := m.head.size.Load(); now != old {
		return fmt.Errorf("another File has made it %d bytes long, and it is mapped with %d: open it again", now, old)
	}
	switch {
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
	err := m.file.Sync()
	if mapped := m.maps[len(m.maps)-1].part.end; err == nil && size > mapped {
		err = m.mapRest(mapped, size)
	}
	if err != nil {
		return errors.Join(err, m.file.Truncate(int64(old)))
	}
	m.head.size.Store(size)
	m.publish(size)
	return nil
}

// mapRest maps the bytes from start on up to size at least. The caller holds resizing.
func (m *mapping) mapRest(start, size uint64) error {
	from, end := start&^(mapUnit-1), size
	if runtime.GOOS == "linux" { // A map may reach beyond the file, and shows what the file gets there later.
		end += size / mapAhead
	}
	addr, err := vmem.System().MapFile(m.file, int64(from), uintptr(end-from), vmem.ReadWrite)
	if err != nil && end > size {
		end = size
		addr, err = vmem.System().MapFile(m.file, int64(from), uintptr(end-from), vmem.ReadWrite)
	}
	if err != nil {
		return outOfMemory("a mapped file", uintptr(end-from), err)
	}
	m.maps = append(m.maps, fileMap{addr, uintptr(end - from), filePart{start, end, addr + uintptr(start-from)}})
	return nil
}

// shrink makes the file shorter. The caller holds resizing.
func (m *mapping) shrink(old, size uint64) error {
	m.allocs.Lock() // No allocation may go behind the new end.
	defer m.allocs.Unlock()
	if next := m.head.next.Load(); next > size {
		return fmt.Errorf("%d bytes are too few: %d are in use", size, next)
	}
	m.publish(size)
	m.head.size.Store(size)
	// The header reaches the disk before the file is cut: a file that is shorter than its header
	// says would count as damaged.
	err := vmem.System().SyncFile(m.maps[0].addr, fileStart)
	if err == nil {
		err = m.file.Truncate(int64(size))
	}
	if err != nil {
		m.head.size.Store(old)
		m.publish(old)
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
