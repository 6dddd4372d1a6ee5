// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"math"
)

// tooOftenID names the finding about the proposed setting.
const tooOftenID = "gc-too-often"

// triedGOGC are the percentages that a report has a row for, as far as they are above the present
// one.
var triedGOGC = []float64{100, 200, 400, 800}

// triedRoom are the multiples of the live heap that a memory limit's rows leave as room.
var triedRoom = []float64{1, 2, 4}

const (
	// settingGain is the least gain at which a setting is reported. It is larger than a site's,
	// because a setting trades memory for CPU time.
	settingGain = 0.02
	// steep is how many times the gain of the row before a row must win to be worth a doubled heap. Where a
	// row has half the collections of the one before, the second row wins 1.5 times as much and the third
	// 1.17 times, so that it is the second row, whatever the error of the gains.
	steep = 1.2
	// costOfMemory is the least gain of a row that takes no memory, and by how much the least gain
	// rises each time that the memory doubles.
	costOfMemory = 0.02
	// cheapMemory is the number of bytes of further memory that a gain of 5.2 % is worth.
	cheapMemory = 32 << 20
	// commandMemory is what memory counts for in a command that was profiled as a whole: the heap
	// grows to its size at the end, and the process ends.
	commandMemory = 0.25
	// usualHeap stands for the size in bytes of a live heap that is not known.
	usualHeap = 64 << 20
)

// settings are the rows of a report: the gains of other values of GOGC, or of the limit if it
// decides when collections begin. There are none if it is not known which of them decides, or if
// nothing starts collections.
func (a *account) settings() []Setting {
	list := []Setting{}
	if a.unknown != "" || a.total == 0 || !a.liveKnown() || a.overtraced > 0 || a.pace.off() {
		return list
	}
	if a.pace.limited {
		list = a.limitRows(list)
	} else if a.pace.gogc > 0 {
		list = a.gogcRows(list)
	}
	price := 1.0
	if a.window == 0 {
		price = commandMemory
	}
	propose(list, price)
	return list
}

func (a *account) gogcRows(list []Setting) []Setting {
	for _, gogc := range triedGOGC {
		if gogc < 1.3*a.pace.gogc {
			continue
		}
		row := Setting{GOGC: gogc, MemoryLimit: a.pace.limit}
		if a.liveUnknown() {
			row.CyclesLeft, row.MoreHeaps = a.pace.gogc/gogc, (gogc-a.pace.gogc)/100
		} else {
			row.CyclesLeft = a.left(gogc)
			now := a.roomAt(a.pace.gogc)
			if counted, _, ok := a.countedRoom(); ok {
				now = max(now, counted) // the live heap is larger at times
			}
			row.MoreBytes = now/row.CyclesLeft - now
			if a.ev.Heap[0] == nil && a.window == 0 && a.allocBytes > 0 {
				// The heap never exceeds what the program allocated since its start.
				row.MoreBytes = min(row.MoreBytes, max(a.allocBytes-now, 0))
			}
		}
		row.Gain = a.cyclesTo(row.CyclesLeft)
		list = append(list, row)
	}
	return list
}

// limitRows are the rows for limits whose room is the live heap's size or a multiple of it. GOGC
// stays as it is, and takes effect again where it leaves less room: the default if it is not known.
func (a *account) limitRows(list []Setting) []Setting {
	most := math.Inf(1)
	if gogc := a.pace.gogc; gogc >= 0 {
		most = a.roomAt(cmp.Or(gogc, defaultGOGC))
	}
	for _, times := range triedRoom {
		room := times * a.live
		if room > most && len(list) > 0 {
			break
		}
		room = min(room, most)
		more := room - a.pace.room
		if a.pace.room <= 0 || room < 1.3*a.pace.room {
			continue
		}
		row := Setting{GOGC: a.pace.gogc, Gain: a.cyclesTo(a.pace.room / room), CyclesLeft: a.pace.room / room, MoreBytes: more}
		if a.pace.limit > 0 {
			row.MemoryLimit = roundUp(a.pace.limit+more/(1-limitReserve), 10<<20)
		}
		list = append(list, row)
	}
	return list
}

// limitReserve is the part of a memory limit that the runtime keeps out of the heap's goal.
const limitReserve = 0.03

// propose marks the last row that wins clearly more than the one before, if that is worth its memory,
// times its price. Which row it is does not depend on how large the gains are, so two runs of a program
// have the same.
func propose(list []Setting, price float64) {
	knee := 0
	for knee+1 < len(list) && list[knee+1].Gain.SameGOGC >= steep*list[knee].Gain.SameGOGC {
		knee++
	}
	if len(list) > 0 && list[knee].Gain.SameGOGC >= leastGain(price*(list[knee].MoreBytes+list[knee].MoreHeaps*usualHeap)) {
		list[knee].Proposed = true
	}
}

// leastGain is the gain that is worth so many bytes more: 2 % for nothing, 5.2 % for 32 MiB, 10 %
// for 256 MiB.
func leastGain(more float64) float64 {
	return costOfMemory * math.Log2(2+4*max(more, 0)/cheapMemory)
}

// proposedSetting is the row that is proposed, and whether there is one.
func proposedSetting(list []Setting) (Setting, bool) {
	for _, s := range list {
		if s.Proposed {
			return s, true
		}
	}
	return Setting{}, false
}
