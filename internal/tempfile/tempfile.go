// SPDX-License-Identifier: Apache-2.0

// Package tempfile makes files that have no name, so that nothing is left of them if the process is
// killed: files for the time of the process ([Spill]), and files that get their name when they are
// complete ([Target], [Name]).
package tempfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// Unlinked makes a file and removes its name.
func Unlinked(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "freehold-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Named makes a file with another name beside path.
func Named(path string, mode os.FileMode) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".")
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(mode); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return f, nil
}

// Discard removes the name of a target that was not finished.
func Discard(f *os.File) {
	if filepath.Base(f.Name()) != noName {
		_ = os.Remove(f.Name())
	}
}

// noName stands for the name of a file that has none.
const noName = "(no name)"

// SyncFolder makes the new names in a folder last.
func SyncFolder(dir string) error {
	if runtime.GOOS == "windows" || runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		return nil // There a folder cannot be synced.
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
