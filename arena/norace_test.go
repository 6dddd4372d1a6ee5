// SPDX-License-Identifier: Apache-2.0

//go:build !race

package arena

// raceEnabled says that the race detector changes what allocates and how much.
const raceEnabled = false
