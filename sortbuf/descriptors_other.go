// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package sortbuf

// openFiles is the number of files that the process may have open.
func openFiles() int { return 2048 }
