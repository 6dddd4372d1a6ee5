// SPDX-License-Identifier: Apache-2.0

//go:build race

package memprof

// race says whether blocks come from the Go heap, where the race detector sees them, so that none
// is sampled.
const race = true
