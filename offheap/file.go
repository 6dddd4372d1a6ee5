// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// A File is memory that is a file: values allocated in it are still there when the file is opened
// again, and the Refs between them stay valid, because they are offsets. A File cannot free single
// values. Several Files, in one process or in several, may map one file to read it; one at a time may
// allocate in it or resize it. A File that another one has resized sees its own old size: it allocates
// no value behind the new end, and its Resize fails.
//
// T must hold neither Go pointers nor bools, because any bytes in a file must be a valid T. The
// layout of T is Go's for the machine that wrote the file. The file keeps the layout of its root
// and of the types that Refs lead to from there; [TryRoot] refuses a root of another layout.
//
// A File must be closed, and must not be copied; every call of a copy panics, and so does every call
// of a nil File. [Regions] lists the open files, and with FREEHOLD=leaks [Leaks] lists the places
// that opened them.
//
// The file has all its disk space before a value lies there, so a full disk is an error of
// [CreateFile] or [File.Resize] and not a signal later. If another process truncates the file while
// it is mapped, the next access ends this process with SIGBUS; Go can turn that into a panic only
// with debug.SetPanicOnFault. Data reaches the disk at some time, or at once by [File.Sync]. If the
// process is killed, no data is lost. If the machine crashes, data written since the last Sync may be
// lost.
//
// Raw bytes are values, too: [MakeSliceInFile] of bytes makes a block of them, and [NewStringInFile]
// a string.
//
// Several goroutines may allocate, follow Refs and call Resize at once; Close must not run at the same
// time as any other call.
// After Close the addresses stay out of use for ever, so a stale pointer faults, and never reads
// other data.
type File struct {
	_        noCopy
	self     *File // The File itself. A copy and the zero File have another value here.
	*mapping       // What Close ends is not in the File: no older copy brings it back.
}

// A mapping is a file in memory.
type mapping struct {
	name     string
	file     *os.File // For Resize; nil in a file that is open for reading only.
	head     *fileHeader
	readOnly bool
	open     atomic.Bool
	layouts  sync.Mutex // Held while the layout of the root changes.
	handle   *handle

	parts    atomic.Pointer[[]filePart] // Where the file lies in memory. See fileresize.go.
	allocs   sync.RWMutex               // Held for reading by an allocation, for writing while the file shrinks.
	resizing sync.Mutex                 // Held by Resize and Sync; it comes before allocs.
	maps     []fileMap                  // Guarded by resizing.
}

// fileHeader begins a file. Numbers are in the byte order of the machine.
type fileHeader struct {
	magic   [8]byte
	version uint32
	order   uint32 // 0x01020304 as this machine writes it.
	size    atomic.Uint64
	next    atomic.Uint64 // Offset of the first unused byte.
	root    atomic.Uint64 // Offset of the value by which the others are found, 0 for none.

	layout     atomic.Uint64 // Digest of the root's layout, 0 for none; see layout.
	layoutLen  atomic.Uint32
	_          [12]byte
	layoutText [fileStart - 64]byte // As much of its text as there is room for.
}

const (
	fileMagic   = "freehold"
	fileVersion = 2
	fileOrder   = 0x01020304
	fileStart   = 4096 // Offset of the first value.
)

var files struct {
	sync.Mutex
	open []*mapping
}

// CreateFile makes a file of size bytes, header of 4 KiB included, and maps it. [File.Resize] changes
// the size. The file must not exist. On an error, such as a full disk, nothing is left behind.
func CreateFile(path string, size int64) (*File, error) {
	if err := checkFileSize(size); err != nil {
		return nil, fmt.Errorf("offheap: CreateFile %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("offheap: CreateFile: %w", err)
	}
	m, err := mapNew(f, size)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("offheap: CreateFile: %w", err), f.Close(), os.Remove(path))
	}
	return m.enter(), nil
}

func checkFileSize(size int64) error {
	if size <= fileStart || int64(uintptr(size)) != size || size > largestAlloc {
		return fmt.Errorf("size %d; it must exceed the header's %d bytes and fit the address space", size, fileStart)
	}
	return nil
}

