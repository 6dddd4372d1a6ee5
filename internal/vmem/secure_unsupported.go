// SPDX-License-Identifier: Apache-2.0

//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || solaris || illumos || windows)

package vmem

import "errors"

func secure(_, _ uintptr) (Secrecy, error) { return Secrecy{}, errors.ErrUnsupported }
