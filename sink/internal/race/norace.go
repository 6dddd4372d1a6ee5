// SPDX-License-Identifier: Apache-2.0

//go:build !race

// Package race tells tests whether the race detector is compiled in.
package race

// Enabled reports whether it is.
const Enabled = false
