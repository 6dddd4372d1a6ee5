// SPDX-License-Identifier: Apache-2.0

package doctor

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
	// worthwhile is the least gain for which more memory than cheapMemory is proposed.
	worthwhile = 0.05
	// worthMore is the least further gain for which the next larger setting is proposed.
	worthMore = 0.03
	// cheapMemory is the number of bytes of further memory that settingGain is worth.
	cheapMemory = 32 << 20
	// knee is the least further gain, as a part of the smaller setting's, for which the next larger one
	// is proposed. Both depend on how many collections are left, and hardly on the profile's noise.
	knee = 0.25
	// dearMemory is the number of bytes of further memory up to which a larger setting is proposed,
	// or four times the live heap if that is more.
	dearMemory = 512 << 20
)

// settings are the rows of a report: the gains of other values of GOGC, or of the limit if it
// decides when collections begin. There are none if it is not known which of them decides, or if
// nothing starts collections.
func (a *account) settings() []Setting {
	list := []Setting{}
	if a.total == 0 || !a.liveKnown() || a.overtraced > 0 || a.pace.off() {
		return list
	}
	if a.pace.limited {
		list = a.limitRows(list)
	} else if a.pace.gogc > 0 {
		list = a.gogcRows(list)
	}
	propose(list, a.live)
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
			if counted, ok := a.countedRoom(); ok {
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
// stays as it is.
func (a *account) limitRows(list []Setting) []Setting {
	for _, times := range triedRoom {
		room := times * a.live
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

// propose marks the row at the knee: beyond it more memory wins too little.
func propose(list []Setting, live float64) {
	best, gain := -1, 0.0
	for i, s := range list {
		more := s.Gain.SameGOGC - gain
		switch {
		case more < max(settingGain, knee*gain):
		case (s.MoreBytes > cheapMemory || s.MoreHeaps > 0) && (s.Gain.SameGOGC < worthwhile || more < worthMore):
		case best >= 0 && (s.MoreBytes > max(dearMemory, 4*live) || s.MoreHeaps > 4):
		default:
			best, gain = i, s.Gain.SameGOGC
		}
	}
	if best >= 0 {
		list[best].Proposed = true
	}
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
