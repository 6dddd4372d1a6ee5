// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"errors"
	"os"
	"path/filepath"
)

// targetMode is the mode of a file of Save.
const targetMode = 0o644

// unlinkedFile makes a file and removes its name.
func unlinkedFile(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "freehold-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// namedTarget makes a file with another name beside path.
func namedTarget(path string) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".")
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(targetMode); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return f, nil
}

// discard removes the name of a target that was not finished.
func discard(f *os.File) {
	if filepath.Base(f.Name()) != noName {
		_ = os.Remove(f.Name())
	}
}

// noName stands for the name of a file that has none.
const noName = "(no name)"
