// SPDX-License-Identifier: Apache-2.0

package dirstore

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock waits for the lock of a file. The system drops it when the file is closed or the process
// ends.
func lock(f *os.File) error { return lockFileEx(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// tryLock takes the lock of a file, or fails if a process has it.
func tryLock(f *os.File) error {
	return lockFileEx(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
}

func lockFileEx(f *os.File, flags uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
}

// syncFolder does nothing: NTFS keeps entries of directories in its journal, and Windows does not
// sync a directory.
func syncFolder(*os.Root, string) error { return nil }
