// SPDX-License-Identifier: Apache-2.0

//go:build darwin || netbsd || openbsd || dragonfly || solaris || illumos

package vmem

import "golang.org/x/sys/unix"

// mapNoReserve asks that a reservation takes no swap space.
const mapNoReserve = unix.MAP_NORESERVE
