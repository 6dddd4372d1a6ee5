// SPDX-License-Identifier: Apache-2.0

package vmem

import "os"

// withHandle runs a system call on the handle of f. Unlike Fd, SyscallConn leaves the mode of the
// file alone and keeps it open during the call. The error is an *os.PathError that names the file.
func withHandle(f *os.File, call string, use func(handle uintptr) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err // names the file already
	}
	var callErr error
	if conn.Control(func(handle uintptr) { callErr = use(handle) }) != nil {
		callErr = os.ErrClosed // the one reason for which Control fails
	}
	if callErr != nil {
		return &os.PathError{Op: call, Path: f.Name(), Err: callErr}
	}
	return nil
}
