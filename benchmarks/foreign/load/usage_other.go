//go:build !unix

package load

import (
	"errors"
	"time"
)

var errUsage = errors.New("the CPU time and the memory of a process can be read on Unix only")

func processCPU() (time.Duration, error) { return 0, errUsage }

func peakRSS() (int64, error) { return 0, errUsage }
