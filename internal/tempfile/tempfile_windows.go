// SPDX-License-Identifier: Apache-2.0

package tempfile

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// IsMemory says whether a folder is on a file system that is memory.
func IsMemory(string) bool { return false }

// Spill makes a file in a folder that is gone when it is closed, or when the process ends.
func Spill(dir string) (*os.File, error) {
	path := filepath.Join(dir, fmt.Sprintf("freehold-%016x", rand.Uint64()))
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE, windows.FILE_SHARE_DELETE, nil, windows.CREATE_NEW,
		windows.FILE_ATTRIBUTE_TEMPORARY|windows.FILE_FLAG_DELETE_ON_CLOSE, 0)
	if err != nil {
		return nil, &os.PathError{Op: "create", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// Target makes a file that Name gives the name path, in place of a file that has it.
func Target(path string, mode os.FileMode) (*os.File, error) { return Named(path, mode) }

// Name gives the file its name, for which Windows wants it closed.
func Name(f *os.File, path string) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
