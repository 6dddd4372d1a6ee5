// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package child

import "os"

// A peakWatch does nothing: other systems report the figure when the child has ended, if at all.
type peakWatch struct{}

func watchPeak(int) peakWatch { return peakWatch{} }

func (peakWatch) stop() float64 { return 0 }

func ownPeak() float64 { return 0 }

// childPeak is the largest resident set of an ended child in bytes, 0 if the system does not report
// it.
func childPeak(state *os.ProcessState, _, _ float64) float64 { return usagePeak(state) }
