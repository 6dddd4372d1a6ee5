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

func reserveRange(_, _ uintptr, _ string) (uintptr, error) { return 0, errors.ErrUnsupported }

func commit(_, _ uintptr) error { return errors.ErrUnsupported }

func purge(_, _ uintptr) error { return errors.ErrUnsupported }

func decommit(_, _ uintptr, _ string) error { return errors.ErrUnsupported }

func splitHuge(_, _ uintptr) error { return errors.ErrUnsupported }

func wantHuge(_, _ uintptr) error { return errors.ErrUnsupported }

func refuseHuge(_, _ uintptr) error { return errors.ErrUnsupported }

func release(_, _ uintptr) error { return errors.ErrUnsupported }

func protect(_, _ uintptr, _ Protection) error { return errors.ErrUnsupported }

func mapShared(f *os.File, _ int64, _ uintptr, _ Protection) (uintptr, error) {
	return 0, &fs.PathError{Op: "mmap", Path: f.Name(), Err: errors.ErrUnsupported}
}

func syncMap(_, _ uintptr) error { return errors.ErrUnsupported }

func retireMap(_, _ uintptr) error { return errors.ErrUnsupported }
