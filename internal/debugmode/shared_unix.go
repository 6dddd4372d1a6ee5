// SPDX-License-Identifier: Apache-2.0

//go:build darwin || freebsd || netbsd || openbsd || dragonfly || solaris || illumos

package debugmode

import (
	"errors"
	"os"
)

func memoryFile(string) (*os.File, error) { return nil, errors.ErrUnsupported }