func mapNew(f *os.File, size int64) (*mapping, error) {
	if err := vmem.Preallocate(f, size); err != nil {
		return nil, err
	}
	m, err := mapFile(f, size, vmem.ReadWrite)
	if err != nil {
		return nil, err
	}
	h := m.head
	h.version, h.order = fileVersion, fileOrder
	h.size.Store(uint64(size))
	h.next.Store(fileStart)
	copy(h.magic[:], fileMagic) // Last: a file without it was never finished.
	return m, nil
}

// OpenFile maps a file that [CreateFile] made, for reading and writing. For any contents of the
// file, the worst result is an error or a wrong value. OpenFile needs permission to write the file;
// see [OpenFileReadOnly].
func OpenFile(path string) (*File, error) { return openFile("OpenFile", path, os.O_RDWR) }

// OpenFileReadOnly maps a file that [CreateFile] made, for reading. A write to a value in it
// faults, which ends the program. [NewInFile] and [MakeSliceInFile] return an error, and [SetRoot]
// panics. OpenFileReadOnly takes no disk space. If the file has holes, because a tool has copied it
// so, and lies in a tmpfs that is full, a read of a hole ends the program with SIGBUS.
func OpenFileReadOnly(path string) (*File, error) {
	return openFile("OpenFileReadOnly", path, os.O_RDONLY)
}

func openFile(op, path string, flag int) (*File, error) {
	// Before it is opened, because that waits for a writer if the file is a named pipe.
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("offheap: %s: %w", op, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("offheap: %s %s: it is %s, not a regular file", op, path, nounOf(info.Mode()))
	}
	f, err := os.OpenFile(path, flag, 0)
	switch {
	case err != nil && flag == os.O_RDWR: // The file exists, but may lie in a file system that is read-only.
		return nil, fmt.Errorf("offheap: %s: %w; to read the file needs less, see OpenFileReadOnly", op, err)
	case err != nil:
		return nil, fmt.Errorf("offheap: %s: %w", op, err)
	}
	m, err := mapOld(f, flag == os.O_RDWR)
	if err != nil || flag == os.O_RDONLY {
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("offheap: %s: %w", op, err)
	}
	return m.enter(), nil
}

// mapOld maps a file that is there. It keeps f if the file is to be written.
func mapOld(f *os.File, write bool) (*mapping, error) {
	size, err := checkHeader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	if !write {
		return mapFile(f, size, vmem.Read)
	}
	// A file with holes, copied by a tool that makes them, gets its space now and not by SIGBUS.
	if err := vmem.Preallocate(f, size); err != nil {
		return nil, err
	}
	return mapFile(f, size, vmem.ReadWrite)
}

// nounOf says what a file of that mode is, if it is no regular one.
func nounOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "of the type " + m.Type().String()
}

// checkHeader reads the header before anything is mapped and returns the file's size.
func checkHeader(f *os.File) (int64, error) {
	var b [40]byte
	if n, err := f.ReadAt(b[:], 0); err != nil {
		return 0, fmt.Errorf("no header, %d of its first %d bytes: CreateFile did not make it, or it was cut off: %w", n, len(b), err)
	}
	order := binary.NativeEndian
	info, err := f.Stat()
	switch {
	case err != nil:
		return 0, err
	case !bytes.Equal(b[:8], []byte(fileMagic)):
		return 0, errors.New("it was not made by CreateFile, or CreateFile did not finish")
	case order.Uint32(b[12:]) != fileOrder:
		return 0, errors.New("it was written by a machine of the other byte order")
	case order.Uint32(b[8:]) != fileVersion:
		return 0, fmt.Errorf("its version is %d, this code reads %d", order.Uint32(b[8:]), fileVersion)
	}
	size, next := order.Uint64(b[16:]), order.Uint64(b[24:])
	// It is longer than its header says if a Resize did not end.
	if size > uint64(info.Size()) || size <= fileStart || size > largestAlloc {
		return 0, fmt.Errorf("it is %d bytes long, its header says %d: it was cut off or damaged", info.Size(), size)
	}
	if next < fileStart || next > size {
		return 0, fmt.Errorf("its header says that %d of %d bytes are in use: it is damaged", next, size)
	}
	return int64(size), nil
}

