//go:build !unix

package bench

import "time"

var processStart = time.Now()

// processCPU has no portable source here and returns elapsed time: figures are wall time on this system.
func processCPU() time.Duration { return time.Since(processStart) }
