// SPDX-License-Identifier: Apache-2.0

package vmem

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// fallocateStep bounds one system call. A signal interrupts it, the profiler's comes every 10 ms,
// and file systems may undo what an interrupted call did: without steps a large file would never be
// done.
const fallocateStep = 64 << 20

// fallocate allocates [from, size) without writing it, and extends the file.
func fallocate(f *os.File, from, size int64) error {
	for off := from; off < size; off += fallocateStep {
		n := min(fallocateStep, size-off)
		err := withHandle(f, "fallocate", func(fd uintptr) error { return fallocateRange(int(fd), off, n) })
		if err != nil {
			return err // EOPNOTSUPP and ENOSYS are errors.ErrUnsupported
		}
	}
	return nil
}

// fallocateRange repeats the call while signals interrupt it.
func fallocateRange(fd int, off, n int64) error {
	for {
		err := unix.Fallocate(fd, 0, off, n)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
