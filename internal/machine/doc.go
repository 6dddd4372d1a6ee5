// SPDX-License-Identifier: Apache-2.0

// Package machine reads what the operating system says about its memory.
//
// Everything is read from a file system given by the caller, so that a test can be a machine of its
// own; os.DirFS("/") is the one that the program runs on. What a system does not say (other systems
// than Linux say nothing here) is the zero value or -1, never a guess. The functions keep no state.
package machine
