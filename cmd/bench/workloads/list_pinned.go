// SPDX-License-Identifier: Apache-2.0

//go:build !freehold_nolinkname

package workloads

// listBar is the most that list with New may cost, as a part of the Go heap's time, if a goroutine
// can be pinned to its P.
const listBar = 0.25
