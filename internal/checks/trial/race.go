// SPDX-License-Identifier: Apache-2.0

//go:build race

package trial

// RaceEnabled says that the race detector watches: it takes a block that two goroutines write to
// for a race of the test itself, so that the fault cannot be ordered.
const RaceEnabled = true
