package main

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor"
)

// row is a prediction beside the measurement.
type row struct {
	program, form       string
	predicted, interval float64 // shares of the CPU time
	absent              bool    // nothing was predicted
	vague               bool    // a word was predicted
	measured            float64 // with its interval, in nine of ten cases
	low, high           float64 // both are the measurement if there were less than five rounds
	memory, heaps       float64 // predicted growth: bytes, or multiples of the live heap where that is unknown
	rss, base           float64 // measured peaks of this form and of the base, bytes
}

// certain reports whether the measurement tells a gain from none: its interval does not contain 0.
// Otherwise it has no sign, and no relative error.
func (r row) certain() bool { return r.low > 0 || r.high < 0 }

// off is the error of a prediction, as a share of the measured gain; 1 if there is none.
func (r row) off() float64 {
	if r.absent {
		return 1
	}
	return math.Abs(r.predicted-r.measured) / math.Abs(r.measured)
}

// rightSign reports whether the prediction has the sign of the measurement.
func (r row) rightSign() bool {
	return !r.absent && math.Signbit(r.predicted) == math.Signbit(r.measured)
}

// doubt is the half-width of the measurement's interval.
func (r row) doubt() float64 { return (r.high - r.low) / 2 }

// within reports whether prediction and measurement are as close as their intervals say. The errors
// are independent, so their squares add up (ISO 13528, section 9.7, the score E_n).
func (r row) within() bool {
	return !r.absent && math.Abs(r.predicted-r.measured) <= math.Hypot(r.interval, r.doubt())
}

// predict takes the prediction for a change from the line about the code.
func (r *row) predict(code doctor.Advice, sameMemory bool) {
	r.predicted, r.interval, r.vague = code.Gain.Best(), code.Gain.Error, code.Vague
	if sameMemory {
		r.predicted = code.Gain.SameMemory
	}
}

// fewPercent is the measured gain up to which a word is as good as figures.
const fewPercent = 0.08

// told reports whether a prediction says something that is true: prediction and measurement agree, and
// the interval is at most half as wide as the gain on each side; a word does for a few percent.
func (r row) told() bool {
	if r.vague {
		return r.measured <= fewPercent
	}
	return r.within() && (r.interval <= math.Abs(r.predicted)/2 || r.measured <= fewPercent)
}

// predictSetting takes the prediction from the row of the settings that an environment has. base is
// the program's own environment.
func (r *row) predictSetting(v *doctor.Report, base, env []string) {
	_, limitNow := settingsOf(base)
	gogc, limit := settingsOf(env)
	if v.Heap.Limited && limit > limitNow && len(v.Settings) > 0 {
		r.predictLimit(v.Settings[0], limit-limitNow)
		return
	}
	i := slices.IndexFunc(v.Settings, func(s doctor.Setting) bool { return (gogc == 0 || s.GOGC == gogc) && s.MemoryLimit == limit })
	if r.absent = i < 0; !r.absent {
		s := v.Settings[i]
		r.predicted, r.interval, r.memory, r.heaps = s.Gain.SameGOGC, s.Gain.Error, s.MoreBytes, s.MoreHeaps
	}
}

// predictLimit takes the prediction for a limit that is higher by more bytes from a row for another:
// the gain is in proportion to the collections that fall away.
func (r *row) predictLimit(s doctor.Setting, more float64) {
	room := s.MoreBytes * s.CyclesLeft / (1 - s.CyclesLeft) // what a program allocates between two collections now
	scale := (1 - room/(room+more)) / (1 - s.CyclesLeft)
	r.predicted, r.interval, r.memory = scale*s.Gain.SameGOGC, scale*s.Gain.Error, more
}

// settingsOf are GOGC and GOMEMLIMIT in an environment, 0 for those that it has not. The later of
// two counts.
func settingsOf(env []string) (gogc, limit float64) {
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		switch name {
		case "GOGC":
			gogc = percent(value)
		case "GOMEMLIMIT":
			limit = bytesOf(value)
		}
	}
	return gogc, limit
}

// percent reads GOGC: -1 is off.
func percent(value string) float64 {
	if n, err := strconv.ParseFloat(value, 64); err == nil {
		return n
	}
	return -1
}

// bytesOf reads GOMEMLIMIT, whose number has one of these units; 0 is off.
func bytesOf(value string) float64 {
	unit := 1.0
	for i, name := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if number, ok := strings.CutSuffix(value, name); ok {
			value, unit = number, math.Exp2(float64(10*(i+1)))
		}
	}
	n, _ := strconv.ParseFloat(strings.TrimSuffix(value, "B"), 64)
	return n * unit
}
