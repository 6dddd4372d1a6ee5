// SPDX-License-Identifier: Apache-2.0

//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || solaris || illumos || windows)

package vmem

import (
	"errors"
	"io/fs"
	"math"
	"os"
)

// Supported reports whether this system gives memory outside the Go heap.
const Supported = false

// errNoMemory stands for the system's answer, which here never comes.
var errNoMemory = errors.New("out of memory")

func isNoMemory(err error) bool { return errors.Is(err, errNoMemory) }

// isDiskFull cannot know: the systems that are gathered here have no common code for it.
func isDiskFull(error) bool { return false }

func hugePageSize() uintptr { return 0 }

func addressSpaceLimit() uint64 { return math.MaxUint64 }

func machineMemory() uint64 { return math.MaxUint64 }

func explain(_ string, _ uintptr, err error) string {
	if errors.Is(err, errors.ErrUnsupported) {
		return "this system gives no memory outside the Go heap: use the Go heap"
	}
	return ""
}

// refuse checks the arguments as every system does, and then refuses.
func refuse(op string, addr, size uintptr) error {
	if err := checkRange(op, addr, size); err != nil {
		return err
	}
	return fail(op, addr, size, errors.ErrUnsupported)
}

// Reserve implements Memory.
func (system) Reserve(size, align uintptr, _ string) (uintptr, error) {
	if err := checkReserve(size, align); err != nil {
		return 0, err
	}
	return 0, fail(OpReserve, 0, size, errors.ErrUnsupported)
}

// Commit implements Memory.
func (system) Commit(addr, size uintptr) error { return refuse(OpCommit, addr, size) }

// Purge implements Memory.
func (system) Purge(addr, size uintptr) error { return refuse(OpPurge, addr, size) }

// Decommit implements Memory.
func (system) Decommit(addr, size uintptr, _ string) error { return refuse(OpDecommit, addr, size) }

// SplitHuge implements Memory.
func (system) SplitHuge(addr, size uintptr) error { return refuse(OpSplitHuge, addr, size) }

// NoHuge implements Memory.
func (system) NoHuge(addr, size uintptr) error { return refuse(OpNoHuge, addr, size) }

// Huge implements Memory.
func (system) Huge(addr, size uintptr) error { return refuse(OpHuge, addr, size) }

// Release implements Memory.
func (system) Release(addr, size uintptr) error { return refuse(OpRelease, addr, size) }

// Protect implements Memory.
func (system) Protect(addr, size uintptr, p Protection) error {
	whole, err := checkProtect(addr, size, p)
	if err != nil {
		return err
	}
	return refuse(OpProtect, addr, whole)
}

// MapFile implements Memory.
func (system) MapFile(f *os.File, offset int64, size uintptr, p Protection) (uintptr, error) {
	if err := checkMapFile(offset, size, p); err != nil {
		return 0, err
	}
	err := &fs.PathError{Op: "mmap", Path: f.Name(), Err: errors.ErrUnsupported}
	return 0, fail(OpMapFile, 0, size, err)
}

// SyncFile implements Memory.
func (system) SyncFile(addr, size uintptr) error { return refuseFile(OpSyncFile, addr, size) }

// RetireFile implements Memory.
func (system) RetireFile(addr, size uintptr) error { return refuseFile(OpRetireFile, addr, size) }

// refuseFile is refuse for ranges that may end anywhere.
func refuseFile(op string, addr, size uintptr) error {
	whole, err := checkFile(op, addr, size)
	if err != nil {
		return err
	}
	return refuse(op, addr, whole)
}
