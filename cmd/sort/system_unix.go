// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sort

import (
	"io/fs"
	"math"
	"os"
	"syscall"
)

// readable returns an error if the process may not read the file.
func readable(name string) error {
	const read = 4 // R_OK
	return syscall.Access(name, read)
}

// maxOpenFiles returns how many files the process may have open.
func maxOpenFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || uint64(limit.Cur) > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(limit.Cur)
}

// links returns how many names the file has.
func links(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Nlink)
	}
	return 1
}

// giveOwner gives f the owner and the group of the file that info describes, if it has others.
func giveOwner(f *os.File, info fs.FileInfo) error {
	want, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	got, err := f.Stat()
	if err != nil {
		return err
	}
	if have, ok := got.Sys().(*syscall.Stat_t); ok && have.Uid == want.Uid && have.Gid == want.Gid {
		return nil
	}
	return f.Chown(int(want.Uid), int(want.Gid))
}
