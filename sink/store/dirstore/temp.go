// SPDX-License-Identifier: Apache-2.0

package dirstore

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
)

// The files of the directory .freehold: "lock" is held while a process prepares, and each process
// has a directory "temp-RANDOM" with a file "lock" that it holds until it ends.
const (
	lockFile   = "lock"
	tempPrefix = "temp-"
)

// claim makes a directory for temporary files and deletes those that no process holds. It returns a
// function that releases it.
func claim(root *os.Root) (dir string, release func() error, err error) {
	if err := root.MkdirAll(reserved, 0o777); err != nil {
		return "", nil, err
	}
	all, err := root.OpenFile(path.Join(reserved, lockFile), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return "", nil, err
	}
	defer all.Close() // which drops the lock
	if err := lock(all); err != nil {
		return "", nil, err
	}
	if err := sweep(root); err != nil {
		return "", nil, err
	}
	dir = path.Join(reserved, tempPrefix+rand.Text())
	if err := root.Mkdir(dir, 0o777); err != nil {
		return "", nil, err
	}
	own, err := root.OpenFile(path.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o666)
	if err == nil {
		err = lock(own)
	}
	if err != nil {
		return "", nil, errors.Join(err, root.RemoveAll(dir))
	}
	return dir, own.Close, nil
}

// sweep deletes the directories of processes that have ended. The caller holds the lock of all.
func sweep(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), reserved)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempPrefix) {
			continue
		}
		dir := path.Join(reserved, e.Name())
		if !abandoned(root, dir) {
			continue
		}
		if err := root.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// abandoned reports whether no process holds the lock of a directory.
func abandoned(root *os.Root, dir string) bool {
	f, err := root.OpenFile(path.Join(dir, lockFile), os.O_RDWR, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) // its process ended before it had the lock, or while it cleaned up
	}
	defer f.Close()
	return tryLock(f) == nil
}
