// SPDX-License-Identifier: Apache-2.0

package vmem

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// granule is an offset that every system maps files at.
const granule = 64 << 10

// tempDir is t.TempDir, but leaves files that cannot be removed: Windows keeps a file for as long
// as it is mapped, and retired maps stay.
func tempDir(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "windows" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("", "vmem")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// newFile returns a file of n zero bytes that really has its disk space.
func newFile(t *testing.T, n int64) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(tempDir(t), "mapped"))
	must(t, err)
	t.Cleanup(func() { f.Close() })
	must(t, Preallocate(f, 0, n))
	return f
}

// mapFile maps for one test and retires the map at its end.
func mapFile(t *testing.T, f *os.File, offset int64, size uintptr, p Protection) (uintptr, []byte) {
	t.Helper()
	addr, err := System().MapFile(f, offset, size, p)
	must(t, err)
	t.Cleanup(func() { must(t, System().RetireFile(addr, size)) })
	return addr, bytesAt(addr, size)
}

func TestMapFileIsShared(t *testing.T) {
	skipUnsupported(t)
	const size = 2*granule + 123 // not whole pages
	f := newFile(t, size)
	addr, a := mapFile(t, f, 0, size, ReadWrite)
	_, b := mapFile(t, f, granule, size-granule, ReadWrite)
	_, r := mapFile(t, f, 0, size, Read)
	copy(a[granule:], "from a")
	copy(b[granule:], "from b")
	for name, m := range map[string][]byte{"whole": a, "read only": r} {
		if !bytes.HasPrefix(m[granule:], []byte("from a")) || !bytes.HasPrefix(m[2*granule:], []byte("from b")) {
			t.Errorf("the %s map does not see what the others write", name)
		}
	}
	if !faults(func() { r[0] = 1 }) {
		t.Error("a map for reading can be written")
	}
	must(t, System().SyncFile(addr, size))
	onDisk, err := os.ReadFile(f.Name())
	must(t, err)
	if !bytes.Equal(onDisk, a) {
		t.Error("the file does not hold what was written to the map")
	}
	_, err = f.WriteAt([]byte("from the file"), granule)
	must(t, err)
	if !bytes.HasPrefix(b, []byte("from the file")) {
		t.Error("the map does not see what is written to the file")
	}
}

func TestMapOutlivesFileHandle(t *testing.T) {
	skipUnsupported(t)
	f := newFile(t, granule)
	addr, b := mapFile(t, f, 0, granule, ReadWrite)
	must(t, f.Close())
	copy(b, "after close")
	must(t, System().SyncFile(addr, granule))
	onDisk, err := os.ReadFile(f.Name())
	must(t, err)
	if !bytes.HasPrefix(onDisk, []byte("after close")) {
		t.Error("what was written after Close of the file is lost")
	}
}

func TestProtectFileMap(t *testing.T) {
	skipUnsupported(t)
	f := newFile(t, granule+1)
	addr, b := mapFile(t, f, 0, granule+1, ReadWrite)
	must(t, System().Protect(addr, granule+1, Read))
	if !faults(func() { b[granule] = 1 }) {
		t.Error("the last page can be written")
	}
	sink = b[granule]
	must(t, System().Protect(addr, granule+1, ReadWrite))
	b[granule] = 1
}

func TestRetireFile(t *testing.T) {
	skipUnsupported(t)
	m, size := System(), uintptr(2*granule+1)
	f := newFile(t, int64(size))
	addr, err := m.MapFile(f, 0, size, ReadWrite)
	must(t, err)
	_, other := mapFile(t, f, 0, size, ReadWrite)
	b := bytesAt(addr, size)
	b[0], b[size-1] = 1, 2
	must(t, m.RetireFile(addr, size))
	for _, i := range []uintptr{0, granule, size - 1} {
		if !faults(func() { sink = b[i] }) || !faults(func() { b[i] = 3 }) {
			t.Errorf("byte %d of a retired map can be used", i)
		}
	}
	if other[0] != 1 || other[size-1] != 2 {
		t.Error("what was written before RetireFile is lost")
	}
}

func TestMapFileBadArguments(t *testing.T) {
	skipUnsupported(t)
	m, f := System(), newFile(t, 2*granule)
	for _, c := range []struct {
		offset int64
		size   uintptr
		p      Protection
	}{{0, 0, Read}, {-granule, granule, Read}, {1, granule, Read}, {1<<63 - granule, 2 * granule, Read}, {0, granule, ReadWrite + 1}} {
		_, err := m.MapFile(f, c.offset, c.size, c.p)
		wantRefused(t, OpMapFile, err)
	}
	r, err := os.Open(f.Name())
	must(t, err)
	if _, err := m.MapFile(r, 0, granule, ReadWrite); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a file opened for reading, mapped for writing: %v", err)
	}
	must(t, r.Close())
	_, err = m.MapFile(r, 0, granule, Read)
	wantRefused(t, OpMapFile, err)
	if !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed file: %v", err)
	}
}

func TestPreallocateKeepsContents(t *testing.T) {
	f, err := os.Create(filepath.Join(tempDir(t), "file"))
	must(t, err)
	defer f.Close()
	for name, grow := range map[string]func(int64) error{
		"Preallocate": func(n int64) error { return Preallocate(f, 0, n) },
		"writing": func(n int64) error {
			info, err := f.Stat()
			must(t, err)
			return writeThrough(f, 0, info.Size(), n)
		},
	} {
		const length, size = 3<<20 + 17, 5<<20 + 3
		must(t, f.Truncate(0))
		must(t, f.Truncate(length)) // a hole, with data in two places
		for _, off := range []int64{1 << 20, length - 4} {
			_, err = f.WriteAt([]byte("data"), off)
			must(t, err)
		}
		want, err := os.ReadFile(f.Name())
		must(t, err)
		must(t, grow(1<<20)) // shorter than the file: it keeps its length
		must(t, grow(size))
		got, err := os.ReadFile(f.Name())
		must(t, err)
		if len(got) != size || !bytes.Equal(got[:length], want) || !allZero(got[length:]) {
			t.Errorf("%s: %d bytes, and the contents changed or do not end in zeros", name, len(got))
		}
	}
}

func TestPreallocateBadArguments(t *testing.T) {
	f := newFile(t, 0)
	wantRefused(t, OpPreallocate, Preallocate(f, 0, -1))
	dir, err := os.Open(tempDir(t))
	must(t, err)
	defer dir.Close()
	wantRefused(t, OpPreallocate, Preallocate(dir, 0, 1))
	r, err := os.Open(f.Name())
	must(t, err)
	defer r.Close()
	wantRefused(t, OpPreallocate, Preallocate(r, 0, 1))
	must(t, f.Close())
	wantRefused(t, OpPreallocate, Preallocate(f, 0, 1))
	if info, err := os.Stat(f.Name()); err != nil || info.Size() != 0 {
		t.Errorf("a refused call left %v, %v", info, err)
	}
}
