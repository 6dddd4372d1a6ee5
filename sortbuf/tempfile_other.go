// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !windows

package sortbuf

import "os"

// isMemory says whether a folder is on a file system that is memory. It is not known here.
func isMemory(string) bool { return false }

// spillFile makes a file in a folder that is gone when it is closed, or when the process ends.
func spillFile(dir string) (*os.File, error) { return unlinkedFile(dir) }

// targetFile makes a file that finish gives the name path, in place of a file that has it.
func targetFile(path string) (*os.File, error) { return namedTarget(path) }

// finish gives the file its name.
func finish(f *os.File, path string) error { return os.Rename(f.Name(), path) }
