// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bound

import (
	"fmt"
	"syscall"
)

// Map maps n bytes outside the Go heap. It is for the bound, which never unmaps memory.
func Map(n int) []byte {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(fmt.Sprintf("bench: map %d bytes for the bound: %v", n, err))
	}
	return b
}
