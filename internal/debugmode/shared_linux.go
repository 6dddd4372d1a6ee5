// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"os"

	"golang.org/x/sys/unix"
)

// namelessFile makes a file in memory, or, where the kernel has none, one on disk without a name.
func namelessFile(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return removedFile(name)
	}
	return os.NewFile(uintptr(fd), name), nil
}
