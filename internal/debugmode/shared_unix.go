// SPDX-License-Identifier: Apache-2.0

//go:build darwin || freebsd || netbsd || openbsd || dragonfly || solaris || illumos

package debugmode

import "os"

// namelessFile makes a file on disk without a name.
func namelessFile(name string) (*os.File, error) { return removedFile(name) }
