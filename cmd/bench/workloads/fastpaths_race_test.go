// SPDX-License-Identifier: Apache-2.0

//go:build race

package workloads

// onFastPaths says whether freehold's fast paths serve: the race detector sees the Go heap alone.
func onFastPaths() bool { return false }