// mapFile maps f, which the mapping keeps if it may be written.
func mapFile(f *os.File, size int64, access vmem.Protection) (*mapping, error) {
	std.start()
	addr, err := vmem.System().MapFile(f, 0, uintptr(size), access)
	if err != nil {
		return nil, outOfMemory("a mapped file", uintptr(size), err)
	}
	m := &mapping{name: f.Name(), head: unsafex.At[fileHeader](addr), readOnly: access == vmem.Read}
	if !m.readOnly {
		m.file = f
	}
	m.maps = []fileMap{{addr, uintptr(size), filePart{0, uint64(size), addr}}}
	m.publish(uint64(size))
	return m, nil
}

// enter lists the mapping as open and returns its File.
func (m *mapping) enter() *File {
	m.open.Store(true)
	m.handle = newHandle(debugmode.OwnerFile, &std, sharedLocal)
	files.Lock()
	files.open = append(files.open, m)
	files.Unlock()
	f := &File{mapping: m}
	f.self = f
	return f
}

// Close unmaps the file. After it, pointers into the file fault and Refs panic. Close does not wait
// for the disk; see [File.Sync].
func (f *File) Close() error {
	f.checkCopy("Close")
	m := f.mapping
	if !m.open.CompareAndSwap(true, false) {
		return fmt.Errorf("offheap: File %s is closed already", m.name)
	}
	files.Lock()
	for i, o := range files.open {
		if o == m {
			files.open = append(files.open[:i], files.open[i+1:]...)
			break
		}
	}
	files.Unlock()
	m.handle.close()
	return m.retire()
}

// Sync returns when all data written so far has reached the disk. It waits for a Resize to end.
func (f *File) Sync() error {
	f.check("Sync")
	if f.readOnly {
		return nil
	}
	return f.sync()
}

// Used is the number of bytes in use, header included.
func (f *File) Used() int64 { f.check("Used"); return int64(f.used()) }

// Size is the number of bytes of the whole file.
func (f *File) Size() int64 { f.checkCopy("Size"); return int64(f.size()) }

func (f *File) check(op string) {
	f.checkCopy(op)
	if !f.open.Load() {
		panic(handleMisuse(op, "a File that is closed", f.name))
	}
}

// checkCopy panics if op must not use f, open or not.
func (f *File) checkCopy(op string) {
	switch f.self {
	case f:
	case nil:
		panic(handleMisuse(op, "a File that CreateFile or OpenFile did not make", "use the pointer that they return"))
	default:
		panic(handleMisuse(op, "a copied File", "use the pointer that CreateFile or OpenFile returned for "+f.name))
	}
}

// NewInFile allocates a zero T in the file. It fails with [ErrLimit] if the file is full; then
// [File.Resize] makes room. It panics if T holds Go pointers or bools.
func NewInFile[T any](f *File) (Ref[T], error) {
	d := describe[T]()
	d.checkFile("NewInFile")
	off, err := f.alloc("NewInFile", max(d.size, 1), d.align)
	return Ref[T]{off: off}, err
}

// MakeSliceInFile allocates n zero values of T in a row; [SliceRef.In] returns them. It fails and
// panics as [NewInFile] does, and panics if n is negative. The nil SliceRef is that of no values.
func MakeSliceInFile[T any](f *File, n int) (SliceRef[T], error) {
	d := describe[T]()
	d.checkFile("MakeSliceInFile")
	if n < 0 {
		panic(fmt.Errorf("offheap: MakeSliceInFile of %s: negative length %d", d.typ, n))
	}
	bytes := uintptr(largestAlloc) // More than any file has room for.
	if d.size == 0 || uintptr(n) <= largestAlloc/d.size {
		bytes = uintptr(n) * d.size
	}
	if n > 0 {
		bytes = max(bytes, 1)
	}
	off, err := f.alloc("MakeSliceInFile", bytes, d.align)
	if err != nil || n == 0 {
		return SliceRef[T]{}, err
	}
	return SliceRef[T]{Ref[T]{off: off}, uint64(n)}, nil
}

func (d *typeDesc) checkFile(op string) {
	d.check(op)
	if d.typed {
		panic(fmt.Errorf("offheap: %s of %s: the type holds a bool or is self-contained; the bytes of a file may be anything, and Go relies on a bool being 0 or 1: use a uint8", op, d.typ))
	}
}

