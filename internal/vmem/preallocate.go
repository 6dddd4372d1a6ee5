// SPDX-License-Identifier: Apache-2.0

package vmem

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// Preallocate makes f at least size bytes long and gives its bytes from offset from on their disk
// space, so that a full disk is an error here and not a SIGBUS at the first touch of a mapped page;
// for the same reason it never just truncates, which leaves holes. What f holds stays. If it fails,
// f has its old length. It neither reads nor writes what lies before from, which may be mapped and
// in use. f must be at least from bytes long.
//
// Where the system or the file system cannot allocate without writing, it writes: zeros behind the
// end, and what lies between from and the end back onto itself, so no other process may write there
// meanwhile. File systems that copy on write or compress (btrfs, zfs) may still run full later; for
// them there is no such promise.
func Preallocate(f *os.File, from, size int64) error {
	if size < 0 || from < 0 {
		return preallocateError(size, fmt.Errorf("negative size %d", min(size, from)))
	}
	info, err := f.Stat()
	if err != nil {
		return preallocateError(size, err)
	}
	if !info.Mode().IsRegular() {
		return preallocateError(size, &os.PathError{Op: "fallocate", Path: f.Name(), Err: errors.New("not a regular file")})
	}
	if size <= from {
		return nil
	}
	err = fallocate(f, from, size)
	if errors.Is(err, errors.ErrUnsupported) {
		err = writeThrough(f, from, info.Size(), size)
	}
	if err == nil {
		return nil
	}
	if now, statErr := f.Stat(); statErr == nil && now.Size() > info.Size() {
		err = errors.Join(err, f.Truncate(info.Size()))
	}
	return preallocateError(size, err)
}

// preallocateError wraps err with the request; on 32-bit systems Error.Size saturates.
func preallocateError(size int64, err error) error {
	e := &Error{Op: OpPreallocate, Size: uintptr(min(uint64(max(size, 0)), math.MaxUint>>1)), Err: err}
	if isDiskFull(err) {
		e.Hint = "the disk or the quota is full: free space, or choose a smaller size or another disk"
	}
	return e
}

// writeThrough makes [from, size) real by writing it: first what the file, of length bytes, holds
// there, onto itself, then zeros.
func writeThrough(f *os.File, from, length, size int64) error {
	buf := make([]byte, 1<<20)
	held := min(length, size)
	for off := from; off < held; {
		part := buf[:min(int64(len(buf)), held-off)]
		if n, err := f.ReadAt(part, off); n < len(part) {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // another process truncates the file meanwhile
			}
			return err
		}
		if _, err := f.WriteAt(part, off); err != nil {
			return err
		}
		off += int64(len(part))
	}
	clear(buf)
	for off := max(from, held); off < size; {
		part := buf[:min(int64(len(buf)), size-off)]
		if _, err := f.WriteAt(part, off); err != nil {
			return err
		}
		off += int64(len(part))
	}
	return nil
}
