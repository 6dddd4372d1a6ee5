// SPDX-License-Identifier: Apache-2.0

package vmem

import (
	"errors"
	"strconv"
	"strings"
)

// ErrNoMemory is what errors.Is finds in an error that says that the machine, or a limit, refused
// memory or address space.
var ErrNoMemory = errors.New("vmem: no memory")

// The operations, as Error.Op and Fake name them.
const (
	OpReserve     = "reserve"
	OpCommit      = "commit"
	OpPurge       = "purge"
	OpDecommit    = "decommit"
	OpSplitHuge   = "split huge pages of"
	OpHuge        = "ask for huge pages for"
	OpNoHuge      = "refuse huge pages for"
	OpRelease     = "release"
	OpProtect     = "protect"
	OpMapFile     = "map"
	OpSyncFile    = "sync"
	OpRetireFile  = "retire"
	OpPreallocate = "preallocate"
)

// Error is a call that failed: the request, the system's answer, and the remedy.
type Error struct {
	Op   string  // the request, one of the Op constants
	Addr uintptr // where the range starts, 0 if the system was to choose
	Size uintptr // bytes asked for
	Err  error   // what the system answered
	Hint string  // which limit refused it and how to raise it, if we could find out
}

// Error has the request, the system's answer and the remedy, in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("vmem: " + e.Op + " " + strconv.FormatUint(uint64(e.Size), 10) + " bytes")
	if e.Addr != 0 {
		b.WriteString(" at 0x" + strconv.FormatUint(uint64(e.Addr), 16))
	}
	b.WriteString(": " + e.Err.Error())
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Unwrap returns what the system answered.
func (e *Error) Unwrap() error { return e.Err }

// Is reports that e is ErrNoMemory if the system's answer means that.
func (e *Error) Is(target error) bool {
	return target == ErrNoMemory && isNoMemory(e.Err)
}

// fail wraps err, unless it is nil, with the request and with the limit that explains it. Finding
// that limit reads a few files of the system, which only this path pays for. It comes first,
// because on Linux it also sees to it that the rest can be allocated.
func fail(op string, addr, size uintptr, err error) error {
	if err == nil {
		return nil
	}
	hint := explain(op, size, err)
	return &Error{Op: op, Addr: addr, Size: size, Err: err, Hint: hint}
}
