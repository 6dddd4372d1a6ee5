// SPDX-License-Identifier: Apache-2.0

//go:build !race

package trial

// RaceEnabled says that the race detector watches.
const RaceEnabled = false
