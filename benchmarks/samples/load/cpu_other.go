//go:build !unix

package load

import (
	"errors"
	"time"
)

// processCPU is the CPU time of this process so far; only Unix says it.
func processCPU() (time.Duration, error) {
	return 0, errors.New("the CPU time of a process can be read on Unix only")
}
