// SPDX-License-Identifier: Apache-2.0

//go:build unix && !aix && !solaris

package dirstore

import (
	"os"
	"syscall"
)

// lock waits for the lock of a file. The system drops it when the file is closed or the process
// ends.
func lock(f *os.File) error { return flock(f, syscall.LOCK_EX) }

// tryLock takes the lock of a file, or fails if a process has it.
func tryLock(f *os.File) error { return flock(f, syscall.LOCK_EX|syscall.LOCK_NB) }

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); err != syscall.EINTR {
			return err
		}
	}
}

// syncFolder makes the entries of a directory durable.
func syncFolder(root *os.Root, dir string) error {
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
