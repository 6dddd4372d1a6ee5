// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !windows

package tempfile

import "os"

// IsMemory says whether a folder is on a file system that is memory. It is not known here.
func IsMemory(string) bool { return false }

// Spill makes a file in a folder that is gone when it is closed, or when the process ends.
func Spill(dir string) (*os.File, error) { return Unlinked(dir) }

// Target makes a file that Name gives the name path, in place of a file that has it.
func Target(path string, mode os.FileMode) (*os.File, error) { return Named(path, mode) }

// Name gives the file its name.
func Name(f *os.File, path string) error { return os.Rename(f.Name(), path) }
