package vmem

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// fallocateStep bounds one system call. A signal interrupts it, the profiler's comes every 10 ms, and
// file systems may undo what an interrupted call did: without steps a large file would never be done.
const fallocateStep = 64 << 20

// fallocate allocates [0, size) without writing it, and extends the file.
func fallocate(f *os.File, size int64) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	for off := int64(0); off < size; off += fallocateStep {
		err = fallocateRange(conn, off, min(fallocateStep, size-off))
		if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
			return fmt.Errorf("fallocate: %w", errors.ErrUnsupported)
		}
		if err != nil {
			return &os.PathError{Op: "fallocate", Path: f.Name(), Err: err}
		}
	}
	return nil
}

// fallocateRange repeats the call while signals interrupt it.
func fallocateRange(conn interface{ Control(func(uintptr)) error }, off, n int64) error {
	for {
		var callErr error
		if err := conn.Control(func(fd uintptr) { callErr = unix.Fallocate(int(fd), 0, off, n) }); err != nil {
			return err
		}
		if !errors.Is(callErr, unix.EINTR) {
			return callErr
		}
	}
}
