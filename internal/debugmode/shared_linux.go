// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"os"

	"golang.org/x/sys/unix"
)

func memoryFile(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