func (f *File) alloc(op string, n, align uintptr) (uint64, error) {
	f.check(op)
	if f.readOnly {
		return 0, fmt.Errorf("offheap: %s in %s: %w: it was opened by OpenFileReadOnly", op, f.name, fs.ErrPermission)
	}
	f.allocs.RLock()
	defer f.allocs.RUnlock()
	for {
		next := f.head.next.Load()
		if next < fileStart {
			return 0, fmt.Errorf("offheap: %s in %s: its header says that %d bytes are in use, which are less than the header: it was damaged while it was open", op, f.name, next)
		}
		off, ok := f.room(next, uint64(n), uint64(align))
		if !ok {
			return 0, f.full(n, next)
		}
		if f.head.next.CompareAndSwap(next, off+uint64(n)) {
			return off, nil
		}
	}
}

// full is the error for n more bytes than the file has room for.
func (f *File) full(n uintptr, taken uint64) error {
	return &allocError{kind: ErrLimit, text: fmt.Sprintf(
		"%d more bytes for file %s; %d of its %d bytes are taken: make it larger with Resize, by the length of the value at least",
		n, f.name, taken, f.size())}
}

// In returns a pointer to the value in f, nil for the nil Ref. It panics if r cannot lead to a T
// there.
func (r Ref[T]) In(f *File) *T {
	d := describe[T]()
	d.checkFile("Ref.In")
	f.check("Ref.In")
	if r.off == 0 {
		return nil
	}
	return unsafex.At[T](f.resolve(r.off, d, 1))
}

// SetRoot stores the Ref by which a later reader of the file finds the other values, and the layout
// of T. It panics if the file is open for reading only.
func SetRoot[T any](f *File, r Ref[T]) {
	d := describe[T]()
	d.checkFile("SetRoot")
	f.setRoot(d, r.off)
}

func (f *File) setRoot(d *typeDesc, off uint64) {
	f.check("SetRoot")
	if f.readOnly {
		panic(&MisuseError{Op: "SetRoot", Kind: "change of a File that is open for reading only", Detail: f.name + " was opened by OpenFileReadOnly"})
	}
	if l := d.layout(); f.head.layout.Load() != l.digest {
		f.layouts.Lock()
		defer f.layouts.Unlock()
		if f.head.layout.Load() != l.digest {
			f.head.store(l)
		}
	}
	f.head.root.Store(off)
}

// Root is [TryRoot] for a file whose layout is sure to be right: it panics with TryRoot's error.
func Root[T any](f *File) Ref[T] {
	r, err := TryRoot[T](f)
	must(err)
	return r
}

// TryRoot returns the Ref stored by [SetRoot], nil if there is none. The error is [ErrLayout], and
// names the first field that differs, if values of T, or of a type that Refs lead to from T, have
// another layout in memory than in the program that stored the root. Names may differ: TryRoot does
// not check that the root has the same meaning.
func TryRoot[T any](f *File) (Ref[T], error) {
	d := describe[T]()
	d.checkFile("Root")
	off, err := f.rootOf(d)
	return Ref[T]{off: off}, err
}

func (f *File) rootOf(d *typeDesc) (uint64, error) {
	f.check("Root")
	for l := d.layout(); ; {
		off := f.head.root.Load()
		has := f.head.layout.Load()
		if f.head.root.Load() != off {
			continue // SetRoot, of another process maybe, changes both: the layout may be that of another root.
		}
		if off != 0 && has != l.digest {
			return 0, fmt.Errorf("%w: Root of %s in %s: %s", ErrLayout, d.typ, f.name, f.head.difference(l))
		}
		return off, nil
	}
}

func openFiles() (list []Region) {
	files.Lock()
	defer files.Unlock()
	for _, m := range files.open {
		used := m.used()
		for _, p := range *m.parts.Load() {
			n := int64(p.end - p.start)
			list = append(list, Region{Kind: "file", Name: m.name, Addr: p.addr, Reserved: n, Committed: n, Used: int64(min(max(used, p.start), p.end) - p.start)})
		}
	}
	return list
}
