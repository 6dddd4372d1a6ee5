// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package usage

import "runtime"

// goSys is the memory that the Go runtime has from the system. It stands in for the system's
// figure. It does not see mapped memory, so memory columns are only right for the Go heap here.
func goSys() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Sys - m.HeapReleased)
}

// PeakRSS stands in for the largest resident set, in bytes.
func PeakRSS() float64 { return goSys() }

// RSS stands in for the resident set now, in bytes.
func RSS() float64 { return goSys() }

// A Machine stands in for the memory of the machine.
type Machine struct {
	Source string
	Read   func() float64 // in bytes
}

// OpenMachine returns a substitute for the system's accounting of memory.
func OpenMachine() Machine {
	return Machine{Source: "runtime.MemStats", Read: goSys}
}
