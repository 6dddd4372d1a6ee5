//go:build !linux

package bench

import "runtime"

// goSys stands in where the system does not say: what the Go runtime has from the system. It does not see mapped
// memory, so memory columns are only good for the Go heap here.
func goSys() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Sys - m.HeapReleased)
}

func peakRSS() float64    { return goSys() }
func currentRSS() float64 { return goSys() }

type machineMemory struct {
	Source string
	read   func() float64
}

func openMachineMemory() machineMemory {
	return machineMemory{Source: "runtime.MemStats", read: goSys}
}
