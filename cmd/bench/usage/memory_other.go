//go:build !linux

package usage

import "runtime"

// goSys stands in where the system does not say: what the Go runtime has from the system. It does not see mapped
// memory, so memory columns are only good for the Go heap here.
func goSys() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Sys - m.HeapReleased)
}

// PeakRSS is what stands in for the largest resident set, in bytes.
func PeakRSS() float64 { return goSys() }

// RSS is what stands in for the resident set now, in bytes.
func RSS() float64 { return goSys() }

// A Machine stands in for the memory of the machine.
type Machine struct {
	Source string
	Read   func() float64 // in bytes
}

// OpenMachine returns what stands in for the accounting of memory.
func OpenMachine() Machine {
	return Machine{Source: "runtime.MemStats", Read: goSys}
}
