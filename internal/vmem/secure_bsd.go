// SPDX-License-Identifier: Apache-2.0

//go:build darwin || freebsd || netbsd || openbsd || dragonfly || solaris || illumos

package vmem

import "golang.org/x/sys/unix"

// secure locks the range. These systems have no common call for dumps and forks.
func secure(addr, size uintptr) (Secrecy, error) {
	b, err := rangeOf(addr, size)
	if err == nil {
		err = unix.Mlock(b)
	}
	return Secrecy{Locked: err == nil}, err
}
