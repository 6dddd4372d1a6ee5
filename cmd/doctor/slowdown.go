// SPDX-License-Identifier: Apache-2.0

package doctor

import "math"

// besideMark is the CPU time by which marking slows a program that runs at the same time, as a part of
// the time of marking. The two share a memory and caches, and on most virtual machines a core;
// writing pointers and allocating are slower while the collector marks, and so is what follows with
// cold caches. It was fitted to the profiles of six libraries of other people at GOGC=100 and 400,
// which gave 0.39 to 0.77; see docs/doctor-accuracy.md.
const besideMark = 0.45

// slowed is besideMark, by how much of the marking the program runs itself. If it uses less than one
// processor, the collector often works alone. If it uses several, the collector's work rather takes
// the place of the program's than runs beside it. It is 0 if the profile does not say how long it took.
func (b *builder) slowed() float64 {
	if b.ev.CPU == nil || b.ev.CPU.DurationNanos == 0 {
		return 0
	}
	used := (b.total - b.mark - b.sweep) / float64(b.ev.CPU.DurationNanos)
	if used <= 0 {
		return 0
	}
	return besideMark * min(used, 1/used)
}

// marking is the CPU time of marking and of what it slows.
func (a *account) marking() float64 { return a.mark * (1 + a.beside) }

// besideError is the standard deviation of what besideMark adds to a gain: half of that.
func (a *account) besideError(gain float64) float64 {
	return min(math.Abs(gain), a.share(a.marking())) * a.beside / (1 + a.beside) / 2
}
