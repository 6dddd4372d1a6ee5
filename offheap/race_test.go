// SPDX-License-Identifier: Apache-2.0

//go:build race

package offheap

import "os"

// raceEnabled says that the race detector is built in: it dies where its own memory is refused.
const raceEnabled = true

// With this variable the race detector looks at the slabs' own work, and not at the blocks, which
// it does not see there.
func init() { raceOnSlabs = os.Getenv("FREEHOLD_TEST_SLABS") != "" }
