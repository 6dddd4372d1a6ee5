// SPDX-License-Identifier: Apache-2.0

package tempfile

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// IsMemory says whether a folder is on a file system that is memory.
func IsMemory(dir string) bool {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return false
	}
	return uint32(st.Type) == unix.TMPFS_MAGIC || uint32(st.Type) == unix.RAMFS_MAGIC
}

// unnamed makes a file without a name. If it is to get one, it lies in the folder of that name.
func unnamed(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return os.NewFile(uintptr(fd), filepath.Join(dir, noName)), nil
}

// Spill makes a file in a folder that is gone when it is closed, or when the process ends.
func Spill(dir string) (*os.File, error) {
	f, err := unnamed(dir)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EINVAL) {
		return Unlinked(dir)
	}
	return f, err
}

// Target makes a file that Name gives the name path, in place of a file that has it.
func Target(path string, mode os.FileMode) (*os.File, error) {
	f, err := unnamed(filepath.Dir(path))
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EINVAL) {
		return Named(path, mode)
	}
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(mode); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Name gives the file its name. A file with another name is there for an instant only.
func Name(f *os.File, path string) error {
	if filepath.Base(f.Name()) != noName {
		return os.Rename(f.Name(), path)
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	link := func(to string) (err error) {
		if e := conn.Control(func(fd uintptr) {
			err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, to, unix.AT_SYMLINK_FOLLOW)
		}); e != nil {
			return e
		}
		return err
	}
	if err := link(path); !errors.Is(err, unix.EEXIST) {
		return named("link", path, err)
	}
	for {
		other := fmt.Sprintf("%s.%08x", path, rand.Uint32())
		err := link(other)
		if errors.Is(err, unix.EEXIST) {
			continue
		}
		if err != nil {
			return named("link", other, err)
		}
		if err := os.Rename(other, path); err != nil {
			return errors.Join(err, os.Remove(other))
		}
		return nil
	}
}

// named is an error of a call with its path.
func named(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: path, Err: err}
}
