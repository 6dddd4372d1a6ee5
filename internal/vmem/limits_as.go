// SPDX-License-Identifier: Apache-2.0

//go:build darwin || freebsd || netbsd || dragonfly || solaris || illumos

package vmem

import "golang.org/x/sys/unix"

// rlimitAS is the number of the limit on address space.
const rlimitAS = unix.RLIMIT_AS
