// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package usage

import "time"

var processStart = time.Now()

// CPU has no portable source here and returns elapsed time: figures are wall time on this system.
func CPU() time.Duration { return time.Since(processStart) }
