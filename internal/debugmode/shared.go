// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly || solaris || illumos

package debugmode

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// What the watching process must see lies in two files without a name: the records, mapped, and the
// texts, written one behind the other as length and bytes. The kernel keeps both until the last
// process is done with them, however this one ends.
type sharedFiles struct {
	records, texts *os.File
}

// The names of the files, for people who look at the maps of a process.
const (
	blocksFile = "freehold-blocks"
	textsFile  = "freehold-texts"
)

// newSharedFiles makes the two files.
func newSharedFiles() (files sharedFiles, err error) {
	if files.records, err = sharedFile(blocksFile); err != nil {
		return sharedFiles{}, err
	}
	if files.texts, err = sharedFile(textsFile); err != nil {
		files.close()
		return sharedFiles{}, err
	}
	return files, nil
}

// sharedFile makes a file in memory, or, where the system has none, one on disk without a name.
func sharedFile(name string) (*os.File, error) {
	f, err := memoryFile(name)
	if err != nil {
		f, err = removedFile(name)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return duplicate(f)
}

// use makes the tables of this process lie in the files. It must come before the first Add and the
// first Callers.
func (s sharedFiles) use() error {
	if err := blocks.share(s.records); err != nil {
		return err
	}
	texts.share(s.texts)
	blocks.listLeaks(Current().Leaks)
	return nil
}

func (s sharedFiles) close() {
	for _, f := range []*os.File{s.records, s.texts} {
		if f != nil {
			f.Close()
		}
	}
}

// recordSize is the size of a record in the file.
var recordSize = unsafex.Size[record]()

// share makes f the memory of the records. The whole range is mapped at once, as far as the address
// space allows; the file grows with use, and a page is given its memory before it is touched, so
// that a full disk is no signal.
func (t *table) share(f *os.File) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	limit := min(uintptr(t.limit), affordable(uintptr(t.limit)*recordSize, recordsChunk*recordSize)/recordSize)
	var base uintptr
	var err error
	for {
		if base, err = vmem.System().MapFile(f, 0, limit*recordSize, vmem.ReadWrite); err == nil {
			break
		}
		if limit /= 4; limit < recordsChunk {
			return err
		}
	}
	grow := func(n int) ([]record, error) {
		start := uintptr(n) * recordsChunk * recordSize
		if err := vmem.Preallocate(f, int64(start), int64(start+recordsChunk*recordSize)); err != nil {
			return nil, err
		}
		return unsafex.Slice[record](base+start, recordsChunk, recordsChunk), nil
	}
	first, err := grow(0) // Record 0 tells what the others do not.
	if err != nil {
		return err
	}
	t.limit, t.grow, t.chunks = uint32(limit), grow, [][]record{first}
	return nil
}

// share makes the table write added records to f as well.
func (t *textTable) share(f *os.File) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.file = f
}

// load reads what write wrote.
func (t *textTable) load(f *os.File) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.NewSectionReader(f, 0, info.Size()))
	if err != nil {
		return err
	}
	t.list = append(t.list, decodeTexts(data)...)
	return nil
}

// loadRecords maps the records that another process wrote.
func loadRecords(f *os.File) ([]record, error) {
	info, err := f.Stat()
	if err != nil || info.Size() < int64(recordSize) {
		return nil, err
	}
	base, err := vmem.System().MapFile(f, 0, uintptr(info.Size()), vmem.Read)
	if err != nil {
		return nil, err
	}
	n := int(uintptr(info.Size()) / recordSize)
	return unsafex.Slice[record](base, n, n), nil
}

// load reads what another process has left in the files.
func (s sharedFiles) load() ([]record, error) {
	if err := texts.load(s.texts); err != nil {
		return nil, err
	}
	return loadRecords(s.records)
}

// listsLeaks says whether another process has left leaks to be listed.
func (s sharedFiles) listsLeaks() bool {
	records, err := loadRecords(s.records)
	return err == nil && len(records) > 0 && records[0].flags&flagLeak != 0
}

// removedFile makes a temporary file and removes its name.
func removedFile(name string) (*os.File, error) {
	f, err := os.CreateTemp("", name)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// duplicate returns another handle of the file, which is closed at exec and is none of the first
// three: if the program has closed its standard error, the first file opened afterwards takes its
// number, and Go would write the crash into it.
func duplicate(f *os.File) (*os.File, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	var dupErr error
	if err := conn.Control(func(old uintptr) { fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 3) }); err != nil {
		return nil, err
	}
	if dupErr != nil {
		return nil, &os.PathError{Op: "dup", Path: f.Name(), Err: dupErr}
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
